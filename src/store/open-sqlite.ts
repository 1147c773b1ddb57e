import { realpathSync, statSync } from "node:fs";
import type Libsql from "libsql";
import type { MaybePromise } from "../core/stage.ts";
import { findDamage } from "./check-damage.ts";
import { checkParameters } from "./sql-parameters.ts";
import type { SqlDatabase, SqlTransaction, SqlValue, TransactionOptions } from "./sql-database.ts";
import { explainSqlite } from "./sqlite-failure.ts";

export interface SqliteOptions {
  /** How long a writer waits for the writers of other processes; the event loop stands still meanwhile. */
  busyTimeoutMs?: number;
  /** Whether the content is looked through for damage, in files of up to 64 MB. */
  isChecked?: boolean;
}

const MAX_CHECKED_BYTES = 64 * 1024 * 1024;

/** Opens or makes the file; damage and locks are thrown as SQLite names them. */
export async function openSqlite(file: string, options: SqliteOptions = {}): Promise<SqliteDatabase> {
  const { busyTimeoutMs = 5000, isChecked = false } = options;
  const { default: Database } = await import("libsql");
  const connection = new Database(file);
  try {
    // First of all: switching to WAL needs a lock itself.
    connection.pragma(`busy_timeout = ${busyTimeoutMs}`);
    connection.pragma("journal_mode = WAL");
    connection.exec("PRAGMA synchronous = NORMAL");
    connection.exec("PRAGMA foreign_keys = ON");
    // A reading of the schema finds a file that is no database before anybody relies on it.
    connection.prepare("SELECT count(*) AS n FROM sqlite_master").all([]);
    if (isChecked && statSync(file).size <= MAX_CHECKED_BYTES) {
      const damage = findDamage(connection);
      if (damage) throw Object.assign(new Error(damage), { code: "SQLITE_CORRUPT" });
    }
    return new SqliteDatabase(connection, realpathSync(file));
  } catch (error) {
    connection.close();
    throw error;
  }
}

interface Prepared {
  statement: Libsql.Statement<unknown[]>;
  returnsRows: boolean;
}

const MAX_STATEMENTS = 300;

/**
 * For each file, the end of the last transaction whose work is asynchronous: whoever comes meanwhile stands in line behind
 * it. Of all connections of this process: SQLite waits for a lock with the event loop standing still, and then the one who
 * holds it in the same process would never let go.
 */
const lines = new Map<string, Promise<void>>();

