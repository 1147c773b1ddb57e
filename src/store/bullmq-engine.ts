import { setTimeout } from "node:timers/promises";
import type {
  BackendFactory,
  Job as KeptJob,
  Queue,
  QueueEvents,
  QueueEventsProducer,
  Worker,
  WorkerOptions,
} from "bullmq";
import { toolError } from "../core/error.ts";
import { postgresBackend } from "./bullmq-events.ts";
import { openSharedPool } from "./bullmq-pool.ts";
import { isConnectionLost } from "./postgres-failure.ts";
import { explainRedis } from "./redis-failure.ts";

/** Data and results are JSON inside a string: PostgreSQL's own JSON knows no NUL and keeps no order of keys. */
export type BullJob = KeptJob<string, string>;
export type BullQueue = Queue<string, string>;
export type BullProcessor = (job: BullJob, token: string) => Promise<string>;

/** BullMQ on one of its backends. Everything made here shares the engine's connections, and ends before it. */
export interface BullEngine {
  readonly bullmq: typeof import("bullmq");
  queue(name: string): BullQueue;
  /** `from`: "0" for all that is kept of the past, "$" for nothing of it. */
  events(name: string, from: "0" | "$"): QueueEvents;
  producer(name: string): QueueEventsProducer;
  worker(name: string, processor: BullProcessor, options: Partial<WorkerOptions>): Worker<string, string>;
  close(): Promise<void>;
}

export interface EngineOptions {
  /** How the packages are loaded; a test takes one away. */
  load?: {
    bullmq?: () => Promise<typeof import("bullmq")>;
    ioredis?: () => Promise<Pick<typeof import("ioredis"), "Redis">>;
  };
}

/** In the database of the store, in a schema of its own (`bullmq`). */
export async function openPostgresEngine(url: string, { load = {} }: EngineOptions = {}): Promise<BullEngine> {
  const bullmq = await loadPackage("bullmq", load.bullmq ?? (() => import("bullmq")));
  const pool = await openSharedPool(url, bullmq);
  const connect = () => ({ connection: pool.view() });
  return engineOf(bullmq, connect, postgresBackend(bullmq), () => pool.close());
}

/** All keys begin with `haft:`. */
export async function openRedisEngine(url: string, { load = {} }: EngineOptions = {}): Promise<BullEngine> {
  const bullmq = await loadPackage("bullmq", load.bullmq ?? (() => import("bullmq")));
  const { Redis } = await loadPackage<Pick<typeof import("ioredis"), "Redis">>(
    "ioredis",
    load.ioredis ?? (() => import("ioredis")),
  );
  // Commands wait for a server that is away: what was accepted is then written, and nothing is half done.
  const connection = new Redis(url, { maxRetriesPerRequest: null, lazyConnect: true, connectTimeout: 10_000 });
  let trouble: unknown;
  connection.on("error", (error) => void (trouble = error));
  try {
    await connection.connect();
    await connection.ping();
  } catch (error) {
    connection.disconnect();
    throw explainRedis(trouble ?? error, url);
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
  // The types of a queue name its backend; what is used here is the same on all of them.
  const make = <T extends { on(event: "error", listener: () => void): unknown }>(
    kind: unknown,
    given: unknown[],
  ): T => {
    const made = new (kind as Made<T>)(...given, ...(backend ? [backend] : []));
    // Said where something is asked of it; unheard, it would end the process.
    made.on("error", () => undefined);
    return made;
  };
  return {
    bullmq,
    queue: (name) => make<BullQueue>(bullmq.Queue, [name, connect()]),
    events: (name, from) => make(bullmq.QueueEvents, [name, { ...connect(), lastEventId: from }]),
    producer: (name) => make(bullmq.QueueEventsProducer, [name, connect()]),
    worker: (name, processor, options) =>
      make(createRetryingWorker(bullmq), [name, processor, { ...connect(), ...options, runRetryDelay: 250 }]),
    close,
  };
}

/**
 * A worker whose acknowledgement outlives a server that restarts: BullMQ takes the failure to write a result for a failure
 * of the job. What cannot be written while the lease lasts is left to it: somebody takes the job again.
 */
function createRetryingWorker(bullmq: typeof import("bullmq")): unknown {
  return class SteadyWorker extends bullmq.Worker<string, string> {
    protected override handleCompleted(result: string, job: BullJob, token: string, fetchNext?: () => boolean) {
      return withRetries(() => super.handleCompleted(result, job, token, fetchNext), this.opts.lockDuration);
    }

    protected override async handleFailed(error: Error, job: BullJob, token: string, fetchNext?: () => boolean) {
      if (!/^(?:Unrecoverable|Delayed|Waiting)Error$/.test(error.name)) throw error;
      return withRetries(() => super.handleFailed(error, job, token, fetchNext), this.opts.lockDuration);
    }
  };
}

const AGAIN_AFTER_MS = 100;

/** Until the server is back, but not for ever. */
export async function withRetries<T>(write: () => Promise<T>, forMs = 30_000): Promise<T> {
  for (let waited = 0; ; waited += AGAIN_AFTER_MS) {
    try {
      return await write();
    } catch (error) {
      if (!isConnectionLost(error) || waited >= forMs) throw error;
      await setTimeout(AGAIN_AFTER_MS);
    }
  }
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
