import { EventEmitter } from "node:events";
import type {
  BackendFactory,
  Job as KeptJob,
  PgPool,
  Queue,
  QueueEvents,
  QueueEventsProducer,
  Worker,
  WorkerOptions,
} from "bullmq";
import type { Client, Notification, Pool } from "pg";
import { errorCode, toolError, type ToolError } from "../../core/error.ts";
import { explainPostgres, Semaphore } from "../postgres/postgres.ts";

/** Data and results are JSON inside a string: PostgreSQL's own JSON cannot hold NUL and does not keep the order of keys. */
export type BullJob = KeptJob<string, string>;
export type BullQueue = Queue<string, string>;
export type BullProcessor = (job: BullJob, token: string) => Promise<string>;

/** BullMQ on one of its backends. Everything created here uses the engine's connections and must be closed before it. */
export interface BullEngine {
  readonly bullmq: typeof import("bullmq");
  queue(name: string): BullQueue;
  /** New events only. */
  events(name: string): QueueEvents;
  producer(name: string): QueueEventsProducer;
  worker(name: string, processor: BullProcessor, options: Partial<WorkerOptions>): Worker<string, string>;
  close(): Promise<void>;
}

export interface EngineOptions {
  /** How the packages are loaded: tests replace it. */
  load?: {
    bullmq?: () => Promise<typeof import("bullmq")>;
    ioredis?: () => Promise<Pick<typeof import("ioredis"), "Redis">>;
  };
}

/** In the database of the store, in the schema `bullmq`. */
export async function openPostgresEngine(url: string, { load = {} }: EngineOptions = {}): Promise<BullEngine> {
  const bullmq = await loadPackage("bullmq", load.bullmq ?? (() => import("bullmq")));
  const pool = await openSharedPool(url, bullmq);
  const connect = () => ({ connection: pool.view() });
  return engineOf(bullmq, connect, bullmq.createPostgresBackend as never, () => pool.close());
}

/** All keys begin with `haft:`. */
export async function openRedisEngine(url: string, { load = {} }: EngineOptions = {}): Promise<BullEngine> {
  const bullmq = await loadPackage("bullmq", load.bullmq ?? (() => import("bullmq")));
  const { Redis } = await loadPackage<Pick<typeof import("ioredis"), "Redis">>(
    "ioredis",
    load.ioredis ?? (() => import("ioredis")),
  );
  // Commands wait while the server is away, so an accepted job is written completely.
  const connection = new Redis(url, { maxRetriesPerRequest: null, lazyConnect: true, connectTimeout: 10_000 });
  let lastError: unknown;
  connection.on("error", (error) => void (lastError = error));
  try {
    await connection.connect();
    await connection.ping();
  } catch (error) {
    connection.disconnect();
    throw explainRedis(lastError ?? error, url);
  }
  return engineOf(
    bullmq,
    () => ({ connection, prefix: "haft" }),
    undefined,
    async () => connection.disconnect(),
  );
}

function engineOf(
  bullmq: typeof import("bullmq"),
  connect: () => object,
  backend: BackendFactory | undefined,
  close: () => Promise<void>,
): BullEngine {
  type Made<T> = new (...given: unknown[]) => T;
  // BullMQ's types depend on the backend; the parts that are used here are the same on all of them.
  const make = <T extends { on(event: "error", listener: () => void): unknown }>(
    kind: unknown,
    given: unknown[],
  ): T => {
    const made = new (kind as Made<T>)(...given, ...(backend ? [backend] : []));
    // Each operation reports its own failure. Without a listener this event would end the process.
    made.on("error", () => undefined);
    return made;
  };
  return {
    bullmq,
    queue: (name) => make<BullQueue>(bullmq.Queue, [name, connect()]),
    events: (name) => make(bullmq.QueueEvents, [name, { ...connect(), lastEventId: "$" }]),
    producer: (name) => make(bullmq.QueueEventsProducer, [name, connect()]),
    worker: (name, processor, options) =>
      make(bullmq.Worker, [name, processor, { ...connect(), ...options, runRetryDelay: 250 }]),
    close,
  };
}

async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw toolError("missing_package", `Jobs on several machines need the package "${name}"`, {
      next: `Run: npm install ${name}`,
      cause,
    });
  }
}

/** Shared by all queues, workers and listeners of a process: a pool, and one connection that listens for all of them. */
export interface SharedPool {
  /** A pool for one part of BullMQ. Ending it does not end the shared one. */
  view(): PgPool;
  close(): Promise<void>;
}

const SCHEMA = "bullmq";
const MAX_CONNECTIONS = 10;
/*
 * Hazard: these recognise private SQL of BullMQ (docs/decisions/0018). If a release of BullMQ writes it differently, LISTEN
 * runs on a pooled connection and no notification arrives; bullmq-pool.test.ts and the job suite then fail.
 */
