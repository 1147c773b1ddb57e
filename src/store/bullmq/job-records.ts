import { hash, randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { JobsOptions, QueueEvents, QueueEventsProducer } from "bullmq";
import { endStateOf, failedJob, type Job, type JobLogLine, type JobRequest } from "../../calls/job.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { Update } from "../../core/events.ts";
import type { ToolResult } from "../../core/result.ts";
import type { BullEngine, BullJob, BullQueue } from "./engine.ts";

/** What BullMQ itself does not know of a job: stored as its data. */
export interface JobData extends Pick<Job, "call" | "key" | "priority" | "createdAt" | "runAt" | "attempts" | "round"> {
  /** Increases with each submission, also within a millisecond: the order of lists. */
  order: number;
  /** Attempts that do not count, and workers that were lost in earlier rounds. */
  uncounted: number;
  lostBefore: number;
  /** Set if it was cancelled: its result if no worker has started it. */
  cancelled?: ToolResult;
}

export interface Progress {
  callId: string;
  /** The last known progress, also of earlier updates. */
  progress?: Update["progress"];
  updates: Update[];
}

export type BullState = "waiting" | "prioritized" | "delayed" | "active" | "completed" | "failed";

const MAX_ENDED = 5_000;
const ENDED_RETENTION_S = 7 * 24 * 60 * 60;
const MAX_LOG_ROWS = 200;

let lastOrder = 0;

export function jobDataOf({ call, key, priority, delayMs, attempts }: JobRequest, now: number): JobData {
  lastOrder = Math.max(lastOrder + 1, now * 1000);
  const createdAt = now;
  const base = { call, key, priority, createdAt, runAt: now + delayMs, attempts };
  return { ...base, round: 1, order: lastOrder, uncounted: 0, lostBefore: 0 };
}

/** In BullMQ 1 is the highest priority; 0 means none and comes before all others. */
const MIDDLE_PRIORITY = 1_000_000;

export function bullOptions(id: string, jobData: JobData): JobsOptions {
  const priority = MIDDLE_PRIORITY - Math.round(jobData.priority);
  return {
    jobId: id,
    timestamp: jobData.createdAt,
    priority: Math.min(Math.max(priority, 1), 2 * MIDDLE_PRIORITY),
    delay: jobData.runAt > jobData.createdAt ? jobData.runAt - jobData.createdAt : undefined,
    deduplication: jobData.key === undefined ? undefined : { id: hash("sha256", jobData.key) },
    // The worker decides on retries.
    attempts: 1,
    removeOnComplete: { age: ENDED_RETENTION_S, count: MAX_ENDED },
    removeOnFail: { age: ENDED_RETENTION_S, count: MAX_ENDED },
    keepLogs: MAX_LOG_ROWS,
    stackTraceLimit: 0,
  };
}

export function readJobData(bull: BullJob): JobData {
  return JSON.parse(bull.data) as JobData;
}

export function readJob(bull: BullJob, state: BullState): Job {
  const jobData = readJobData(bull);
  const { call, key, priority, createdAt, runAt, attempts, round } = jobData;
  const lost = bull.stalledCounter - jobData.lostBefore;
  const attempt = bull.attemptsStarted - lost - jobData.uncounted;
  const progress = readProgress(bull)?.progress;
  const hasBegun = bull.attemptsStarted > 0;
  const job: Job = {
    id: bull.id!,
    call,
    key,
    state: "queued",
    priority,
    createdAt,
    runAt,
    startedAt: hasBegun && bull.processedOn !== undefined ? bull.processedOn : undefined,
    attempt,
    attempts,
    lost,
    round,
    worker: hasBegun && bull.processedBy !== undefined ? bull.processedBy : undefined,
    progress,
  };
  if (state === "active") return { ...job, state: "running" };
  if (isOver(state)) {
    const result = state === "completed" ? (JSON.parse(bull.returnvalue) as ToolResult) : readFailure(bull, job);
    // Between a retry request and its queuing the stored result is that of the round before.
    if (round === 1 || result.callId === call.callId) return ended(job, result, bull.finishedOn);
  }
  if (jobData.cancelled) return ended(job, jobData.cancelled, jobData.cancelled.completedAt);
  return { ...job, state: state === "delayed" ? "delayed" : "queued" };
}

function ended(job: Job, result: ToolResult, endedAt: number | undefined): Job {
  return { ...job, state: endStateOf(result), endedAt, result };
}

/** Our own failures are stored as results; the reason of a job that lost its worker too often is BullMQ's text. */
function readFailure(bull: BullJob, job: Job): ToolResult {
  try {
    return JSON.parse(bull.failedReason) as ToolResult;
  } catch {
    const why = toolError("unknown_outcome", `The job ended without a result (${bull.failedReason})`, {
      next: "Check its effect first; to make it again, retry the job.",
    });
    return failedJob(job, why, bull.finishedOn ?? job.createdAt);
  }
}

function readProgress(bull: Pick<BullJob, "progress">): Progress | undefined {
  return typeof bull.progress === "string" ? (JSON.parse(bull.progress) as Progress) : undefined;
}

export function readLog(rows: readonly string[]): JobLogLine[] {
  return rows.flatMap((row) => JSON.parse(row) as JobLogLine[]);
}

export function isOver(state: BullState): boolean {
  return state === "completed" || state === "failed";
}

/** Contains the tool, so a job is found by its id alone. Valid in file names and URLs. */
export function newJobId(toolName: string): string {
  return `${queueNameOf(toolName)}.${randomBytes(12).toString("hex")}`;
}

export function toolOfId(id: string): string | undefined {
  const [, queueName] = /^([\w~-]+)\.[0-9a-f]{24}$/.exec(id) ?? [];
  return queueName?.replace(/~([0-9a-f]+)~/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
}

/** A tool name inside other names: names in BullMQ cannot contain a colon. */
export function queueNameOf(toolName: string): string {
  return toolName.replace(/[^A-Za-z0-9_-]/gu, (character) => `~${character.codePointAt(0)!.toString(16)}~`);
}

/** Messages between processes, besides BullMQ's own events. */
export type Notice =
  | { notice: "tool"; toolName: string }
  | { notice: "cancel"; jobId: string; round: number; reason: string }
  | { notice: "cancelled"; jobId: string };

const RECHECK_MS = 5_000;

/**
 * One queue per tool that ever had a job, so a worker only takes jobs of its tools. Also the list of these tools, the
 * cancelled jobs, and a channel for notices.
 */
export class ToolQueues {
  readonly engine: BullEngine;
  readonly cancelled: BullQueue;
  readonly #tools: BullQueue;
  readonly #producer: QueueEventsProducer;
  readonly #namespace: string;
  readonly #clock: Clock;
  readonly #queues = new Map<string, BullQueue>();
  readonly #listeners = new Set<(notice: Notice) => void>();
  readonly #announced = new Set<string>();
  #events: QueueEvents | undefined;
  #timer: Timer | undefined;
  #closed = false;

  private constructor(engine: BullEngine, namespace: string, clock: Clock) {
    this.engine = engine;
    this.#namespace = namespace;
    this.#clock = clock;
    this.cancelled = engine.queue(`${namespace}.cancelled`);
    this.#tools = engine.queue(`${namespace}.tools`);
    this.#producer = engine.producer(`${namespace}.notices`);
  }

  static async open(engine: BullEngine, namespace: string, clock: Clock): Promise<ToolQueues> {
    const toolQueues = new ToolQueues(engine, namespace, clock);
    toolQueues.#events = await listenFromNow(engine, `${namespace}.notices`);
    (toolQueues.#events as NoticeSource).on("notice", ({ text }) =>
      toolQueues.#handleNotice(JSON.parse(text) as Notice),
    );
    await toolQueues.#look();
    toolQueues.#scheduleLook();
    return toolQueues;
  }

  /** Tools that have or had jobs. */
  get tools(): ReadonlySet<string> {
    return this.#announced;
  }

  queueOf(toolName: string): BullQueue {
    let queue = this.#queues.get(toolName);
    if (!queue) this.#queues.set(toolName, (queue = this.engine.queue(this.nameOf(toolName))));
    return queue;
  }

  nameOf(toolName: string): string {
    return `${this.#namespace}.jobs.${queueNameOf(toolName)}`;
  }

  /** Call before the first job of a tool: workers and listeners of all processes then use its queue. */
  async announce(toolName: string): Promise<void> {
    if (this.#announced.has(toolName)) return;
    await this.#tools.add(toolName, "", { jobId: `tool.${queueNameOf(toolName)}` });
    await this.publish({ notice: "tool", toolName });
    this.#handleNotice({ notice: "tool", toolName });
  }

  async publish(notice: Notice): Promise<void> {
    await this.#producer.publishEvent({ eventName: "notice", text: JSON.stringify(notice) });
  }

  /** A tool is reported once, if it was not known. */
  onNotice(listener: (notice: Notice) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    const closing = [this.#events, this.#producer, this.#tools, this.cancelled, ...this.#queues.values()];
    await Promise.allSettled(closing.map(async (each) => each?.close()));
  }

  #handleNotice(notice: Notice): void {
    if (notice.notice === "tool") {
      if (this.#announced.has(notice.toolName)) return;
      this.#announced.add(notice.toolName);
    }
    for (const listener of this.#listeners) listener(notice);
  }

  async #look(): Promise<void> {
    for (const { name } of await this.#tools.getJobs(["waiting"]))
      this.#handleNotice({ notice: "tool", toolName: name });
  }

  /** The announcing process may end before its notice is sent. */
  #scheduleLook(): void {
    this.#timer = this.#clock.after(RECHECK_MS, () => {
      const again = (): void => void (this.#closed || this.#scheduleLook());
      this.#look().then(again, again);
    });
    this.#timer.setRef(false);
  }
}

interface NoticeSource {
  on(event: "notice", listener: (notice: { text: string }) => void): unknown;
  on(event: "hello", listener: () => void): unknown;
}

/** Receives every event after it resolves. BullMQ itself reports ready before it listens. */
export async function listenFromNow(engine: BullEngine, name: string): Promise<QueueEvents> {
  const events = engine.events(name, "$");
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

const MAX_CANCELLED = 5_000;
const CANCELLED_RETENTION_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * BullMQ can only end jobs that a worker has taken, and has no state for cancelled ones: they are moved to a queue without
 * workers. Added there before it is removed here, so it can be found at any time. False if a worker has the job.
 */
export async function moveToCancelled(toolQueues: ToolQueues, id: string, state: BullState): Promise<boolean> {
  const queue = toolQueues.queueOf(toolOfId(id)!);
  const bull = await queue.getJob(id);
  if (!bull) return true;
  const { order } = readJobData(bull);
  const job = readJob(bull, state);
  const { logs } = await queue.getJobLogs(id);
  const moved = await toolQueues.cancelled.add(
    job.call.toolName,
    JSON.stringify({ moved: job, order } satisfies Moved),
    {
      jobId: id,
      timestamp: job.endedAt,
    },
  );
  for (const row of logs) await moved.log(row);
  try {
    await bull.remove();
  } catch {
    // A worker has taken it since, and finds that it is cancelled.
    if (await bull.isActive()) {
      await moved.remove();
      return false;
    }
  }
  await drop(toolQueues);
  return true;
}

interface Moved {
  moved: Job;
  order: number;
}

export function readMoved(bull: BullJob): Moved {
  return JSON.parse(bull.data) as Moved;
}

/** For some calls only, as BullMQ does with ended jobs. */
async function drop(toolQueues: ToolQueues): Promise<void> {
  if (Math.random() > 0.01) return;
  await toolQueues.cancelled.clean(CANCELLED_RETENTION_MS, 0, "wait");
  const extra = (await toolQueues.cancelled.getWaitingCount()) - MAX_CANCELLED;
  if (extra > 0) await toolQueues.cancelled.clean(0, extra, "wait");
}
