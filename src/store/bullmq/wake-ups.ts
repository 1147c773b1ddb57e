import { setTimeout } from "node:timers/promises";
import type { QueueEvents, QueueEventsProducer, Worker } from "bullmq";
import type { Job, JobRequest } from "../../calls/job.ts";
import type { DispatchedWorker, JobDispatcher } from "../../calls/row-jobs.ts";
import { type Clock, systemClock, type Timer } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import { failPoint } from "../fail-point.ts";
import type { BullEngine, BullJob, BullQueue } from "./engine.ts";

export interface WakeUpOptions {
  clock?: Clock;
  /** How long a worker keeps a wake-up without a sign of life. Default: 30 s. */
  leaseMs?: number;
  /** Prefix of all queue names: processes with the same one wake each other. Default: haft. */
  namespace?: string;
}

const DEFAULT_LEASE_MS = 30_000;
const ENTRY_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 } as const;
const RECHECK_MS = 5_000;
const SYNC_MS = 1_000;
/** Jobs of a tool that are added in one turn of the event loop share entries: a worker that is woken takes several. */
const JOBS_PER_ENTRY = 8;
/** BullMQ must not fail a wake-up that lost its worker. */
const UNLIMITED = 1_000_000;

/**
 * Wakes workers on several machines through BullMQ on Redis. An entry says that jobs of a tool wait, and the woken worker
 * finds them by their rows. One queue per tool that ever had a job, so a worker is woken for its tools only.
 */
export class WakeUps implements JobDispatcher {
  readonly #connect: () => Promise<BullEngine>;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #namespace: string;
  readonly #workers = new Set<{ close(): Promise<void> }>();
  #opened: Promise<ToolQueues> | undefined;
  #isClosed = false;

  /** `connect` is called at the first use: most commands start no jobs. */
  constructor(
    connect: () => Promise<BullEngine>,
    { clock = systemClock, leaseMs = DEFAULT_LEASE_MS, namespace = "haft" }: WakeUpOptions = {},
  ) {
    this.#connect = connect;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#namespace = namespace;
  }

  async open(): Promise<void> {
    await this.#queues();
  }

