import type { Pool, PoolClient, PoolConfig } from "pg";
import { errorCode, toolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { isObject } from "../../schema/json-schema.ts";
import { ChangeFeed } from "../change-feed.ts";
import {
  checkParameters,
  closedStore,
  type DatabaseHealth,
  placeOf,
  readerOn,
  type SqlDatabase,
  type SqlList,
  type SqlRunner,
  type SqlTransaction,
  type SqlValue,
  type TransactionOptions,
} from "../database.ts";
import { PostgresWords } from "./postgres-words.ts";
import { importInstalled } from "../../schema/load-package.ts";

const numbered = new Map<string, string>();

/** Replaces `?` by PostgreSQL's `$1`, `$2`, …, but not in text, quoted names and comments. */
function numberPlaceholders(sql: string): string {
  const known = numbered.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  const text = sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/g, (part) =>
    part === "?" ? `$${++count}` : part,
  );
  if (numbered.size >= 1000) numbered.clear();
  numbered.set(sql, text);
  return text;
}

const LOST = /^(?:08...|57P0[123]|25P03|ECONN\w+|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/;

/** Whether the connection is lost and must not be used again. */
export function isConnectionLost(error: unknown): boolean {
  if (!isObject(error)) return false;
  const { code, message, cause } = error;
  if (cause !== undefined && isConnectionLost(cause)) return true;
  return (
    LOST.test(String(code)) ||
    /connection terminated|connection error|timeout exceeded when trying/i.test(String(message))
  );
}

/** Whether the disk of the server is full. */
function isFull(error: unknown): boolean {
  const { code, cause } = Object(error) as { code?: unknown; cause?: unknown };
  return code === "53100" || (cause !== undefined && isFull(cause));
}

/** Adds what a person can do, without the password. Errors of the statement itself are returned as they are. */
function explainPostgres(error: unknown, url: string): unknown {
  const where = placeOf(url);
  const code = errorCode(error) ?? "";
  const text = withoutPassword(error instanceof Error ? error.message || code : String(error), url);
  // A new cause: the driver's own error may contain the address.
  const cause = Object.assign(new Error(text), { code });
  const fail = (what: string, next: string) =>
    toolError("unavailable", `The store at ${where} ${what}`, { next, cause });
  if (code.startsWith("28")) return fail(`refused the login (${text})`, "Check user and password in the store's URL.");
  if (code === "3D000")
    return fail(`has no such database (${text})`, "Create the database, or correct the store's URL.");
  if (/^(?:53|54)/.test(code)) return fail(`has no room (${text})`, "Free some space or connections, then try again.");
  if (code === "57P03")
    return fail(`is starting or restarting (${text})`, "Wait until it accepts connections, then try again.");
  if (code === "25006") return fail("is read-only", "Name the primary server in the store's URL.");
  if (code === "42501") return fail(`lacks a permission (${text})`, "Grant the user of the store's URL its schema.");
  if (isConnectionLost(error)) return fail(`cannot be reached (${text})`, "Start the server or check the store's URL.");
  if (code === "40P01" || code === "40001") {
    return toolError("busy", `The store at ${where} was changed by others at the same moment`, {
      next: "Try again.",
      cause,
    });
  }
  if (code === "ERR_INVALID_URL") {
    return fail("has an address that is not a valid URL", "Write it as postgres://user:password@host:5432/database.");
  }
  return error;
}

function withoutPassword(text: string, url: string): string {
  let password = /^[a-z]+:\/\/[^@/]*?:([^@/]+)@/i.exec(url)?.[1];
  if (!password) return text;
  let shown = text.replaceAll(password, "[hidden]");
  try {
    password = decodeURIComponent(password);
    shown = shown.replaceAll(password, "[hidden]");
  } catch {
    // Not encoded: it is masked already.
  }
  return shown;
}

/** Runs at most `permits` at a time, in order: the pool's own waiting would count as its connection timeout. */
class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Passed on directly, so no other caller gets it in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}

export interface PostgresOptions {
  /** Default: 10. */
  connections?: number;
  /** Default: 10 s. */
  maxConnectMs?: number;
  /** How long a transaction may be idle before the server ends it and releases its locks. Default: 15 s. */
  maxIdleMs?: number;
  /** How the driver is loaded: tests replace it. */
  load?: () => Promise<typeof import("pg")>;
}

/** Our transactions take milliseconds. After this time the client is gone, which TCP would notice hours later. */
const MAX_IDLE_MS = 15_000;
const MAX_CONNECTIONS = 10;
/** Of LISTEN and NOTIFY. Stores in other schemas of the same database use it too: that only wakes somebody in vain. */
const CHANNEL = "haft_changes";
const FIRST_CHANGE = 4_000_000_000_000_000;
const ANNOUNCE_MS = 5;
const UNNOTIFIED_MS = 1000;
const RECONNECT_MS = 1000;
const PROBE_EVERY_MS = 500;
const MAX_PROBE_MS = 1000;

