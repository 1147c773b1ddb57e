import { Buffer } from "node:buffer";
import { isObject } from "../../schema/json-schema.ts";
import type { SqlValue } from "../database.ts";

type Statement = readonly [sql: string, params: readonly SqlValue[]];

/** What the index reads of an entry. */
export interface IndexedRow {
  seq: number;
  at: number;
  kind: string;
  tool: string | null;
  status: string | null;
  verdict: string | null;
  call_id: string | null;
  session: string | null;
  agent: string | null;
  caller_user: string | null;
  /** If the statement does not read the words itself. */
  data: string | null;
  code: string | null;
  ms: number | null;
  waited: number | null;
  bytes: number | null;
}

/** What differs between the engines. */
export interface AuditWords {
  /** Rows of the entries after a number (`?`), at most `?` of them. */
  readonly read: string;
  /** Completes rows that the engine could not. */
  complete(row: IndexedRow): void;
  /** Puts the words of the rows into the index. `guard` is a condition that every statement has. */
  insert(rows: readonly IndexedRow[], guard: Statement): Statement[];
  /** Entries that have all of the words, and one word of each list of `classes`, as a source of rows in FROM, and a condition. */
  search(
    words: readonly string[],
    classes?: readonly (readonly string[])[],
  ): { from: string; condition: string; value: string; order: string };
  /** A text of the entry's data, as an expression. */
  field(name: "risk" | "toolKind"): string;
  /** Deletes the words of the entries up to a number. */
  readonly forget: string;
}

/** Written without spaces between words: each character is a word. */
const CJK = "\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF";
const ALONE = `[${CJK}\u{20000}-\u{3FFFF}]`;
const WORD = new RegExp(`(?=[\\p{L}\\p{N}])${ALONE}|(?:(?!${ALONE})[\\p{L}\\p{N}\\p{Co}])+`, "gu");
const MAX_WORD_LENGTH = 100;
const MAX_WORDS = 2000;

/** In lower case. */
export function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(WORD) ?? []).slice(0, MAX_WORDS).map((word) => word.slice(0, MAX_WORD_LENGTH));
}

/** What calls are filtered by: the letter begins the word of a class. */
const CLASSES = { tool: "t", session: "s", agent: "a", user: "u", outcome: "o", risk: "r", kind: "k" } as const;
export type CallClass = keyof typeof CLASSES;
/** Words of classes begin with a private character, so they are no words of a text. */
const MARK = "\uE000";
/** A longer value is compared with the entry itself. */
const MAX_CLASS_LENGTH = 100;

/** The word that an answered entry of this class has. The value is in hexadecimal: it may have any characters. */
export function classWord(name: CallClass, value: string): string {
  const start = Array.from(value).slice(0, MAX_CLASS_LENGTH).join("");
  return `${MARK}${CLASSES[name]}${Buffer.from(start).toString("hex")}`;
}

function outcomeOf(status: string): string {
  return status === "unknown" ? "failed" : status;
}

/** The risk as the entry has it. A call that only reads has none there: its risk is low. */
function classWordsOf(row: IndexedRow): string[] {
  if (row.status === null) return [];
  const data = parse(row.data ?? "");
  const { risk, toolKind } = (isObject(data) ? data : {}) as { risk?: unknown; toolKind?: unknown };
  const values: Record<CallClass, unknown> = {
    tool: row.tool,
    session: row.session,
    agent: row.agent,
    user: row.caller_user,
    outcome: outcomeOf(row.status),
    risk: risk ?? (toolKind === "readonly" ? "low" : undefined),
    kind: toolKind,
  };
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === "string" ? [classWord(name as CallClass, value)] : [],
  );
}

/** The values of an entry that are searched, not their names. Numbers of the entry itself are times and sizes. */
function textOf({ tool, call_id, data }: IndexedRow): string {
  const found = [tool ?? "", call_id ?? ""];
  const add = (value: unknown): void => {
    if (typeof value === "string" || typeof value === "number") found.push(String(value));
    else if (Array.isArray(value)) value.forEach(add);
    else if (isObject(value)) Object.values(value).forEach(add);
  };
  const value = parse(data ?? "");
  if (!isObject(value)) return [...found, data].join(" ");
  for (const [name, each] of Object.entries(value)) if (name !== "definition" && typeof each !== "number") add(each);
  return found.join(" ");
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // Altered: `verify` reports it.
    return undefined;
  }
}

const COLUMNS = "seq, at, kind, tool, status, verdict, call_id, session, agent, caller_user";

