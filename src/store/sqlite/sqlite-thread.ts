import { Worker } from "node:worker_threads";
import { type ChainLink, closedStore, type Statement } from "../database.ts";
import { resolveInstalled } from "../../schema/load-package.ts";

interface Request {
  id: number;
  /** The rows of a SELECT. */
  select?: Statement;
  /** In one transaction. */
  write?: readonly Statement[];
  /** Checks the chain of the selected rows: see `DatabaseReader`. */
  from?: ChainLink;
}

interface Reply {
  id: number;
  rows?: Record<string, unknown>[];
  error?: { message: string; code?: string };
}

const WAIT_MS = 5000;
/** Writers wait as long, so it is short: the next checkpoint tries again. */
const RESTART_WAIT_MS = 100;

/**
 * A connection of its own to a SQLite file, on its own thread: for reads of many rows and for upkeep, which would block the
 * event loop. It starts with the first request.
 */
export class SqliteThread {
  readonly #file: string;
  readonly #waiting = new Map<number, { resolve(rows: object[]): void; reject(error: Error): void }>();
  #worker: Worker | undefined;
  #nextId = 1;
  #isClosed = false;

  constructor(file: string) {
    this.#file = file;
  }

  select(select: Statement, from?: ChainLink): Promise<object[]> {
    return this.#request({ id: this.#nextId++, select, from });
  }

  /** Waits for the lock of other writers, for some seconds. */
  async write(write: readonly Statement[]): Promise<void> {
    await this.#request({ id: this.#nextId++, write });
  }

  /**
   * Moves what is in the WAL to the file, so the next writer starts the WAL anew. Nearly all of it while writers go on, and
   * what they add meanwhile while they wait.
   */
  async checkpoint(): Promise<void> {
    await this.select(["PRAGMA wal_checkpoint(PASSIVE)", []]);
    await this.select([`PRAGMA busy_timeout = ${RESTART_WAIT_MS}`, []]);
    try {
      await this.select(["PRAGMA wal_checkpoint(RESTART)", []]);
    } finally {
      await this.select([`PRAGMA busy_timeout = ${WAIT_MS}`, []]);
    }
  }

  /** Waits for running requests. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    if (!worker) return;
    const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    worker.ref();
    worker.postMessage("close");
    await exited;
  }

  #request(request: Request): Promise<object[]> {
    if (this.#isClosed) return Promise.reject(closedStore());
    const worker = (this.#worker ??= this.#start());
    if (this.#waiting.size === 0) worker.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      worker.postMessage(request);
    });
  }

  #start(): Worker {
    const driver = resolveInstalled("@photostructure/sqlite");
    const workerData = { driver, file: this.#file, timeout: WAIT_MS };
    const worker = new Worker(SOURCE, { eval: true, workerData, execArgv: [] });
    worker.on("message", (reply: Reply) => this.#settle(worker, reply));
    const fail = (error: Error): void => {
      if (this.#worker === worker) this.#worker = undefined;
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
    worker.on("error", fail);
    worker.on("exit", () => fail(new Error(`The thread that reads ${this.#file} has ended.`)));
    return worker;
  }

  #settle(worker: Worker, { id, rows = [], error }: Reply): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    // The thread must not keep the process alive.
    if (this.#waiting.size === 0 && !this.#isClosed) worker.unref();
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
    connection = new DatabaseSync(workerData.file, { timeout: workerData.timeout });
    connection.exec("PRAGMA synchronous = NORMAL");
    connection.exec("PRAGMA wal_autocheckpoint = 0");
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
  prepare("SELECT 1 AS one");
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
  const { id } = request;
  try {
    const rows = request.select ? select(request.select, request.from) : write(request.write);
    parentPort.postMessage({ id, rows });
  } catch (error) {
    parentPort.postMessage({ id, error: { message: error.message, code: error.sqliteCodeName || error.code } });
  }
});
`;