  async add(job: Job): Promise<void> {
    await (await this.#queues()).add(job);
    failPoint("job dispatched");
  }

  async work(worker: DispatchedWorker): Promise<{ close(): Promise<void> }> {
    const workers = new ToolWorkers(await this.#queues(), worker, this.#leaseMs);
    this.#workers.add(workers);
    return {
      close: async () => {
        this.#workers.delete(workers);
        await workers.close();
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#workers].map((workers) => workers.close()));
    await (await this.#opened?.catch(() => undefined))?.close();
  }

  #queues(): Promise<ToolQueues> {
    if (this.#isClosed) return Promise.reject(toolError("shutdown", "The queue is closed"));
    this.#opened ??= this.#open();
    // A failed connection is tried again at the next use.
    this.#opened.catch(() => (this.#opened = undefined));
    return this.#opened;
  }

  async #open(): Promise<ToolQueues> {
    const queues = new ToolQueues(await this.#connect(), this.#namespace, this.#clock);
    await queues.listen();
    return queues;
  }
}

/** The queues of all tools, and the list of tools that have or had jobs. */
class ToolQueues {
  readonly engine: BullEngine;
  readonly clock: Clock;
  readonly #namespace: string;
  /** In a queue without workers. */
  readonly #list: BullQueue;
  readonly #producer: QueueEventsProducer;
  readonly #tools = new Set<string>();
  readonly #queues = new Map<string, BullQueue>();
  readonly #listeners = new Set<() => void>();
  /** What this turn of the event loop adds, by tool. */
  readonly #adding = new Map<string, { jobs: Job[]; added: Promise<void> }>();
  #events: QueueEvents | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(engine: BullEngine, namespace: string, clock: Clock) {
    this.engine = engine;
    this.clock = clock;
    this.#namespace = namespace;
    this.#list = engine.queue(`${namespace}.tools`);
    this.#producer = engine.producer(`${namespace}.notices`);
  }

  async listen(): Promise<void> {
    this.#events = await listenFromNow(this.engine, `${this.#namespace}.notices`);
    (this.#events as NoticeSource).on("tool", ({ toolName }) => this.#learn(toolName));
    await this.#look();
    this.#lookLater();
  }

  onNewTool(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async add(job: Job): Promise<void> {
    const { toolName } = job.call;
    await this.#announce(toolName);
    let adding = this.#adding.get(toolName);
    if (!adding) {
      const jobs: Job[] = [];
      const added = new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#addAll(toolName, jobs));
      this.#adding.set(toolName, (adding = { jobs, added }));
    }
    adding.jobs.push(job);
    await adding.added;
  }

  async #addAll(toolName: string, jobs: readonly Job[]): Promise<void> {
    this.#adding.delete(toolName);
    const now = this.clock.now();
    const delayed = jobs.filter(({ runAt }) => runAt > now);
    const due = jobs.filter(({ runAt }) => runAt <= now).filter((_, at) => at % JOBS_PER_ENTRY === 0);
    const entries = [...due, ...delayed].map(({ id, runAt }) => ({
      name: toolName,
      data: id,
      opts: { ...ENTRY_OPTIONS, delay: runAt > now ? runAt - now : undefined },
    }));
    await this.#queueOf(toolName).addBulk(entries);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    const closing = [this.#events, this.#producer, this.#list, ...this.#queues.values()];
    await Promise.allSettled(closing.map(async (each) => each?.close()));
    await this.engine.close();
  }

  hasJobsOf(toolName: string): boolean {
    return this.#tools.has(toolName);
  }

  nameOf(toolName: string): string {
    return `${this.#namespace}.jobs.${queueNameOf(toolName)}`;
  }

  #queueOf(toolName: string): BullQueue {
    let queue = this.#queues.get(toolName);
    if (!queue) this.#queues.set(toolName, (queue = this.engine.queue(this.nameOf(toolName))));
    return queue;
  }

  /** Before the first job of a tool: workers of all processes then use its queue. */
  async #announce(toolName: string): Promise<void> {
    if (this.#tools.has(toolName)) return;
    await this.#list.add(toolName, "", { jobId: `tool.${queueNameOf(toolName)}` });
    await this.#producer.publishEvent({ eventName: "tool", toolName });
    this.#learn(toolName);
  }

  #learn(toolName: string): void {
    if (this.#tools.has(toolName)) return;
    this.#tools.add(toolName);
    for (const listener of this.#listeners) listener();
  }

  async #look(): Promise<void> {
    for (const { name } of await this.#list.getJobs(["waiting"])) this.#learn(name);
  }

  /** The announcing process may end before its notice is sent. */
  #lookLater(): void {
    this.#timer = this.clock.after(RECHECK_MS, () => {
      const again = (): void => void (this.#isClosed || this.#lookLater());
      this.#look().then(again, again);
    });
    this.#timer.setRef(false);
  }
}

/** One BullMQ worker per tool of this process that ever had a job. Together they take few more entries than there are slots. */
class ToolWorkers {
  readonly #queues: ToolQueues;
  readonly #worker: DispatchedWorker;
  readonly #leaseMs: number;
  readonly #unsubscribe: () => void;
  readonly #workers = new Map<string, Worker<string, string>>();
  /** How many entries each tool has in this process. */
  readonly #taken = new Map<string, number>();
  #timer: Timer | undefined;
  #closing: Promise<void> | undefined;

  constructor(queues: ToolQueues, worker: DispatchedWorker, leaseMs: number) {
    this.#queues = queues;
    this.#worker = worker;
    this.#leaseMs = leaseMs;
    this.#unsubscribe = queues.onNewTool(() => this.#sync());
    this.#sync();
    this.#syncLater();
  }

  #sync(): void {
    if (this.#closing) return;
    const tools = new Set(this.#worker.tools());
    for (const [toolName, worker] of this.#workers) {
      if (tools.has(toolName)) continue;
      this.#workers.delete(toolName);
      void worker.close();
    }
    for (const toolName of tools) {
      if (!this.#workers.has(toolName) && this.#queues.hasJobsOf(toolName))
        this.#workers.set(toolName, this.#start(toolName));
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#timer?.cancel();
    this.#unsubscribe();
    await Promise.all([...this.#workers.values()].map((worker) => worker.close()));
  }

  #syncLater(): void {
    this.#timer = this.#queues.clock.after(SYNC_MS, () => {
      this.#sync();
      if (!this.#closing) this.#syncLater();
    });
    this.#timer.setRef(false);
  }

  #start(toolName: string): Worker<string, string> {
    const { concurrency, name } = this.#worker;
    const processEntry = (entry: BullJob, token: string) => this.#take(toolName, entry, token);
    return this.#queues.engine.worker(this.#queues.nameOf(toolName), processEntry, {
      name,
      concurrency,
      lockDuration: this.#leaseMs,
      stalledInterval: this.#leaseMs,
      maxStalledCount: UNLIMITED,
    });
  }

  async #take(toolName: string, entry: BullJob, token: string): Promise<string> {
    this.#count(toolName, 1);
    try {
      if (entry.data.startsWith("{")) await this.#adopt(entry);
      if (await this.#worker.wake()) return "";
      // This worker closes: another one takes the entry.
      await entry.moveToWait(token);
      throw new this.#queues.engine.bullmq.WaitingError();
    } finally {
      this.#count(toolName, -1);
    }
  }

  /** Earlier versions of Haft stored the whole job in its entry. */
  async #adopt({ id = "", data }: BullJob): Promise<void> {
    const { call, priority, attempts } = JSON.parse(data) as Pick<JobRequest, "call" | "priority" | "attempts">;
    await this.#worker.adopt(id, { call, priority, attempts, delayMs: 0 });
  }

  /** Keeps workers from taking entries that would only wait for a slot. Each may take one more: BullMQ does not accept 0. */
  #count(toolName: string, change: number): void {
    this.#taken.set(toolName, (this.#taken.get(toolName) ?? 0) + change);
    let free = this.#worker.concurrency;
    for (const taken of this.#taken.values()) free -= taken;
    for (const [tool, worker] of this.#workers) {
      worker.concurrency = Math.max(1, (this.#taken.get(tool) ?? 0) + Math.max(0, free));
    }
  }
}

interface NoticeSource {
  on(event: "tool", listener: (notice: { toolName: string }) => void): unknown;
  on(event: "hello", listener: () => void): unknown;
}

/** Receives every event after it resolves. BullMQ itself reports ready before it listens. */
async function listenFromNow(engine: BullEngine, name: string): Promise<QueueEvents> {
  const events = engine.events(name);
  const producer = engine.producer(name);
  let isListening = false;
  (events as NoticeSource).on("hello", () => void (isListening = true));
  for (let waitMs = 5; !isListening; waitMs = Math.min(waitMs * 2, 200)) {
    await producer.publishEvent({ eventName: "hello" });
    await setTimeout(waitMs);
  }
  await producer.close();
  return events;
}

/** A tool name inside other names: names in BullMQ cannot contain a colon. */
export function queueNameOf(toolName: string): string {
  return toolName.replace(/[^A-Za-z0-9_-]/gu, (character) => `~${character.codePointAt(0)!.toString(16)}~`);
}
