import type { Job as KeptJob, Queue, QueueEvents, QueueEventsProducer, Worker, WorkerOptions } from "bullmq";
import { errorCode, toolError, type ToolError } from "../../core/error.ts";
import { importInstalled } from "../../schema/load-package.ts";
import { placeOf } from "../database.ts";

/** Data and results are JSON inside a string. */
export type BullJob = KeptJob<string, string>;
export type BullQueue = Queue<string, string>;
export type BullProcessor = (job: BullJob, token: string) => Promise<string>;

/** BullMQ on Redis. Everything created here uses the engine's connection and must be closed before it. */
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

/** All keys begin with `haft:`. */
export async function openRedisEngine(url: string, { load = {} }: EngineOptions = {}): Promise<BullEngine> {
  const bullmq = await loadPackage("bullmq", load.bullmq ?? (() => importInstalled<typeof import("bullmq")>("bullmq")));
  const { Redis } = await loadPackage<Pick<typeof import("ioredis"), "Redis">>(
    "ioredis",
    load.ioredis ?? (() => importInstalled("ioredis")),
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
  const options = { connection, prefix: "haft" };
  // Each operation reports its own failure. Without a listener this event would end the process.
  const handled = <T extends { on(event: "error", listener: () => void): unknown }>(made: T): T => {
    made.on("error", () => undefined);
    return made;
  };
  return {
    bullmq,
    queue: (name) => handled(new bullmq.Queue<string, string>(name, options)),
    events: (name) => handled(new bullmq.QueueEvents(name, { ...options, lastEventId: "$" })),
    producer: (name) => handled(new bullmq.QueueEventsProducer(name, options)),
    worker: (name, processor, more) =>
      handled(new bullmq.Worker<string, string>(name, processor as never, { ...options, ...more, runRetryDelay: 250 })),
    close: async () => connection.disconnect(),
  };
}

async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw toolError("missing_package", `Waking workers through Redis needs the package "${name}"`, {
      next: `Run: npm install ${name}`,
      cause,
    });
  }
}

/** With what a person can do about it, and without the password. */
function explainRedis(error: unknown, url: string): ToolError {
  const text = error instanceof Error ? error.message || String(errorCode(error)) : String(error);
  const where = placeOf(url);
  const fail = (what: string, next: string): ToolError =>
    toolError("unavailable", `The queue at ${where} ${what}`, { next, cause: new Error(text) });
  if (/WRONGPASS|NOAUTH|invalid password/i.test(text)) {
    return fail(`refused the login (${text})`, "Check user and password in the queue's URL.");
  }
  if (/DB index is out of range/i.test(text)) return fail(`has no such database (${text})`, "Correct the queue's URL.");
  return fail(`cannot be reached (${text})`, "Start the server or check the queue's URL.");
}
