import type { SqlValue } from "./sql-database.ts";

/**
 * Both databases are asked alike, so both refuse alike: libsql ends the process at a boolean and cuts text off at a NUL,
 * PostgreSQL turns objects into text.
 */
export function checkParameters(sql: string, params: readonly SqlValue[]): void {
  for (const [at, value] of (params as readonly unknown[]).entries()) {
    const wrong = invalidReason(value);
    if (wrong) throw new TypeError(`Parameter ${at + 1} of "${sql}" is ${wrong}.`);
  }
}

function invalidReason(value: unknown): string | undefined {
  if (typeof value === "string")
    return value.includes("\0") ? "text with a NUL character; store it as JSON" : undefined;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return `${value}`;
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? "an integer beyond 2^53" : undefined;
  }
  if (value === null || value instanceof Uint8Array) return undefined;
  return value === undefined ? "undefined; a missing value is null" : `a value of type ${typeof value}`;
}
