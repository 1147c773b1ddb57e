import { Worker } from "node:worker_threads";
import { type ChainLink, closedStore, type Statement } from "../database.ts";
import { resolveInstalled } from "../../schema/load-package.ts";

interface Request {
  /** The rows of a SELECT. */
  select?: Statement;
  /** In one transaction. */
  write?: readonly Statement[];
  /** Checks the chain of the selected rows: see `DatabaseReader`. */
  from?: ChainLink | undefined;
  /** How long SQLite waits for locks. */
  waitMs: number;
}

interface Reply {
  rows?: Record<string, unknown>[];
  error?: { message: string; code?: string };
}

/** After it was moved to the file. */
export const KEPT_WAL_BYTES = 4 * 1024 * 1024;
const WAIT_MS = 5000;
/** While the other writers of this process wait too, so it is short: whoever asks tries again. */
const ALONE_WAIT_MS = 100;

/** Runs work while no other writer of this process writes, and lets the next ones wait for its end. */
export type Alone = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * A connection of its own to a SQLite file, on its own thread: for reads of many rows and for upkeep, which would block the
 * event loop. It starts with the first request. Requests are sent one by one: a write that waited behind a long read would
 * hold up the writers of the event loop.
 */
export class SqliteThread {
  readonly #file: string;
  readonly #alone: Alone;
  #waiting: { resolve(rows: object[]): void; reject(error: Error): void } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #worker: Worker | undefined;
  #isClosed = false;

  constructor(file: string, alone: Alone) {
    this.#file = file;
    this.#alone = alone;
  }

  select(select: Statement, from?: ChainLink): Promise<object[]> {
    return this.#inTurn(() => this.#send({ select, from, waitMs: WAIT_MS }));
  }

  /** Waits only a moment for writers of other processes: those of this one wait meanwhile. */
  async write(write: readonly Statement[]): Promise<void> {
    await this.#inTurn(() => this.#alone(() => this.#send({ write, waitMs: ALONE_WAIT_MS })));
  }

  /** A statement that writes and is no part of a transaction. */
  async maintain(sql: string): Promise<void> {
    await this.#inTurn(() => this.#alone(() => this.#send({ select: [sql, []], waitMs: WAIT_MS })));
  }

  /** Moves the WAL to the file, mostly while writers go on. False if a reader still needs the WAL. */
  async checkpoint(): Promise<boolean> {
    const move = (mode: string, waitMs: number) =>
      this.#send({ select: [`PRAGMA wal_checkpoint(${mode})`, []], waitMs });
    const [moved] = await this.#inTurn(async () => {
      await move("PASSIVE", WAIT_MS);
      return this.#alone(() => move("RESTART", ALONE_WAIT_MS));
    });
    return (moved as { busy?: number } | undefined)?.busy === 0;
  }

  /** Waits for running requests. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    const worker = this.#worker;
    if (!worker) return;
    const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    worker.ref();
    worker.postMessage("close");
    await exited;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(closedStore());
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #send(request: Request): Promise<object[]> {
    const worker = (this.#worker ??= this.#start());
    worker.ref();
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      worker.postMessage(request);
    });
  }

  #start(): Worker {
    const driver = resolveInstalled("@photostructure/sqlite");
    const workerData = { driver, file: this.#file, maxWalBytes: KEPT_WAL_BYTES };
    const worker = new Worker(SOURCE, { eval: true, workerData, execArgv: [] });
    worker.on("message", (reply: Reply) => this.#settle(worker, reply));
    const fail = (error: Error): void => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#waiting?.reject(error);
      this.#waiting = undefined;
    };
    worker.on("error", fail);
    worker.on("exit", () => fail(new Error(`The thread that reads ${this.#file} has ended.`)));
    return worker;
  }

  #settle(worker: Worker, { rows = [], error }: Reply): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    // The thread must not keep the process alive.
    worker.unref();
    if (error) waiting?.reject(Object.assign(new Error(error.message), { code: error.code }));
    else waiting?.resolve(rows);
  }
}

/** A string, so it needs no file next to the bundle. */
const SOURCE = String.raw`
const { parentPort, workerData } = require("node:worker_threads");
const crypto = require("node:crypto");
const { DatabaseSync } = require(workerData.driver);
const MAX_STATEMENTS = 100;
let connection;
const statements = new Map();

function prepare(sql) {
  if (!connection) {
    connection = new DatabaseSync(workerData.file);
    connection.exec("PRAGMA synchronous = NORMAL");
    connection.exec("PRAGMA wal_autocheckpoint = 0");
    connection.exec("PRAGMA journal_size_limit = " + workerData.maxWalBytes);
  }
  let statement = statements.get(sql);
  if (statement) return statement;
  if (statements.size >= MAX_STATEMENTS) statements.clear();
  statement = connection.prepare(sql);
  statements.set(sql, statement);
  return statement;
}

function sha256(text, encoding) {
  return crypto.hash ? crypto.hash("sha256", text, encoding) : crypto.createHash("sha256").update(text).digest(encoding);
}

// The last link that continues the chain, how many there are, and how many rows were read.
function chain(rows, { seq, hash }) {
  let count = 0;
  for (const row of rows) {
    if (row.seq !== seq + 1 || (row.previous !== "" && row.previous !== hash)) break;
    const text = row.hashed.slice(0, -1) + "," + JSON.stringify(hash) + "]";
    if (sha256(text, row.hash.length === 64 ? "hex" : "base64url") !== row.hash) break;
    seq = row.seq;
    hash = row.hash;
    count++;
  }
  return [{ seq, hash, count, read: rows.length }];
}

function select([sql, params], from) {
  const rows = prepare(sql).all(...params);
  return from ? chain(rows, from) : rows;
}

function write(all) {
  connection.exec("BEGIN IMMEDIATE");
  try {
    for (const [sql, params] of all) prepare(sql).run(...params);
    connection.exec("COMMIT");
  } catch (error) {
    if (connection.isTransaction) connection.exec("ROLLBACK");
    throw error;
  }
  return [];
}

parentPort.on("message", (request) => {
  if (request === "close") {
    statements.clear();
    if (connection) connection.close();
    parentPort.close();
    return;
  }
  try {
    prepare("SELECT 1 AS one");
    connection.exec("PRAGMA busy_timeout = " + request.waitMs);
    const rows = request.select ? select(request.select, request.from) : write(request.write);
    parentPort.postMessage({ rows });
  } catch (error) {
    parentPort.postMessage({ error: { message: error.message, code: error.sqliteCodeName || error.code } });
  }
});
`;
