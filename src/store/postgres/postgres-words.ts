import { isObject } from "../../schema/json-schema.ts";
import {
  type AuditWords,
  ENTRY_COLUMNS,
  entryWordsOf,
  type IndexedRow,
  isPrefix,
  parseData,
} from "../audit/audit-words.ts";
import type { Statement } from "../database.ts";

const ROWS_AT_ONCE = 50;

export class PostgresWords implements AuditWords {
  readonly create = [
    "CREATE TABLE audit_words (seq BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
    "CREATE INDEX audit_words_gin ON audit_words USING GIN (words)",
  ];
  readonly clear = "DELETE FROM audit_words";
  readonly read =
    `SELECT ${ENTRY_COLUMNS}, data, NULL AS code, NULL AS ms, NULL AS waited, NULL AS bytes ` +
    "FROM audit WHERE seq > ? ORDER BY seq LIMIT ?";
  readonly beforeForget = [];
  readonly forget = "DELETE FROM audit_words WHERE seq <= ?";

  complete(row: IndexedRow): void {
    if (row.status === null) return;
    const data = parseData(row.data);
    if (!isObject(data)) return;
    const { error, durationMs, queuedMs, waitedMs, contentBytes } = data;
    row.code = isObject(error) && typeof error["code"] === "string" ? error["code"] : null;
    row.ms = typeof durationMs === "number" ? Math.max(0, durationMs - (Number(queuedMs) || 0)) : null;
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
        [...some.flatMap((row) => [row.seq, wordListOf(row)]), ...values],
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

  /** Not as JSON: an entry that was altered would end the query. */
  readonly errorCode = `substring(data from '"error":\\{"code":"([a-z_]+)"')`;

  /** The fields begin the data, before any text of a caller. */
  field(name: string): string {
    return `substring(data from '"${name.replace(".", '":{"')}":"([a-z]+)"')`;
  }
}

function wordListOf(row: IndexedRow): string {
  return [...new Set(entryWordsOf(row))].join(" ") || "-";
}
