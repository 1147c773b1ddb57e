import { toolError } from "../core/error.ts";

/** SQLite's own name of what went wrong; extended names (SQLITE_IOERR_WRITE) begin with the plain one. */
function sqliteCode(error: unknown): string {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

export function isDamage(error: unknown): boolean {
  const isUnreadable = error instanceof Error && error.message === "unsupported file format";
  return isUnreadable || /^SQLITE_(?:CORRUPT|NOTADB)/.test(sqliteCode(error));
}

/** What a person can do about it; anything else, such as a broken constraint, stays as it is. */
export function explainSqlite(error: unknown, file: string): unknown {
  const code = sqliteCode(error);
  const text = error instanceof Error ? error.message : String(error);
  const fail = (what: string, next: string) =>
    toolError("io_error", `The store ${file} ${what}`, { next, cause: error });
  if (/^SQLITE_(?:BUSY|LOCKED)/.test(code)) {
    return toolError("busy", `The store ${file} is locked by another process`, {
      next: "Wait a moment and try again; if it stays locked, end the process that holds it.",
      cause: error,
    });
  }
  if (code === "SQLITE_FULL") return fail("cannot be written: the disk is full", "Free some space, then try again.");
  if (code.startsWith("SQLITE_READONLY")) {
    return fail("is read-only", "Make the file and its folder writable, or name another folder for the store.");
  }
  if (isDamage(error)) {
    return fail(`is damaged (${text})`, "Start again: the damaged file is then set aside and a new one made.");
  }
  if (/^SQLITE_(?:CANTOPEN|PERM)/.test(code) || text.startsWith("ConnectionFailed")) {
    return fail(
      `cannot be opened (${text})`,
      "Make its folder readable and writable, or name another folder for the store.",
    );
  }
  if (code.startsWith("SQLITE_IOERR")) {
    return fail(`cannot be read or written (${code})`, "Check the disk and the space on it, then try again.");
  }
  if (/no such (?:table|column)|has no column named/.test(text)) {
    return fail(
      `lacks a table or column (${text})`,
      "It is damaged, or something else wrote it: move it away and start again.",
    );
  }
  return error;
}