/** SQLite reads and writes the words on its own thread. */
class SqliteWords implements AuditWords {
  // Only rows that need JavaScript to separate their words are returned whole.
  readonly read =
    `SELECT ${COLUMNS}, CASE WHEN (${IS_CJK}) THEN data END AS data, ` +
    `CASE WHEN status IS NOT NULL AND json_valid(data) THEN json_extract(data, '$.error.code') END AS code, ` +
    `CASE WHEN status IS NOT NULL AND json_valid(data) THEN json_extract(data, '$.durationMs') END AS ms, ` +
    `CASE WHEN status IS NOT NULL AND json_valid(data) THEN json_extract(data, '$.waitedMs') END AS waited, ` +
    `CASE WHEN status IS NOT NULL AND json_valid(data) THEN json_extract(data, '$.contentBytes') END AS bytes ` +
    "FROM audit WHERE seq > ? ORDER BY seq LIMIT ?";
  readonly forget = "DELETE FROM audit_words WHERE rowid <= ?";

  complete(): void {}

  insert(rows: readonly IndexedRow[], [guard, values]: Statement): Statement[] {
    const whole = rows.filter(({ data }) => data !== null);
    const first = rows[0]?.seq ?? 0;
    const last = rows.at(-1)?.seq ?? 0;
    const own = whole.map((row): Statement => {
      const insert = `INSERT INTO audit_words (rowid, words) SELECT ?, ? WHERE ${guard}`;
      return [insert, [row.seq, [...wordsOf(textOf(row)), ...classWordsOf(row)].join(" "), ...values]];
    });
    return [[`${INSERT_WORDS} AND ${guard}`, [first, last, ...values]], ...own];
  }

  search(words: readonly string[], classes: readonly (readonly string[])[] = []) {
    // One letter begins too many words: it is searched as a word.
    const terms = words.map((word) => (isPrefix(word) ? `"${word}"*` : `"${word}"`));
    return {
      from: "audit_words CROSS JOIN audit ON audit.seq = audit_words.rowid",
      condition: "audit_words MATCH ?",
      value: [...terms, ...classes.map((each) => `(${each.map((word) => `"${word}"`).join(" OR ")})`)].join(" AND "),
      order: "audit_words.rowid",
    };
  }

  field(name: string): string {
    return `CASE WHEN json_valid(data) THEN json_extract(data, '$.${name}') END`;
  }
}

// The length in bytes first: GLOB takes longer than all else.
const IS_CJK = ["data", "tool", "call_id"]
  .map((name) => `(COALESCE(octet_length(${name}) > length(${name}), 0) AND ${name} GLOB '*[${CJK}]*')`)
  .join(" OR ");
/** The words of `classWordsOf`. */
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

class PostgresWords implements AuditWords {
  readonly read =
    `SELECT ${COLUMNS}, data, NULL AS code, NULL AS ms, NULL AS waited, NULL AS bytes ` +
    "FROM audit WHERE seq > ? ORDER BY seq LIMIT ?";
  readonly forget = "DELETE FROM audit_words WHERE seq <= ?";

  complete(row: IndexedRow): void {
    if (row.status === null) return;
    const data = parse(row.data ?? "");
    if (!isObject(data)) return;
    const { error, durationMs, waitedMs, contentBytes } = data;
    row.code = isObject(error) && typeof error["code"] === "string" ? error["code"] : null;
    row.ms = typeof durationMs === "number" ? durationMs : null;
    row.waited = typeof waitedMs === "number" ? waitedMs : null;
    row.bytes = typeof contentBytes === "number" ? contentBytes : null;
  }

  insert(rows: readonly IndexedRow[], [guard, values]: Statement): Statement[] {
    const statements: Statement[] = [];
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      const some = rows.slice(from, from + ROWS_AT_ONCE);
      const list = some.map(() => "(CAST(? AS BIGINT), CAST(? AS TEXT))").join(", ");
      statements.push([
        `INSERT INTO audit_words (seq, words) SELECT seq, array_to_tsvector(string_to_array(words, ' ')) ` +
          `FROM (VALUES ${list}) AS added (seq, words) WHERE ${guard} ON CONFLICT DO NOTHING`,
        [...some.flatMap((row) => [row.seq, allWordsOf(row)]), ...values],
      ]);
    }
    return statements;
  }

  search(words: readonly string[], classes: readonly (readonly string[])[] = []) {
    const terms = words.map((word) => (isPrefix(word) ? `'${word}':*` : `'${word}'`));
    return {
      from: "audit_words JOIN audit USING (seq)",
      condition: "audit_words.words @@ CAST(? AS TSQUERY)",
      value: [...terms, ...classes.map((each) => `(${each.map((word) => `'${word}'`).join(" | ")})`)].join(" & "),
      order: "seq",
    };
  }

  /** The fields begin the data, before any text of a caller. */
  field(name: string): string {
    return `substring(data from '"${name}":"([a-z]+)"')`;
  }
}

function allWordsOf(row: IndexedRow): string {
  return [...new Set([...wordsOf(textOf(row)), ...classWordsOf(row)])].join(" ") || "-";
}

const ROWS_AT_ONCE = 50;

function isPrefix(word: string): boolean {
  return word.length > 1;
}

export function auditWordsOf(engine: string): AuditWords {
  return engine === "sqlite" ? new SqliteWords() : new PostgresWords();
}