/** BullMQ names each connection after its queue. Dropped: our connections are shared. */
const NAMES_CONNECTION = /set_config\('application_name'/;
/** Sent to the one connection that listens. */
const LISTEN_STATEMENT = /^(?:\s*--.*\n)*\s*(LISTEN\s+\w+)/i;

/**
 * BullMQ would keep a connection per worker and listener: a few tools on a few machines would use up those of a server.
 * Notifications carry the name of their queue, so one connection is enough.
 */
export async function openSharedPool(url: string, bullmq: typeof import("bullmq")): Promise<SharedPool> {
  const { default: pg } = await import("pg");
  const config = {
    connectionString: url,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    application_name: "haft jobs",
    options: `-c search_path=${SCHEMA}`,
  };
  const pool = new pg.Pool({ ...config, max: MAX_CONNECTIONS });
  pool.on("error", () => undefined);
  try {
    await migrate(pool, bullmq);
  } catch (error) {
    await pool.end();
    throw explainPostgres(error, url);
  }
  const notificationListener = new NotificationListener(() => new pg.Client(config));
  const semaphore = new Semaphore(MAX_CONNECTIONS);
  const query: Query = (text, values) => semaphore.take(() => pool.query(text, values));
  return {
    view: () => viewOf(query, notificationListener),
    async close() {
      await notificationListener.close();
      await pool.end();
    },
  };
}

/** Creates BullMQ's tables, all or none. If several processes start at once, one creates them. */
async function migrate(pool: Pool, bullmq: typeof import("bullmq")): Promise<void> {
  const client = await pool.connect();
  try {
    await bullmq.runMigrations(client, SCHEMA);
  } catch (error) {
    if (!(error instanceof bullmq.UnsupportedPostgresVersionError)) throw error;
    throw toolError("unavailable", error.message, { next: "Update the PostgreSQL server.", cause: error });
  } finally {
    client.release();
  }
}

type Query = (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }>;

function viewOf(query: Query, notificationListener: NotificationListener): PgPool {
  const view = {
    options: { keepAlive: true },
    query,
    connect: async () => notificationListener.checkOut(query),
    end: async () => undefined,
    on: () => view,
    removeAllListeners: () => view,
  };
  return view as unknown as PgPool;
}

/** The one connection that listens. Opened on first use, and again after it broke. */
class NotificationListener {
  readonly #checkedOut = new Set<VirtualConnection>();
  readonly #create: () => Client;
  #client: Promise<Client> | undefined;
  #listening: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(create: () => Client) {
    this.#create = create;
  }

  checkOut(query: Query): VirtualConnection {
    const borrowed = new VirtualConnection(query, this, (each) => this.#checkedOut.delete(each));
    this.#checkedOut.add(borrowed);
    return borrowed;
  }

  /** One statement after the other: a connection runs one at a time. */
  listen(statement: string): Promise<void> {
    const listening = this.#listening.then(async () => {
      const client = await (this.#client ??= this.#open());
      await client.query(statement);
    });
    this.#listening = listening.catch(() => undefined);
    return listening;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = await this.#client?.catch(() => undefined);
    await client?.end().catch(() => undefined);
  }

  #open(): Promise<Client> {
    const client = this.#create();
    const broke = (error: Error): void => {
      if (this.#client !== opening) return;
      this.#client = undefined;
      void client.end().catch(() => undefined);
      // Each part then opens another connection, listens again and looks for missed events.
      if (!this.#closed) for (const connection of [...this.#checkedOut]) connection.emit("error", error);
    };
    client.on("error", broke);
    client.on("end", () => broke(new Error("Connection terminated")));
    client.on("notification", (notification: Notification) => {
      for (const connection of this.#checkedOut) connection.deliver(notification);
    });
    const opening = client.connect().then(
      () => client,
      (error: Error) => {
        broke(error);
        throw error;
      },
    );
    return opening;
  }
}

/** Looks like an own connection to a part of BullMQ. */
class VirtualConnection extends EventEmitter {
  readonly #query: Query;
  readonly #notificationListener: NotificationListener;
  readonly #release: (borrowed: VirtualConnection) => void;
  readonly #missed = new Map<string, Notification>();

  constructor(
    query: Query,
    notificationListener: NotificationListener,
    release: (borrowed: VirtualConnection) => void,
  ) {
    super();
    // An error before the part listens has no effect.
    this.on("error", () => undefined);
    this.#query = query;
    this.#notificationListener = notificationListener;
    this.#release = release;
  }

  async query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }> {
    const listen = LISTEN_STATEMENT.exec(text)?.[1];
    if (listen) await this.#notificationListener.listen(listen);
    if (listen || NAMES_CONNECTION.test(text)) return { rows: [] };
    return await this.#query(text, values);
  }

  /** Without a listener the notification is kept for the next one. */
  deliver(notification: Notification): void {
    if (this.emit("notification", notification)) return;
    this.#missed.set(`${notification.channel} ${notification.payload}`, notification);
  }

  /**
   * BullMQ looks for events before it listens. A notification between the two would have no effect until the next one, or
   * until BullMQ's own timeout of some seconds.
   */
  override on(event: string, listener: (...args: never[]) => void): this {
    super.on(event, listener as () => void);
    if (event === "notification" && this.#missed.size > 0) {
      const missed = [...this.#missed.values()];
      this.#missed.clear();
      queueMicrotask(() => missed.forEach((each) => this.deliver(each)));
    }
    return this;
  }

  release(): void {
    this.#release(this);
  }
}

/** With what a person can do about it, and without the password. */
function explainRedis(error: unknown, url: string): ToolError {
  const text = error instanceof Error ? error.message || String(errorCode(error)) : String(error);
  const where = addressOf(url);
  const fail = (what: string, next: string): ToolError =>
    toolError("unavailable", `The queue at ${where} ${what}`, { next, cause: new Error(text) });
  if (/WRONGPASS|NOAUTH|invalid password/i.test(text)) {
    return fail(`refused the login (${text})`, "Check user and password in the queue's URL.");
  }
  if (/DB index is out of range/i.test(text)) return fail(`has no such database (${text})`, "Correct the queue's URL.");
  return fail(`cannot be reached (${text})`, "Start the server or check the queue's URL.");
}

/** Without user and password. */
function addressOf(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host || "localhost"}${pathname}`;
  } catch {
    return "the given URL";
  }
}
