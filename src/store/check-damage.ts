import { isUtf8 } from "node:buffer";
import type Libsql from "libsql";

/** Finds what SQLite itself would stumble over only later; undefined when all is well. Reads the whole file. */
export function findDamage(connection: Libsql.Database): string | undefined {
  const [found] = connection.prepare("PRAGMA quick_check(1)").raw().all() as [string][];
  if (found?.[0] !== "ok") return found?.[0] ?? "the check gave no answer";
  const tables = read(connection, "SELECT CAST(name AS BLOB) FROM sqlite_master WHERE type = 'table'");
  for (const table of tables) {
    if (!isUtf8(table)) return "a table's name is not readable";
    const name = quote(table);
    const columns = [...read(connection, `SELECT CAST(name AS BLOB) FROM pragma_table_info(${textOf(table)})`)];
    if (!columns.every((column) => isUtf8(column))) return `a column's name of ${name} is not readable`;
    for (const column of columns.map(quote)) {
      // Not the text itself: libsql ends the process where text is not UTF-8.
      for (const text of read(
        connection,
        `SELECT CAST(${column} AS BLOB) FROM ${name} WHERE typeof(${column}) = 'text'`,
      )) {
        if (!isUtf8(text)) return `${name} has text in ${column} that is not UTF-8`;
      }
    }
  }
  return undefined;
}

function* read(connection: Libsql.Database, sql: string): Generator<Uint8Array> {
  for (const row of connection.prepare(sql).raw().iterate([]) as Iterable<[ArrayBuffer | null]>) {
    if (row[0]) yield new Uint8Array(row[0]);
  }
}

function quote(name: Uint8Array): string {
  return `"${Buffer.from(name).toString("utf8").replaceAll('"', '""')}"`;
}

function textOf(name: Uint8Array): string {
  return `'${Buffer.from(name).toString("utf8").replaceAll("'", "''")}'`;
}