/** Connects once, so a wrong address or password fails here. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<SqlDatabase> {
  const { default: pg } = await loadDriver(options.load ?? (() => importInstalled("pg")));
  const { connections = MAX_CONNECTIONS, maxConnectMs = 10_000, maxIdleMs = MAX_IDLE_MS } = options;
  let pool: Pool;
  try {
    pool = new pg.Pool({
      connectionString: url,
      // One more listens for changes.
      max: connections + 1,
      connectionTimeoutMillis: maxConnectMs,
      keepAlive: true,
      // Statements of a transaction that do not wait for each other share a round trip.
      pipeline: true,
      application_name: "haft",
      types: numbersAsNumbers(pg),
    });
  } catch (error) {
    throw explainPostgres(error, url);
  }
  // An idle connection that breaks leaves the pool; the next query opens another.
  pool.on("error", () => undefined);
  const database = new PostgresDatabase(pool, url, { connections, maxIdleMs });
  try {
    await database.all("SELECT 1 AS one");
    return database;
  } catch (error) {
    await pool.end();
    throw error;
  }
}

async function loadDriver(load: () => Promise<typeof import("pg")>): Promise<typeof import("pg")> {
  try {
    return await load();
  } catch (cause) {
    throw toolError("missing_package", 'A PostgreSQL store needs the package "pg"', {
      next: "Run: npm install pg",
      cause,
    });
  }
}

const INT8 = 20;
const NUMERIC = 1700;
const BYTEA = 17;

/** The driver returns 64-bit integers and sums as text; ours are below 2^53. */
function numbersAsNumbers(pg: typeof import("pg").default): NonNullable<PoolConfig["types"]> {
  const getTypeParser = (oid: number, format?: "text" | "binary") => {
    const parse = pg.types.getTypeParser(oid, format as "text") as (value: string) => unknown;
    if (oid === INT8 || oid === NUMERIC) return Number;
    if (oid === BYTEA) return (value: string) => new Uint8Array(parse(value) as Buffer);
    return parse;
  };
  return { getTypeParser: getTypeParser as typeof pg.types.getTypeParser };
}

