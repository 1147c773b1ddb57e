import { type BigIntStats, existsSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { errorCode, errorMessage, toolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import {
  type ChainLink,
  checkParameters,
  closedStore,
  type DatabaseHealth,
  type DatabaseReader,
  readerOn,
  type SqlDatabase,
  type SqlTransaction,
  type SqlValue,
  type Statement,
  type TransactionOptions,
} from "../database.ts";
import { ChangeFeed, watchFile } from "../change-feed.ts";
import { StoreEnd } from "./store-end.ts";
import { KEPT_WAL_BYTES, SqliteThread } from "./sqlite-thread.ts";
import { SqliteWords } from "./sqlite-words.ts";
import {
  checkInChild,
  closeStore,
  closeWhole,
  damagedStore,
  findBrokenPages,
  isDamage,
  MAX_CHECKED_BYTES,
  releaseClosed,
  sqliteCode,
} from "./store-check.ts";
import { importInstalled } from "../../schema/load-package.ts";

interface SqliteOptions {
  /** How long a writer waits for writers of other processes. Default: 5 s. */
  busyTimeoutMs?: number;
  /** Whether the content is checked for damage, in files of up to 16 MB. */
  isChecked?: boolean;
}

/** How many connections of this process a file has. */
const openHere = new Map<string, number>();

/** A process that opens and closes such a file by itself loses SQLite's locks on it. */
export function isOpenHere(file: string): boolean {
  return existsSync(file) && (openHere.get(realpathSync(file)) ?? 0) > 0;
}

/** As the name of a file: a database of this connection only. */
export const IN_MEMORY = ":memory:";
let memoryDatabases = 0;

/** It is an optional dependency, because it is the largest one and not needed in memory or with PostgreSQL. */
async function loadDriver(): Promise<typeof import("@photostructure/sqlite")> {
  try {
    return await importInstalled("@photostructure/sqlite");
  } catch (cause) {
    const next = "npm install @photostructure/sqlite, or set `store` to a PostgreSQL URL.";
    throw new Error(`The SQLite driver cannot be loaded: ${next}`, { cause });
  }
}

/** A connection as it is, without the settings of a store. */
export async function connectSqlite(file: string, busyTimeoutMs = 0): Promise<DatabaseSyncInstance> {
  const { DatabaseSync } = await loadDriver();
  await releaseClosed(file);
  return new DatabaseSync(file, { timeout: busyTimeoutMs });
}

/** Opens or creates the file. Throws SQLite's own errors for damage and locks. */
export async function openSqlite(file: string, options: SqliteOptions = {}): Promise<SqliteDatabase> {
  const { busyTimeoutMs = 5000, isChecked = false } = options;
  // Switching to WAL needs a lock.
  const connection = await connectSqlite(file, busyTimeoutMs);
  try {
    connection.exec("PRAGMA journal_mode = WAL");
    connection.exec("PRAGMA synchronous = NORMAL");
    // The thread moves the WAL to the file: that may take long. Then it starts anew, and is cut.
    connection.exec("PRAGMA wal_autocheckpoint = 0");
    connection.exec(`PRAGMA journal_size_limit = ${KEPT_WAL_BYTES}`);
    connection.exec("PRAGMA foreign_keys = ON");
    // Reading the schema detects a file that is not a database.
    connection.prepare("SELECT count(*) AS n FROM sqlite_master").all();
    if (isChecked && statSync(file).size <= MAX_CHECKED_BYTES) {
      const damage = findBrokenPages(connection);
      if (damage) throw Object.assign(new Error(damage), { code: "SQLITE_CORRUPT" });
    }
    // SQLite would block the event loop while it waits for a lock.
    connection.exec("PRAGMA busy_timeout = 0");
    const name = file === IN_MEMORY ? `${file}${++memoryDatabases}` : realpathSync(file);
    return new SqliteDatabase(connection, name, busyTimeoutMs);
  } catch (error) {
    await closeWhole(connection);
    throw error;
  }
}

interface Prepared {
  statement: StatementSyncInstance;
  returnsRows: boolean;
  isRead: boolean;
}

const READS = /^\s*(?:SELECT|PRAGMA|EXPLAIN)\b/i;
/** How often a writer looks whether the file is still there. */
const LOOK_MS = 20;

const MAX_STATEMENTS = 300;

/** The WAL is moved to the file if it is larger. Looked at after this many commits. */
const MAX_WAL_BYTES = 16 * 1024 * 1024;
const COMMITS_BETWEEN_LOOKS = 64;
/** Upkeep waits until less is in the WAL: a reader of another process may hold it up. */
const MAX_UPKEEP_WAL_BYTES = 2 * MAX_WAL_BYTES;
const UPKEEP_WAIT_MS = 30_000;

/**
 * Writes and reads of few rows run on the event loop: they take some 50 µs, and a thread would add 80 (docs/decisions/0028).
 * What may take long does not: locks of other processes are awaited, the disk is synced by the thread pool, and `reader`
 * and checkpoints have a thread of their own.
 */
export class SqliteDatabase implements SqlDatabase {
  readonly engine = "sqlite";
  readonly isShared = false;
  readonly hasOneWriter = true;
  readonly pollMs = { min: 10, max: 100 };
  /** Nobody else writes during a transaction. */
  readonly lockFree = "";
  readonly words = new SqliteWords();
  readonly reader: DatabaseReader;
  readonly #connection: DatabaseSyncInstance;
  readonly #busyTimeoutMs: number;
  readonly #thread: SqliteThread;
  /** The end of the last queued transaction: later statements wait for it. */
  #line: Promise<void> | undefined;
  #isLockedOut = false;
  /** Why the open transaction is none any more. */
  #rolledBackBy: unknown;
  #wal: Promise<FileHandle> | undefined;
  #syncing: Promise<void> | undefined;
  #nextSync: Promise<void> | undefined;
  readonly #end: StoreEnd | undefined;
  #commits = 0;
  #checkpoint: Promise<boolean> | undefined;
  readonly #statements = new Map<string, Prepared>();
  readonly #opened: BigIntStats | undefined;
  #isClosed = false;
  /** Why nothing is written any more. */
  #damage: string | undefined;
  #full: string | undefined;
  #lookedAt = performance.now();
  #dataVersion: unknown;
  readonly #feed = new ChangeFeed({
    listen: (look) => watchFile(`${this.file}-wal`, look),
    hasChanged: () => this.#hasChanged(),
  });
  readonly #tx: SqlTransaction = {
    all: async <Row extends object>(sql: string, params?: readonly SqlValue[]) =>
      this.#inTransaction(() => this.#all<Row>(sql, params)),
    run: async (sql, params) => this.#inTransaction(() => this.#run(sql, params)),
    // BEGIN IMMEDIATE already locks out all other writers.
    lock: async () => undefined,
  };

  constructor(
    connection: DatabaseSyncInstance,
    readonly file: string,
    busyTimeoutMs: number,
  ) {
    this.#connection = connection;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#thread = new SqliteThread(file, (work) =>
      this.#enqueue(() => {
        // Reads need not wait.
        this.#isLockedOut = true;
        return work().finally(() => void (this.#isLockedOut = false));
      }, true),
    );
    openHere.set(file, (openHere.get(file) ?? 0) + 1);
    // A database in memory belongs to one connection.
    this.reader = file.startsWith(IN_MEMORY) ? readerOn(this) : this.#readerOn(this.#thread);
    this.#opened = file.startsWith(IN_MEMORY) ? undefined : statSync(file, { bigint: true });
    this.#end = this.#opened && new StoreEnd(file);
  }

  /** The kernel's, from the time of a new file: the clock of a process may be set to another one. */
  now(): number | undefined {
    if (!this.#opened) return undefined;
    const file = `${this.file}-clock-${process.pid}`;
    try {
      writeFileSync(file, "");
      return statSync(file).mtimeMs;
    } catch {
      return undefined;
    } finally {
      rmSync(file, { force: true });
    }
  }

  health(): DatabaseHealth {
    this.#look(0);
    if (this.#damage !== undefined) return { state: "damaged", reason: this.#damage };
    return this.#full === undefined ? { state: "ok" } : { state: "full", reason: this.#full };
  }

  reportDamage(reason: string): void {
    this.#damage ??= reason;
  }

  get place(): string {
    return this.file;
  }

  async check(signal?: AbortSignal): Promise<string[]> {
    const { state, reason = state } = this.health();
    if (state !== "ok") return [reason];
    const damage = this.#opened && (await checkInChild(this.file, signal));
    return damage === undefined ? [] : [damage];
  }

  async size(): Promise<{ all: number; used: number }> {
    const [found] = await this.reader.all<{ pages: number; free: number; bytes: number }>(
      "SELECT page_count AS pages, freelist_count AS free, page_size AS bytes " +
        "FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
    );
    const { pages = 0, free = 0, bytes = 0 } = found ?? {};
    return { all: pages * bytes, used: (pages - free) * bytes };
  }

  async compact(): Promise<void> {
    if (!this.#opened) return void (await this.all("VACUUM"));
    for (const sql of ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"]) {
      await this.#thread.maintain(sql).catch((error: unknown) => {
        throw this.#explain(error);
      });
    }
  }

  all<Row extends object>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
    const read = (): MaybePromise<Row[]> => this.#unlocked(() => this.#all<Row>(sql, params));
    // A transaction that waits for another process has not begun.
    return this.#isLockedOut ? Promise.resolve().then(read) : this.#enqueue(read);
  }

  run(sql: string, params?: readonly SqlValue[]): Promise<{ changes: number }> {
    return this.#enqueue(() =>
      this.#unlocked(() => {
        const done = this.#run(sql, params);
        this.#full = undefined;
        return done;
      }),
    );
  }

  transaction<T>(work: (tx: SqlTransaction) => MaybePromise<T>, options: TransactionOptions = {}): Promise<T> {
    const done = this.#enqueue(() => this.#transact(work), true);
    return options.synced ? done.then((result) => this.sync().then(() => result)) : done;
  }

  /** What is committed while the disk is busy is synced together. */
  sync(): Promise<void> {
    if (!this.#opened) return Promise.resolve();
    if (this.#syncing) {
      const again = (): Promise<void> => {
        this.#nextSync = undefined;
        return this.sync();
      };
      return (this.#nextSync ??= this.#syncing.then(again, again));
    }
    const done = (): void => void (this.#syncing = undefined);
    const syncing = this.#sync();
    this.#syncing = syncing.then(done, done);
    return syncing;
  }

  noteEnd(seq: number): void {
    this.#end?.write(seq);
  }

  watch(listener: () => void): () => void {
    return this.#feed.watch(listener);
  }

  async hasTable(name: string): Promise<boolean> {
    return (await this.all("SELECT name FROM sqlite_master WHERE name = ?", [name])).length > 0;
  }

  toNativeTypes(sql: string): string {
    return sql;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    // Before the queue: what it has begun waits in the queue too.
    await this.#thread.close();
    await this.#enqueue(async () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      this.#feed.close();
      await this.#syncing;
      this.#end?.close();
      await this.#wal?.then((wal) => wal.close()).catch(() => undefined);
      try {
        // A copy of the file alone must be complete, also if other processes have it open.
        this.#connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // Other processes are reading, or the disk is full: the data stays in the WAL file, where it is found.
      }
      this.#statements.clear();
      await closeStore(this.#connection, this.#opened);
      openHere.set(this.file, (openHere.get(this.file) ?? 1) - 1);
    });
  }

  /** A statement runs at once, unless a transaction is open or waits for its turn. */
  #enqueue<T>(work: () => MaybePromise<T>, isTransaction = false): Promise<T> {
    const line = this.#line;
    const turn = line ? line.then(work) : new Promise<T>((resolve) => resolve(work()));
    if (!line && !isTransaction) return turn;
    const leave = (): void => {
      if (this.#line === end) this.#line = undefined;
    };
    const end: Promise<void> = turn.then(leave, leave);
    this.#line = end;
    return turn;
  }

  async #transact<T>(work: (tx: SqlTransaction) => MaybePromise<T>): Promise<T> {
    this.#requireSound();
    try {
      const begun = this.#unlocked(() => this.#exec("BEGIN IMMEDIATE"));
      if (begun) {
        this.#isLockedOut = true;
        await begun.finally(() => void (this.#isLockedOut = false));
      }
      this.#rolledBackBy = undefined;
      const result = await work(this.#tx);
      this.#exec("COMMIT");
      this.#full = undefined;
      if (++this.#commits >= COMMITS_BETWEEN_LOOKS) void this.#checkpointIfLarge();
      return result;
    } finally {
      this.#rollBack();
    }
  }

  /** Does the work again while another connection has the lock, without blocking the event loop. */
  #unlocked<T>(work: () => T): MaybePromise<T> {
    try {
      return work();
    } catch (error) {
      if (!isLocked(error) || this.#busyTimeoutMs === 0) throw error;
      return this.#whenUnlocked(work, performance.now() + this.#busyTimeoutMs);
    }
  }

  async #whenUnlocked<T>(work: () => T, until: number): Promise<T> {
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 16)) {
      // Not all at the same moment again.
      await sleep(pauseMs * (0.5 + Math.random()));
      try {
        return work();
      } catch (error) {
        if (!isLocked(error) || performance.now() > until) throw error;
      }
    }
  }

  /** All that is committed is in the WAL or synced with the file. The thread pool waits, not the event loop. */
  async #sync(): Promise<void> {
    const end = this.#end?.written;
    try {
      const wal = await (this.#wal ??= this.#openWal());
      await wal.datasync();
      if (end !== undefined) this.#end?.synced(end);
    } catch (error) {
      // It is committed, but the disk may not have it: nothing may rely on what is written from now on.
      this.#damage ??= `the disk could not be synced: ${errorMessage(error)}`;
      throw damagedStore(this.file, this.#damage, error);
    }
  }

  /** Its name in the folder must be on the disk too. */
  async #openWal(): Promise<FileHandle> {
    const wal = await open(`${this.file}-wal`, "r");
    // Windows syncs no folders.
    const folder = await open(dirname(this.file), "r").catch(() => undefined);
    await folder?.sync().catch(() => undefined);
    await folder?.close();
    return wal;
  }

  get #walBytes(): number {
    return (this.#opened && statSync(`${this.file}-wal`, { throwIfNoEntry: false })?.size) || 0;
  }

  /** False if it fails: the data stays in the WAL, and the next look tries again. */
  async #checkpointIfLarge(): Promise<boolean> {
    this.#commits = 0;
    if (this.#walBytes < MAX_WAL_BYTES || this.#isClosed) return true;
    this.#checkpoint ??= this.#thread
      .checkpoint()
      .catch(() => false)
      .finally(() => void (this.#checkpoint = undefined));
    return this.#checkpoint;
  }

  /** In the thread. It neither fails because of other writers, nor fills the disk with a WAL that cannot be moved. */
  async #upkeep(statements: readonly Statement[]): Promise<void> {
    for (const until = performance.now() + UPKEEP_WAIT_MS; ; await sleep(100 * (0.5 + Math.random()))) {
      try {
        if (!(await this.#checkpointIfLarge()) && this.#walBytes > MAX_UPKEEP_WAL_BYTES)
          throw Object.assign(new Error("Others still read the WAL"), { code: "SQLITE_BUSY" });
        return await this.#thread.write(statements);
      } catch (error) {
        const explained = this.#explain(error);
        if (!isLocked(explained) || performance.now() > until) throw explained;
      }
    }
  }

  #readerOn(thread: SqliteThread): DatabaseReader {
    const explain = (error: unknown): never => {
      throw this.#explain(error);
    };
    return {
      all: <Row extends object>(sql: string, params: readonly SqlValue[] = []) => {
        checkParameters(sql, params);
        return (thread.select([sql, params]) as Promise<Row[]>).catch((error: unknown) => {
          // The file was deleted: only the connection that has it open can read it.
          return sqliteCode(error) === "SQLITE_CANTOPEN" ? this.all<Row>(sql, params) : explain(error);
        });
      },
      followChain: async (sql, params, from) => {
        const [end] = await thread.select([sql, params], from).catch(explain);
        return end as ChainLink & { count: number; read: number };
      },
      write: (statements) => this.#upkeep(statements),
    };
  }

  /** Unless the transaction was committed. An error here must not hide the first one. */
  #rollBack(): void {
    if (this.#isClosed) return;
    try {
      // After some errors, such as a full disk, SQLite itself has rolled back.
      if (this.#connection.isTransaction) this.#connection.exec("ROLLBACK");
    } catch {
      // The next BEGIN reports the problem.
    }
  }

  #exec(sql: string): void {
    if (this.#isClosed) throw closedStore();
    try {
      this.#connection.exec(sql);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Remembers damage and a full disk: `health` reports them, and a damaged store is only read from then on. */
  #explain(error: unknown): unknown {
    const explained = explainSqlite(error, this.file);
    const text = error instanceof Error ? error.message : String(error);
    if (isDamage(error)) this.#damage ??= text;
    else if (sqliteCode(error) === "SQLITE_FULL") this.#full = text;
    return explained;
  }

  /** Whether another connection has committed since the last call. Our own commits do not count. */
  #hasChanged(): boolean {
    try {
      const [row] = this.#all<{ data_version: number }>("PRAGMA data_version");
      const hasChanged = row?.data_version !== this.#dataVersion;
      this.#dataVersion = row?.data_version;
      return hasChanged;
    } catch {
      return true;
    }
  }

  /** After a full disk, for example, SQLite rolls back by itself. What was sent with it must not be committed alone. */
  #inTransaction<T>(statement: () => T): T {
    if (this.#rolledBackBy !== undefined) throw this.#rolledBackBy;
    try {
      return statement();
    } catch (error) {
      if (!this.#isClosed && !this.#connection.isTransaction) this.#rolledBackBy = error;
      throw error;
    }
  }

  /** Throws if nothing may be written. */
  #requireSound(): void {
    if (this.#damage === undefined) this.#look(LOOK_MS);
    if (this.#damage !== undefined) throw damagedStore(this.file, this.#damage);
  }

  /** Without this, a process whose file was deleted would go on writing to a file that nobody can open again. */
  #look(afterMs: number): void {
    const now = performance.now();
    if (!this.#opened || this.#isClosed || now - this.#lookedAt < afterMs) return;
    this.#lookedAt = now;
    const found = statSync(this.file, { bigint: true, throwIfNoEntry: false });
    if (found?.ino === this.#opened.ino && found.dev === this.#opened.dev) return;
    this.#damage ??= `it was ${found ? "replaced" : "deleted"} while this process was using it`;
  }

  #all<Row extends object>(sql: string, params: readonly SqlValue[] = []): Row[] {
    const { statement, isRead } = this.#prepare(sql, params);
    if (!isRead) this.#requireSound();
    try {
      return statement.all(...params) as Row[];
    } catch (error) {
      throw this.#explain(error);
    }
  }

  #run(sql: string, params: readonly SqlValue[] = []): { changes: number } {
    const { statement, returnsRows, isRead } = this.#prepare(sql, params);
    if (!isRead) this.#requireSound();
    // With RETURNING, `run` stops at the first row.
    if (returnsRows) return { changes: this.#all(sql, params).length };
    try {
      return { changes: Number(statement.run(...params).changes) };
    } catch (error) {
      throw this.#explain(error);
    }
  }

  #prepare(sql: string, params: readonly SqlValue[]): Prepared {
    if (this.#isClosed) throw closedStore();
    checkParameters(sql, params);
    const known = this.#statements.get(sql);
    if (known) return known;
    try {
      const statement = this.#connection.prepare(sql);
      const prepared = { statement, returnsRows: statement.columns().length > 0, isRead: READS.test(sql) };
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      this.#statements.set(sql, prepared);
      return prepared;
    } catch (error) {
      throw this.#explain(error);
    }
  }
}

function isLocked(error: unknown): boolean {
  return errorCode(error) === "busy";
}

/** Adds what a person can do. Other errors, such as a violated constraint, are returned as they are. */
export function explainSqlite(error: unknown, file: string): unknown {
  const code = sqliteCode(error);
  const text = errorMessage(error);
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
    return fail("is read-only", "Make the file and its folder writable, or set HAFT_STATE_DIR to another folder.");
  }
  if (isDamage(error)) {
    return damagedStore(file, text, error);
  }
  if (/^SQLITE_(?:CANTOPEN|PERM)/.test(code) || text.startsWith("ConnectionFailed")) {
    return fail(
      `cannot be opened (${text})`,
      "Make its folder readable and writable, or set HAFT_STATE_DIR to another folder.",
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
