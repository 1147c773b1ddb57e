import { toolError, type ToolError } from "../core/error.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AuditWords } from "./audit/audit-words.ts";

/** A parameter. No booleans (SQLite has none: use 0 and 1); structured data as JSON text. */
export type SqlValue = string | number | null | Uint8Array;

/** The values of one column in many rows. */
export type SqlList = readonly SqlValue[];

export type Statement = readonly [sql: string, params: readonly SqlValue[]];

/**
 * Runs SQL that all engines understand, with `?` for parameters. Integers are returned as numbers, BLOBs as Uint8Array, a
 * missing value as null. PostgreSQL's TEXT cannot hold NUL: text that may contain it is stored as JSON.
 */
export interface SqlRunner {
  /** Rows of a SELECT, or of an INSERT, UPDATE or DELETE with RETURNING. */
  all<Row extends object>(sql: string, params?: readonly SqlValue[]): Promise<Row[]>;
  run(sql: string, params?: readonly SqlValue[]): Promise<{ changes: number }>;
  /** The same as `all` with lists for `unnest`: one statement writes any number of rows. Only of engines with round trips. */
  allOfLists?<Row extends object>(sql: string, lists: readonly SqlList[]): Promise<Row[]>;
}

export interface SqlTransaction extends SqlRunner {
  /**
   * Waits for other transactions that locked the same name; holds the lock until the transaction ends. SQLite has one
   * writer at a time anyway. On PostgreSQL only statements after this one see what the others have committed.
   */
  lock(name: string): Promise<void>;
  /** For statements after which there are none: the commit is sent with them. If one fails, nothing is committed. Only of engines with round trips. */
  last?(statements: Promise<unknown>): void;
}

export interface TransactionOptions {
  /** Commits to the disk: for decisions of a person. Otherwise a power cut may lose the last moments. */
  synced?: boolean;
  /** A server may lose it if it crashes right after the commit. Default: false. */
  relaxed?: boolean;
  /** Nobody waits for it: other processes may notice it later. */
  quiet?: boolean;
}

/** What is known to be wrong. `full`: the disk; `lost`: the server of the database does not answer. */
export interface DatabaseHealth {
  state: "ok" | "damaged" | "full" | "lost";
  reason?: string;
}

/** A link of a chain: its hash covers that of the link before. */
export interface ChainLink {
  seq: number;
  hash: string;
}

export interface DatabaseReader extends Pick<SqlRunner, "all"> {
  /**
   * Follows a chain through rows of `seq`, `previous`, `hash` and `hashed`, a JSON list: the hash is the SHA-256 of that list
   * with the hash before as its last value. Returns the last row that continues it. Only of engines that do it off the event loop.
   */
  followChain?(
    sql: string,
    params: readonly SqlValue[],
    from: ChainLink,
  ): Promise<ChainLink & { count: number; read: number }>;
  /** Runs the statements in one transaction. */
  write(statements: readonly Statement[]): Promise<void>;
}

/**
 * What a store engine implements: one connection (SQLite) or a pool (PostgreSQL). The tables are written once on top of it,
 * and `engines.suite.ts` lists the behaviour that every engine must have. What differs between engines is a member here:
 * nothing else may compare their names.
 */
export interface SqlDatabase extends SqlRunner {
  /** Its name in the table of engines, for people. */
  readonly engine: string;
  /** The file, or the address without user and password. */
  readonly place: string;
  /** Whether processes on other machines can use it. Then it also keeps what is otherwise in files of this machine. */
  readonly isShared: boolean;
  /** Whether only one transaction writes at a time. If not, two may wait for each other, and one of them fails with `busy`. */
  readonly hasOneWriter: boolean;
  /**
   * SQL of numbers that grow with transactions, by which others find what a transaction changed: its own, and the lowest one
   * that is not visible yet. Without them, changes are counted in a row that writers lock.
   */
  readonly changeNumbers?: { readonly own: string; readonly open: string };
  /** At the end of a SELECT in a transaction: locks the rows, and skips those that other transactions change. */
  readonly lockFree: string;
  /** `min`: between two looks after changes. `max`: how often to look for what `watch` misses. */
  readonly pollMs: { readonly min: number; readonly max: number };
  /** Text search in the audit log. */
  readonly words: AuditWords;
  /** For statements that may take long: on SQLite they run on another thread, so they delay nothing else. */
  readonly reader: DatabaseReader;
  /**
   * All or nothing. Only statements run through `tx` belong to it; if `work` throws or rejects they are rolled back. Every
   * other writer waits meanwhile, so `work` should await nothing but `tx`. Not nestable: waiting for the database itself
   * inside `work` never ends.
   */
  transaction<T>(work: (tx: SqlTransaction) => MaybePromise<T>, options?: TransactionOptions): Promise<T>;
  /** Of an engine that commits before the disk has it: resolves when the disk has all that is committed. */
  sync?(): Promise<void>;
  /** The number of the last entry of the audit log that is committed: a store that has lost its end is recognised by it. */
  noteEnd?(seq: number): void;
  /** Calls the listener after commits of other processes, usually within some milliseconds. Returns the end of it. */
  watch(listener: () => void): () => void;
  /** What the clock of the machine with the data says, in Unix milliseconds. Undefined if that is not known. */
  now(): MaybePromise<number | undefined>;
  /** Cheap: asks the server of the database at most every few seconds, and not longer than two. */
  health(): MaybePromise<DatabaseHealth>;
  /** What is wrong with the data. Reads all of it if the engine can do so without delaying others. */
  check(signal?: AbortSignal): Promise<string[]>;
  /** Bytes on the disk. `used`: without free space, if the engine knows it. */
  size(): Promise<{ all: number; used: number }>;
  /** Gives free space back to the disk. Nothing can be written meanwhile. */
  compact(): Promise<void>;
  hasTable(name: string): Promise<boolean>;
  /** Of this database: a copy has another one. Only of engines whose copies are made without Haft. */
  identity?(): Promise<string>;
  /** Open jobs that Haft 0.1 kept in a queue beside the tables of the store. Oldest first. */
  earlierJobs?(tx: SqlRunner): Promise<{ id: string; data: string }[]>;
  /** Replaces BLOB and INTEGER in the SQL of a migration by the engine's own types. */
  toNativeTypes(sql: string): string;
  /** Waits for running statements. Later statements fail. */
  close(): Promise<void>;
}

/** The reader of an engine that needs no thread for it. */
export function readerOn(database: Pick<SqlDatabase, "all" | "transaction">): DatabaseReader {
  return {
    all: (sql, params) => database.all(sql, params),
    write: (statements) =>
      database.transaction(async (tx) => {
        for (const [sql, params] of statements) await tx.run(sql, params);
      }),
  };
}

/** Refuses what engines treat differently: booleans and NUL on SQLite, objects on PostgreSQL. */
export function checkParameters(sql: string, params: readonly SqlValue[]): void {
  for (const [at, value] of params.entries()) {
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

/** Of a statement after the store was closed. */
export function closedStore(): ToolError {
  return toolError("shutdown", "The runtime has shut down and its store is closed; nothing was written", {
    next: "Use the id of the call or approval when it runs again.",
  });
}

/** The address of a server, without user and password. */
export function placeOf(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host || "localhost"}${pathname}`;
  } catch {
    return "the given URL";
  }
}
