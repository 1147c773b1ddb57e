import type { Pool, PoolClient, PoolConfig } from "pg";
import { toolError } from "../core/error.ts";
import type { MaybePromise } from "../core/stage.ts";
import { numberPlaceholders } from "./number-placeholders.ts";
import { explainPostgres, isConnectionLost } from "./postgres-failure.ts";
import { checkParameters } from "./sql-parameters.ts";
import { Semaphore } from "./turns.ts";
import type { SqlDatabase, SqlRunner, SqlTransaction, SqlValue, TransactionOptions } from "./sql-database.ts";

export interface PostgresOptions {
  /** Connections at most. */
  connections?: number;
  /** How long connecting may take. */
  maxConnectMs?: number;
  /** How long a transaction may stand still before the server ends it, and others get what it has locked. */
  maxIdleMs?: number;
  /** How the driver is loaded; a test takes it away. */
  load?: () => Promise<typeof import("pg")>;
}

/** Ours are done in milliseconds: who takes so long has vanished, and the server would not notice for hours. */
const MAX_IDLE_MS = 15_000;
const MAX_CONNECTIONS = 10;

/** Connects once, so that a wrong address or password is said here and now. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<SqlDatabase> {
  const { default: pg } = await loadDriver(options.load ?? (() => import("pg")));
  const { connections = MAX_CONNECTIONS, maxConnectMs = 10_000, maxIdleMs = MAX_IDLE_MS } = options;
  let pool: Pool;
  try {
    pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: maxConnectMs,
      keepAlive: true,
      application_name: "haft",
      types: numbersAsNumbers(pg),
    });
  } catch (error) {
    throw explainPostgres(error, url);
  }
  // A connection that breaks while nobody uses it leaves the pool; the next query opens another.
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

/** The driver gives 64-bit integers and sums as text; ours end at 2^53. */
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
  readonly dialect = "postgres";
  readonly #pool: Pool;
  readonly #runner: SqlRunner;
  readonly #begin: string;
  readonly #semaphore: Semaphore;
  /** The pool would forget those who are still waiting for a connection. */
  readonly #underWay = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(
    pool: Pool,
    readonly url: string,
    { connections, maxIdleMs }: { connections: number; maxIdleMs: number },
  ) {
    this.#pool = pool;
    this.#semaphore = new Semaphore(connections);
    // Together, for one way to the server.
    this.#begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${maxIdleMs}`;
    this.#runner = runnerOn(pool, url);
  }

  all<Row extends object>(sql: string, params?: readonly SqlValue[]): MaybePromise<Row[]> {
    return this.#track(async () => await this.#runner.all<Row>(sql, params));
  }

  run(sql: string, params?: readonly SqlValue[]): MaybePromise<{ changes: number }> {
    return this.#track(async () => await this.#runner.run(sql, params));
  }

  transaction<T>(work: (tx: SqlTransaction) => MaybePromise<T>, options: TransactionOptions = {}): Promise<T> {
    return this.#track(() => this.#transact(work, options));
  }

  close(): Promise<void> {
    return (this.#closing ??= Promise.allSettled(this.#underWay).then(() => this.#pool.end()));
  }

  #track<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#closing) return Promise.reject(new Error("The store is closed."));
    const requested = this.#semaphore.take(ask);
    const forget = (): void => void this.#underWay.delete(requested);
    this.#underWay.add(requested);
    requested.then(forget, forget);
    return requested;
  }

  async #transact<T>(work: (tx: SqlTransaction) => MaybePromise<T>, { synced }: TransactionOptions): Promise<T> {
    const client = await this.#connect();
    const runner = runnerOn(client, this.url);
    let broken: Error | undefined;
    const onError = (error: Error): void => void (broken = error);
    // A client in use says so itself when its server goes away; unheard, that would end the process.
    client.on("error", onError);
    try {
      await runner.run(synced ? `${this.#begin}; SET LOCAL synchronous_commit TO ON` : this.#begin);
      const lock = async (name: string): Promise<void> => {
        await runner.all("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", [`haft:${name}`]);
      };
      const result = await work({ ...runner, lock });
      await runner.run("COMMIT");
      return result;
    } catch (error) {
      if (isConnectionLost(error)) broken ??= error as Error;
      if (!broken) await client.query("ROLLBACK").catch((failed: Error) => void (broken = failed));
      throw error;
    } finally {
      client.off("error", onError);
      client.release(broken);
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw explainPostgres(error, this.url);
    }
  }
}

function runnerOn(connection: Pool | PoolClient, url: string): SqlRunner {
  const query = async (sql: string, params: readonly SqlValue[] = []) => {
    checkParameters(sql, params);
    const values = params.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
    try {
      return await connection.query(numberPlaceholders(sql), values);
    } catch (error) {
      throw explainPostgres(error, url);
    }
  };
  return {
    dialect: "postgres",
    all: async <Row extends object>(sql: string, params?: readonly SqlValue[]) => {
      const { rows } = await query(sql, params);
      return rows as Row[];
    },
    run: async (sql, params) => ({ changes: (await query(sql, params)).rowCount ?? 0 }),
  };
}