class PostgresDatabase implements SqlDatabase {
  readonly engine = "postgres";
  readonly isShared = true;
  readonly hasOneWriter = false;
  readonly pollMs = { min: 25, max: 250 };
  readonly lockFree = "FOR UPDATE SKIP LOCKED";
  /** Beyond the numbers that earlier versions counted. */
  readonly changeNumbers = {
    own: `txid_current() + ${FIRST_CHANGE}`,
    open: `txid_snapshot_xmin(txid_current_snapshot()) + ${FIRST_CHANGE}`,
  };
  readonly words = new PostgresWords();
  /** The server does the work. */
  readonly reader = readerOn(this);
  readonly #pool: Pool;
  readonly #runner: SqlRunner;
  readonly #begin: string;
  readonly #semaphore: Semaphore;
  /** `Pool.end` would not wait for callers that wait for a connection. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** Server processes of our connections: their notifications are about our own commits. */
  readonly #own = new Set<number>();
  #closing: Promise<void> | undefined;
  #announcing: NodeJS.Timeout | undefined;
  #announcesAt = 0;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #isNotified = false;
  readonly #feed = new ChangeFeed({
    listen: (look) => this.#listen(look),
    hasChanged: () => {
      const now = performance.now();
      // A notification may have been lost.
      const isDue = this.#isNotified || now - this.#lookedAt > UNNOTIFIED_MS;
      if (isDue) this.#lookedAt = now;
      this.#isNotified = false;
      return isDue;
    },
  });
  #lookedAt = 0;
  #health: DatabaseHealth = { state: "ok" };
  #answeredAt = Number.NEGATIVE_INFINITY;
  #probe: { at: number; result: Promise<DatabaseHealth> } | undefined;

  constructor(
    pool: Pool,
    readonly url: string,
    { connections, maxIdleMs }: { connections: number; maxIdleMs: number },
  ) {
    this.#pool = pool;
    pool.on("connect", (client) => void this.#own.add(pidOf(client)));
    pool.on("remove", (client) => void this.#own.delete(pidOf(client)));
    this.#semaphore = new Semaphore(connections);
    // One round trip for both.
    this.#begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${maxIdleMs}`;
    this.#runner = runnerOn(pool, url);
  }

  all<Row extends object>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
    return this.#track(() => this.#runner.all<Row>(sql, params));
  }

  run(sql: string, params?: readonly SqlValue[]): Promise<{ changes: number }> {
    return this.#track(() => this.#runner.run(sql, params));
  }

  transaction<T>(work: (tx: SqlTransaction) => MaybePromise<T>, options: TransactionOptions = {}): Promise<T> {
    return this.#track(() => this.#transact(work, options));
  }

  health(): MaybePromise<DatabaseHealth> {
    const now = performance.now();
    // A pool whose connections are all in use is no lost database.
    if (now - this.#answeredAt < PROBE_EVERY_MS) return this.#health;
    if (!this.#probe || now - this.#probe.at > PROBE_EVERY_MS) this.#probe = { at: now, result: this.#ask() };
    return this.#probe.result;
  }

  /** Around the semaphore: callers that wait for a connection must not delay the answer. */
  async #ask(): Promise<DatabaseHealth> {
    const late = new Error(`no answer within ${MAX_PROBE_MS} ms`);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => (timer = setTimeout(reject, MAX_PROBE_MS, late)));
    try {
      await Promise.race([this.#runner.all("SELECT 1 AS one"), timeout]);
      return this.#health;
    } catch (error) {
      return { state: "lost", reason: error instanceof Error ? error.message : String(error) };
    } finally {
      clearTimeout(timer);
    }
  }

  watch(listener: () => void): () => void {
    return this.#feed.watch(listener);
  }

  async now(): Promise<number | undefined> {
    const [row] = await this.all<{ now: number }>(
      "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now",
    );
    return row?.now;
  }

  get place(): string {
    return placeOf(this.url);
  }

  /** A server, a database or a table that `pg_restore` made has other numbers. A copy of the disk has the same. */
  async identity(): Promise<string> {
    const parts =
      "(SELECT oid FROM pg_database WHERE datname = current_database()), CAST(CAST('calls' AS regclass) AS oid)";
    const read = (sql: string) => this.all<{ place: string }>(`SELECT concat_ws('/', ${sql}) AS place`);
    // The number of the server may be hidden from this user.
    const found = await read(`${parts}, (SELECT system_identifier FROM pg_control_system())`).catch(() => read(parts));
    return found[0]?.place ?? "";
  }

  /** The server itself looks after its data. */
  async check(): Promise<string[]> {
    const { state, reason = state } = await this.health();
    return state === "ok" ? [] : [reason];
  }

  /** The server does not say how much of a table is free. */
  async size(): Promise<{ all: number; used: number }> {
    const [found] = await this.all<{ bytes: number | null }>(
      "SELECT SUM(pg_total_relation_size(oid)) AS bytes FROM pg_class " +
        "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
    );
    const all = found?.bytes ?? 0;
    return { all, used: all };
  }

  async compact(): Promise<void> {
    await this.all("VACUUM");
  }

  async hasTable(name: string): Promise<boolean> {
    const sql = "SELECT tablename FROM pg_tables WHERE tablename = ? AND schemaname = current_schema()";
    return (await this.all(sql, [name])).length > 0;
  }

  /**
   * In the queues of BullMQ, with the whole job as an entry. The entries of 0.2 are ids of rows, which workers find by
   * themselves. The schema stays: other programs may use it too.
   */
  async earlierJobs(tx: SqlRunner): Promise<{ id: string; data: string }[]> {
    const [queue] = await tx.all<{ name: string | null }>("SELECT CAST(to_regclass('bullmq.job') AS TEXT) AS name");
    if (!queue?.name) return [];
    return tx.all(
      "SELECT id, data #>> '{}' AS data FROM bullmq.job WHERE starts_with(queue, 'haft.jobs.') " +
        "AND CAST(state AS TEXT) NOT IN ('completed', 'failed') AND starts_with(data #>> '{}', '{') ORDER BY seq",
    );
  }

  /** PostgreSQL's own INTEGER ends at 2^31. */
  toNativeTypes(sql: string): string {
    return sql.replace(/\bBLOB\b/g, "BYTEA").replace(/\bINTEGER\b/g, "BIGINT");
  }

  close(): Promise<void> {
    this.#feed.close();
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    // A process may end right after its commit.
    if (this.#announcing) await this.#notify();
    await this.#pool.end();
  }

  #track<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#closing) return Promise.reject(closedStore());
    const requested = this.#semaphore.take(ask);
    const forget = (): void => void this.#underWay.delete(requested);
    const answered = (): void => {
      this.#answeredAt = performance.now();
      forget();
    };
    this.#underWay.add(requested);
    requested.then(answered, forget);
    return requested;
  }

  async #transact<T>(work: (tx: SqlTransaction) => MaybePromise<T>, options: TransactionOptions): Promise<T> {
    const client = await this.#connect();
    const runner = runnerOn(client, this.url);
    let broken: Error | undefined;
    const onError = (error: Error): void => void (broken = error);
    // Emitted if the server goes away while the client is in use. Without a listener it would end the process.
    client.on("error", onError);
    try {
      const begun = runner.run(`${this.#begin}${commitMode(options)}`);
      // The first statement need not wait for the answer.
      begun.catch(() => undefined);
      const lock = async (name: string): Promise<void> => {
        await runner.all("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", [`haft:${name}`]);
      };
      let failed: { error: unknown } | undefined;
      let lastOnes: Promise<unknown> | undefined;
      const last = (statements: Promise<unknown>): void => {
        lastOnes = statements;
        statements.catch((error: unknown) => void (failed = { error }));
      };
      const result = await work({ ...runner, lock, last });
      // One that the driver refuses has not reached the server: a commit would be one without it.
      if (lastOnes) await new Promise<void>((resolve) => setImmediate(resolve));
      if (failed) throw failed.error;
      const committed = runner.run("COMMIT");
      committed.catch(() => undefined);
      await lastOnes;
      await begun;
      await committed;
      this.#health = { state: "ok" };
      this.#announce(options);
      return result;
    } catch (error) {
      if (isFull(error)) this.#health = { state: "full", reason: String(error) };
      if (isConnectionLost(error)) broken ??= error as Error;
      if (!broken) await client.query("ROLLBACK").catch((failed: Error) => void (broken = failed));
      throw error;
    } finally {
      client.off("error", onError);
      client.release(broken);
    }
  }

  /** Wakes waiting processes; no more often than they look, because NOTIFY locks the whole server at its commit. */
  #announce({ quiet }: TransactionOptions): void {
    const now = performance.now();
    const at = Math.max(now + (quiet ? this.pollMs.max : ANNOUNCE_MS), this.#announcedAt + this.pollMs.min);
    if (this.#announcing && this.#announcesAt <= at) return;
    clearTimeout(this.#announcing);
    this.#announcesAt = at;
    this.#announcing = setTimeout(() => void this.#notify(), at - now);
    this.#announcing.unref();
  }

  async #notify(): Promise<void> {
    clearTimeout(this.#announcing);
    this.#announcing = undefined;
    this.#announcedAt = performance.now();
    // What it announces is on the disk already.
    const sql = `BEGIN${commitMode({ relaxed: true })}; NOTIFY ${CHANNEL}; COMMIT`;
    await this.#pool.query(sql).catch(() => undefined);
  }

  /** On a connection of its own. While it is lost, the feed wakes everybody now and then. */
  #listen(look: () => void): () => void {
    let isOver = false;
    let client: PoolClient | undefined;
    const connect = async (): Promise<void> => {
      let isLost = false;
      // Called twice if the connection breaks while it is made: its query fails, and it reports an error.
      const again = (): void => {
        if (isLost || isOver) return;
        isLost = true;
        client?.release(true);
        client = undefined;
        this.#isNotified = true;
        setTimeout(() => void connect(), RECONNECT_MS).unref();
      };
      try {
        const connected = await this.#pool.connect();
        if (isOver) return connected.release();
        client = connected;
        client.on("notification", ({ processId }) => {
          if (this.#own.has(processId)) return;
          this.#isNotified = true;
          look();
        });
        client.once("error", again);
        await client.query(`LISTEN ${CHANNEL}`);
      } catch {
        again();
      }
    };
    void connect();
    return () => {
      isOver = true;
      client?.release(true);
      client = undefined;
    };
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw explainPostgres(error, this.url);
    }
  }
}

/** The driver has it, its types do not. */
function pidOf(client: PoolClient): number {
  return (client as { processID?: number }).processID ?? 0;
}

function commitMode({ synced, relaxed }: TransactionOptions): string {
  if (synced) return "; SET LOCAL synchronous_commit TO ON";
  return relaxed ? "; SET LOCAL synchronous_commit TO OFF" : "";
}

function runnerOn(connection: Pool | PoolClient, url: string): SqlRunner {
  // A driver without pipelines wants one statement after the other.
  const isSerial = "release" in connection && !(connection as { pipeline?: boolean }).pipeline;
  let last: Promise<unknown> | undefined;
  const query = async (sql: string, params: readonly (SqlValue | SqlList)[] = []) => {
    const values = params.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
    const send = () => connection.query(numberPlaceholders(sql), values);
    try {
      const answer = isSerial && last ? last.then(send, send) : send();
      if (isSerial) last = answer;
      return await answer;
    } catch (error) {
      throw explainPostgres(error, url);
    }
  };
  return {
    all: async <Row extends object>(sql: string, params: readonly SqlValue[] = []) => {
      checkParameters(sql, params);
      return (await query(sql, params)).rows as Row[];
    },
    allOfLists: async <Row extends object>(sql: string, lists: readonly SqlList[]) => {
      for (const list of lists) checkParameters(sql, list);
      return (await query(sql, lists)).rows as Row[];
    },
    run: async (sql, params = []) => {
      checkParameters(sql, params);
      return { changes: (await query(sql, params)).rowCount ?? 0 };
    },
  };
}
