import { EventEmitter } from "node:events";
import type { Client, Notification, Pool } from "pg";
import type { PgPool } from "bullmq";
import { toolError } from "../core/error.ts";
import { explainPostgres } from "./postgres-failure.ts";
import { Semaphore } from "./turns.ts";

/** What all queues, workers and listeners of one process share: a pool, and one connection that hears for all of them. */
export interface SharedPool {
  /** A pool as BullMQ wants one for each of its parts; none of them ends what the others use. */
  view(): PgPool;
  close(): Promise<void>;
}

const SCHEMA = "bullmq";
const MAX_CONNECTIONS = 10;
/** A part names its connection after itself; ours are everybody's. */
const NAMES_CONNECTION = /set_config\('application_name'/;
const LISTENS = /^(?:\s*--.*\n)*\s*(LISTEN\s+\w+)/i;

/**
 * BullMQ would keep a connection for each worker and each listener, so that some tools on some machines use up what a
 * server has. Notifications carry the name of their queue, and everybody reads his own: one connection does.
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

/** All of its tables or none; of several processes that start at once, one makes them. */
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

/** The one connection that listens, opened when first needed and again when it broke. */
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

  /** One after the other: a connection does one thing at a time. */
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
      // They ask for another, listen again, and look for what they missed.
      if (!this.#closed) for (const each of [...this.#checkedOut]) each.emit("error", error);
    };
    client.on("error", broke);
    client.on("end", () => broke(new Error("Connection terminated")));
    client.on("notification", (notification: Notification) => {
      for (const each of this.#checkedOut) each.deliver(notification);
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

/** What a part of BullMQ takes for a connection of its own. */
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
    // A connection that breaks before its part listens to it harms nobody.
    this.on("error", () => undefined);
    this.#query = query;
    this.#notificationListener = notificationListener;
    this.#release = release;
  }

  async query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }> {
    const listen = LISTENS.exec(text)?.[1];
    if (listen) await this.#notificationListener.listen(listen);
    if (listen || NAMES_CONNECTION.test(text)) return { rows: [] };
    return await this.#query(text, values);
  }

  /** What comes while nobody listens is told to whoever listens next. */
  deliver(notification: Notification): void {
    if (this.emit("notification", notification)) return;
    this.#missed.set(`${notification.channel} ${notification.payload}`, notification);
  }

  /**
   * A part of BullMQ looks for events first and listens then: one that is told in between would lie there until the next one
   * comes, or until its patience of some seconds ends.
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
