import type { MaybePromise } from "../core/stage.ts";

/** What goes into a placeholder. No booleans (SQLite has none: use 0 and 1); structured data as JSON text. */
export type SqlValue = string | number | null | Uint8Array;

/**
 * SQL is written once, in what SQLite and PostgreSQL both understand, with `?` for values. Integers come back as numbers,
 * BLOBs as Uint8Array, a missing value as null. PostgreSQL's TEXT holds no NUL: what may have one is stored as JSON.
 */
export interface SqlRunner {
  readonly dialect: "sqlite" | "postgres";
  /** Rows of a SELECT, or of an INSERT, UPDATE or DELETE with RETURNING. */
  all<Row extends object>(sql: string, params?: readonly SqlValue[]): MaybePromise<Row[]>;
  run(sql: string, params?: readonly SqlValue[]): MaybePromise<{ changes: number }>;
}

export interface SqlTransaction extends SqlRunner {
  /**
   * Until the transaction ends, nobody else who asked for the same name is inside. SQLite has one writer at a time anyway;
   * PostgreSQL sees what others have committed only in statements after this one.
   */
  lock(name: string): MaybePromise<void>;
}

export interface TransactionOptions {
  /** Committed only when it lies on the disk: for what a person decided. Otherwise a power cut may take the last moments. */
  synced?: boolean;
}

/**
 * One connection (SQLite) or a pool (PostgreSQL). On SQLite everything is answered synchronously, unless a transaction with
 * asynchronous work is under way: then whatever is asked outside of it waits for its end.
 */
export interface SqlDatabase extends SqlRunner {
  /**
   * All or nothing. Only what is done through `tx` is a part of it; `work` that throws or rejects undoes it. Work that
   * awaits something other than `tx` keeps every other writer waiting meanwhile. Not nestable: waiting for the database
   * itself inside of `work` waits for ever.
   */
  transaction<T>(work: (tx: SqlTransaction) => MaybePromise<T>, options?: TransactionOptions): MaybePromise<T>;
  /** Waits for what is under way. Asking afterwards is an error. */
  close(): MaybePromise<void>;
}

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