export class SqliteDatabase implements SqlDatabase {
  readonly dialect = "sqlite";
  readonly #connection: Libsql.Database;
  readonly #statements = new Map<string, Prepared>();
  #isClosed = false;
  readonly #tx: SqlTransaction = {
    dialect: "sqlite",
    all: (sql, params) => this.#all(sql, params),
    run: (sql, params) => this.#run(sql, params),
    // BEGIN IMMEDIATE has the lock of all writers already.
    lock: () => undefined,
  };

  constructor(
    connection: Libsql.Database,
    readonly file: string,
  ) {
    this.#connection = connection;
  }

  all<Row extends object>(sql: string, params?: readonly SqlValue[]): MaybePromise<Row[]> {
    return this.#enqueue(() => this.#all<Row>(sql, params));
  }

  run(sql: string, params?: readonly SqlValue[]): MaybePromise<{ changes: number }> {
    return this.#enqueue(() => this.#run(sql, params));
  }

  transaction<T>(work: (tx: SqlTransaction) => MaybePromise<T>, options: TransactionOptions = {}): MaybePromise<T> {
    return this.#enqueue(() => this.#transact(work, options));
  }

  close(): MaybePromise<void> {
    if (this.#isClosed) return undefined;
    return this.#enqueue(() => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      try {
        // libsql does not do what SQLite does at its last closing: whoever copies the file then has everything in it.
        this.#connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all([]);
      } catch {
        // Others are reading, or the disk is full: everything is in the log beside the file, and is found there.
      }
      // They would go on working: libsql keeps the connection for them.
      this.#statements.clear();
      this.#connection.close();
    });
  }

  #enqueue<T>(work: () => MaybePromise<T>): MaybePromise<T> {
    const line = lines.get(this.file);
    if (!line) return work();
    const turn = line.then(work);
    const end: Promise<void> = turn.then(
      () => this.#dequeue(end),
      () => this.#dequeue(end),
    );
    lines.set(this.file, end);
    return turn;
  }

  #dequeue(end: Promise<void>): void {
    if (lines.get(this.file) === end) lines.delete(this.file);
  }

  #transact<T>(work: (tx: SqlTransaction) => MaybePromise<T>, { synced }: TransactionOptions): MaybePromise<T> {
    if (synced) this.#exec("PRAGMA synchronous = FULL");
    let result: MaybePromise<T>;
    try {
      this.#exec("BEGIN IMMEDIATE");
      result = work(this.#tx);
      if (!(result instanceof Promise)) this.#exec("COMMIT");
    } catch (error) {
      this.#undo(synced);
      throw error;
    }
    if (!(result instanceof Promise)) {
      if (synced) this.#exec("PRAGMA synchronous = NORMAL");
      return result;
    }
    const committed = result.then(
      (value) => {
        try {
          this.#exec("COMMIT");
        } catch (error) {
          this.#undo(synced);
          throw error;
        }
        if (synced) this.#exec("PRAGMA synchronous = NORMAL");
        return value;
      },
      (error: unknown) => {
        this.#undo(synced);
        throw error;
      },
    );
    const end: Promise<void> = committed.then(
      () => this.#dequeue(end),
      () => this.#dequeue(end),
    );
    // When standing in line itself, the one who called has put its own end there.
    if (!lines.has(this.file)) lines.set(this.file, end);
    return committed;
  }

  #undo(synced: boolean | undefined): void {
    // libsql ends the process where a closed connection is asked.
    if (this.#isClosed) return;
    // A full disk has ended the transaction already. What fails here must not hide why.
    try {
      if (this.#connection.inTransaction) this.#connection.exec("ROLLBACK");
      if (synced) this.#connection.exec("PRAGMA synchronous = NORMAL");
    } catch {
      // The next BEGIN says what is wrong.
    }
  }

  #exec(sql: string): void {
    if (this.#isClosed) throw closed(this.file);
    try {
      this.#connection.exec(sql);
    } catch (error) {
      throw explainSqlite(error, this.file);
    }
  }

  #all<Row extends object>(sql: string, params: readonly SqlValue[] = []): Row[] {
    const { statement } = this.#prepare(sql, params);
    try {
      // Never `get`: it leaves the statement open, which makes COMMIT fail, and adds a `_metadata` to the row.
      return (statement.all(params.map(toBound)) as Row[]).map(fromBound);
    } catch (error) {
      throw explainSqlite(error, this.file);
    }
  }

  #run(sql: string, params: readonly SqlValue[] = []): { changes: number } {
    const { statement, returnsRows } = this.#prepare(sql, params);
    // With RETURNING, `run` stops at the first row.
    if (returnsRows) return { changes: this.#all(sql, params).length };
    try {
      return { changes: statement.run(params.map(toBound)).changes };
    } catch (error) {
      throw explainSqlite(error, this.file);
    }
  }

  #prepare(sql: string, params: readonly SqlValue[]): Prepared {
    if (this.#isClosed) throw closed(this.file);
    checkParameters(sql, params);
    const known = this.#statements.get(sql);
    if (known) return known;
    try {
      const statement = this.#connection.prepare(sql);
      const prepared = { statement, returnsRows: statement.reader };
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      this.#statements.set(sql, prepared);
      return prepared;
    } catch (error) {
      throw explainSqlite(error, this.file);
    }
  }
}

/** libsql binds every number as a REAL, which a column without a numeric type would keep. */
function toBound(value: SqlValue): unknown {
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
}

function fromBound<Row extends object>(row: Row): Row {
  for (const [name, value] of Object.entries(row) as [keyof Row, unknown][]) {
    if (value instanceof ArrayBuffer) row[name] = new Uint8Array(value) as Row[keyof Row];
  }
  return row;
}

function closed(file: string): Error {
  return new Error(`The store ${file} is closed.`);
}
