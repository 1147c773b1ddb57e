import {
  type AuditWords,
  type CallClass,
  CJK,
  CLASSES,
  ENTRY_COLUMNS,
  entryWordsOf,
  type IndexedRow,
  isPrefix,
  MARK,
  MAX_CLASS_LENGTH,
} from "../audit/audit-words.ts";
import type { Statement } from "../database.ts";

/** SQLite reads and writes the words on its own thread. */
export class SqliteWords implements AuditWords {
  // Neither the text nor the positions of its words are kept: the entries have the text.
  readonly create = [
    "CREATE VIRTUAL TABLE audit_words USING fts5(words, content='', contentless_delete=1, detail=none, tokenize='unicode61')",
  ];
  readonly clear = "INSERT INTO audit_words (audit_words) VALUES ('delete-all')";
  // Only rows that need JavaScript to separate their words are returned whole.
  readonly read =
    `SELECT ${ENTRY_COLUMNS}, CASE WHEN (${IS_CJK}) THEN data END AS data, ` +
    `CASE WHEN status IS NOT NULL AND json_valid(data) THEN json_extract(data, '$.error.code') END AS code, ` +
    `CASE WHEN status IS NOT NULL AND json_valid(data) THEN MAX(0, json_extract(data, '$.durationMs') - COALESCE(json_extract(data, '$.queuedMs'), 0)) END AS ms, ` +
    `CASE WHEN status IS NOT NULL AND json_valid(data) THEN json_extract(data, '$.waitedMs') END AS waited, ` +
    `CASE WHEN status IS NOT NULL AND json_valid(data) THEN json_extract(data, '$.contentBytes') END AS bytes ` +
    "FROM audit WHERE seq > ? ORDER BY seq LIMIT ?";
  // By default FTS5 writes all words again after each tenth of them is deleted: 5 times the work of half of them.
  readonly beforeForget: Statement[] = [["INSERT INTO audit_words (audit_words, rank) VALUES ('deletemerge', 50)", []]];
  readonly forget = "DELETE FROM audit_words WHERE rowid <= ?";

  complete(): void {}

  insert(rows: readonly IndexedRow[], [guard, values]: Statement): Statement[] {
    const whole = rows.filter(({ data }) => data !== null);
    const first = rows[0]?.seq ?? 0;
    const last = rows.at(-1)?.seq ?? 0;
    const own = whole.map((row): Statement => {
      const insert = `INSERT INTO audit_words (rowid, words) SELECT ?, ? WHERE ${guard}`;
      return [insert, [row.seq, entryWordsOf(row).join(" "), ...values]];
    });
    return [[`${INSERT_WORDS} AND ${guard}`, [first, last, ...values]], ...own];
  }

  search(words: readonly string[], classes: readonly (readonly string[])[] = []) {
    const terms = words.map((word) => (isPrefix(word) ? `"${word}"*` : `"${word}"`));
    return {
      from: "audit_words CROSS JOIN audit ON audit.seq = audit_words.rowid",
      condition: "audit_words MATCH ?",
      value: [...terms, ...classes.map((each) => `(${each.map((word) => `"${word}"`).join(" OR ")})`)].join(" AND "),
      order: "audit_words.rowid",
    };
  }

  readonly errorCode = "CASE WHEN json_valid(data) THEN json_extract(data, '$.error.code') END";

  field(name: string): string {
    return `CASE WHEN json_valid(data) THEN json_extract(data, '$.${name}') END`;
  }
}

// The length in bytes first: GLOB takes longer than all else.
const IS_CJK = ["data", "tool", "call_id"]
  .map((name) => `(COALESCE(octet_length(${name}) > length(${name}), 0) AND ${name} GLOB '*[${CJK}]*')`)
  .join(" OR ");
/** The words of the classes, as `entryWordsOf` has them. */
const CLASS_WORDS = (
  [
    ["tool", "tool"],
    ["session", "session"],
    ["agent", "agent"],
    ["user", "caller_user"],
    ["outcome", "CASE status WHEN 'unknown' THEN 'failed' ELSE status END"],
    [
      "risk",
      "COALESCE(json_extract(data, '$.risk'), CASE json_extract(data, '$.toolKind') WHEN 'readonly' THEN 'low' END)",
    ],
    ["kind", "json_extract(data, '$.toolKind')"],
  ] satisfies [CallClass, string][]
)
  .map(
    ([name, value]) =>
      `COALESCE(' ${MARK}${CLASSES[name]}' || lower(hex(substr(${value}, 1, ${MAX_CLASS_LENGTH}))), '')`,
  )
  .join(" || ");
const INSERT_WORDS =
  "INSERT INTO audit_words (rowid, words) SELECT seq, COALESCE(tool, '') || ' ' || COALESCE(call_id, '') || ' ' || " +
  `CASE WHEN status IS NOT NULL AND json_valid(data) THEN ${CLASS_WORDS} ELSE '' END || ' ' || ` +
  "COALESCE(CASE WHEN json_valid(data) THEN (SELECT group_concat(atom, ' ') FROM json_tree(data) " +
  "WHERE type IN ('text', 'integer', 'real') AND NOT (path = '$' AND (type <> 'text' OR key = 'definition'))) " +
  `ELSE data END, '') FROM audit WHERE seq >= ? AND seq <= ? AND NOT (${IS_CJK})`;
