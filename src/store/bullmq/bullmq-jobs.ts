import type { QueueEvents } from "bullmq";
import {
  type JobEvent,
  JobListeners,
  type JobQuery,
  type JobQueue,
  type JobWorker,
  type WorkOptions,
} from "../../calls/job-queue.ts";
import {
  cancelledJob,
  failedJob,
  hasEnded,
  type Job,
  type JobLogLine,
  type JobRequest,
  type JobState,
  nextRound,
  notEnded,
  unknownJob,
} from "../../calls/job.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { failPoint } from "../fail-point.ts";
import type { BullEngine, BullJob } from "./engine.ts";
import * as record from "./job-records.ts";
import {
  type BullState,
  listenFromNow,
  moveToCancelled,
  type Progress,
  readJob,
  readJobData,
  readMoved,
  ToolQueues,
} from "./job-records.ts";
import { startWorkers } from "./worker.ts";

/** How many jobs per tool and state are read at least: BullMQ does not order them by creation. */
const MIN_READ = 1_000;
const MAX_READ = 100_000;

const BULL_STATES: Readonly<Record<JobState, readonly BullState[]>> = {
  delayed: ["delayed"],
  queued: ["waiting", "prioritized"],
  running: ["active"],
  completed: ["completed"],
  failed: ["failed"],
  cancelled: ["waiting", "prioritized", "delayed", "failed"],
};

interface Listed {
  job: Job;
  order: number;
}

/** Newest first. */
async function listJobs(
  toolQueues: ToolQueues,
  { states, toolName, session, limit = 100, before }: JobQuery,
  find: (id: string) => Promise<Job | undefined>,
): Promise<Job[]> {
  const wanted = new Set<BullState>(
    (states ?? (Object.keys(BULL_STATES) as JobState[])).flatMap((state) => BULL_STATES[state]),
  );
  const max = Math.min(Math.max(limit, MIN_READ), MAX_READ);
  const reading: Promise<Listed[]>[] = [];
  for (const tool of toolName === undefined ? toolQueues.tools : [toolName]) {
    if (toolQueues.tools.has(tool))
      for (const state of wanted) reading.push(readQueue(toolQueues, tool, { state, max }));
  }
  if (!states || states.includes("cancelled")) reading.push(readCancelled(toolQueues, max));
  const listed = new Map<string, Listed>();
  for (const each of (await Promise.all(reading)).flat()) listed.set(each.job.id, each);
  const end = before === undefined ? undefined : (listed.get(before)?.order ?? (await find(before))?.createdAt);
  return [...listed.values()]
    .filter(({ job, order }) => {
      if (states && !states.includes(job.state)) return false;
      if (toolName !== undefined && job.call.toolName !== toolName) return false;
      if (session !== undefined && job.call.caller.session !== session) return false;
      return end === undefined || order < end;
    })
    .sort((a, b) => b.order - a.order)
    .slice(0, limit)
    .map(({ job }) => job);
}

async function readQueue(
  toolQueues: ToolQueues,
  toolName: string,
  { state, max }: { state: BullState; max: number },
): Promise<Listed[]> {
  const jobData = await toolQueues.queueOf(toolName).getJobs([state], 0, max - 1, false);
  // BullMQ reads ids first and jobs then. A job that was deleted or changed its state in between is left out.
  return jobData.flatMap((bull) => {
    if (!bull || (bull.finishedOn != null) !== (state === "completed" || state === "failed")) return [];
    return [{ job: readJob(bull, state), order: readJobData(bull).order }];
  });
}

async function readCancelled(toolQueues: ToolQueues, max: number): Promise<Listed[]> {
  const jobData = await toolQueues.cancelled.getJobs(["waiting"], 0, max - 1, false);
  return jobData.flatMap((bull) => {
    if (!bull) return [];
    const { moved, order } = readMoved(bull);
    return hasEnded(moved) ? [{ job: moved, order }] : [];
  });
}

const REMEMBERED = 10_000;

/** Events of the jobs of all tools, in the order in which they happened. Subscribes when there is a listener. */
class BullMqEvents {
  readonly #toolQueues: ToolQueues;
  readonly #find: (id: string) => Promise<Job | undefined>;
  readonly #listeners = new JobListeners();
  readonly #sources = new Map<string, Promise<QueueEvents>>();
  /** Tools that had jobs before the first listener. */
  readonly #old: ReadonlySet<string>;
  /** Ends that were reported, by BullMQ or by a cancel request. */
  readonly #ended = new Set<string>();
  /** New jobs, whose `queued` event was emitted. */
  readonly #added = new Set<string>();
  #notified: Promise<unknown> = Promise.resolve();
  #stop: (() => void) | undefined;

  constructor(toolQueues: ToolQueues, find: (id: string) => Promise<Job | undefined>) {
    this.#toolQueues = toolQueues;
    this.#find = find;
    this.#old = new Set(toolQueues.tools);
  }

  subscribe(listener: (event: JobEvent) => void): () => void {
    this.#stop ??= this.#start();
    return this.#listeners.add(listener);
  }

  /** When it resolves, events of this tool are received, if there is a listener. */
  async subscribeTo(toolName: string): Promise<void> {
    if (this.#stop) await this.#open(toolName);
  }

  async close(): Promise<void> {
    this.#stop?.();
    await Promise.allSettled([...this.#sources.values()].map(async (source) => (await source).close()));
  }

  #start(): () => void {
    const stop = this.#toolQueues.onNotice((notice) => {
      if (notice.notice === "tool") void this.#open(notice.toolName);
      if (notice.notice === "cancelled") this.#notify(notice.jobId, "ended");
    });
    for (const toolName of this.#toolQueues.tools) void this.#open(toolName);
    return stop;
  }

  #open(toolName: string): Promise<QueueEvents> {
    let source = this.#sources.get(toolName);
    if (!source) this.#sources.set(toolName, (source = this.#listen(toolName)));
    return source;
  }

  async #listen(toolName: string): Promise<QueueEvents> {
    const { engine } = this.#toolQueues;
    const name = this.#toolQueues.nameOf(toolName);
    const events = this.#old.has(toolName) ? await listenFromNow(engine, name) : engine.events(name, "0");
    events.on("added", ({ jobId }) => {
      this.#added.add(jobId);
      this.#notify(jobId, "queued");
    });
    events.on("waiting", ({ jobId, prev }) => {
      if (prev === undefined) this.#added.delete(jobId);
      else if (prev !== "delayed") this.#notify(jobId, "queued");
    });
    events.on("delayed", ({ jobId }) => {
      if (!this.#added.delete(jobId)) this.#notify(jobId, "queued");
    });
    events.on("active", ({ jobId }) => this.#notify(jobId, "started"));
    events.on("completed", ({ jobId }) => this.#notify(jobId, "ended"));
    events.on("failed", ({ jobId }) => this.#notify(jobId, "ended"));
    events.on("progress", ({ jobId, data }) => {
      const { callId, updates } = JSON.parse(data as string) as Progress;
      this.#inOrder(async () => {
        for (const update of updates) this.#listeners.notify({ type: "updated", jobId, callId, update });
      });
    });
    return events;
  }

  #notify(id: string, type: "queued" | "started" | "ended"): void {
    if (this.#listeners.size === 0) return;
    const finding = this.#find(id).catch(() => undefined);
    this.#inOrder(async () => {
      const job = await finding;
      // Deleted since, as very old jobs are.
      if (!job) return;
      if (type === "ended") this.#emitEnd(job);
      else this.#listeners.notify({ type, job: snapshotAt(job, type) });
    });
  }

  #emitEnd(job: Job): void {
    const end = `${job.id}#${job.round}`;
    if (this.#ended.has(end)) return;
    this.#ended.add(end);
    if (this.#ended.size > REMEMBERED) this.#ended.delete(this.#ended.values().next().value!);
    this.#listeners.notify({ type: "ended", job });
  }

  #inOrder(notify: () => Promise<void>): void {
    this.#notified = this.#notified.then(notify, notify);
  }
}

/** The job may have changed since the event. */
function snapshotAt(job: Job, type: "queued" | "started"): Job {
  const { result: _result, endedAt: _endedAt, ...open } = job;
  if (type === "started") return { ...open, state: "running" };
  return { ...open, state: job.state === "delayed" ? "delayed" : "queued" };
}

export interface BullMqJobsOptions {
  clock?: Clock;
  /** How long a worker keeps its jobs without a sign of life. Default: 30 s. */
  leaseMs?: number;
  /** Prefix of all queue names: processes with the same one share their jobs. Default: haft. */
  namespace?: string;
}

const DEFAULT_LEASE_MS = 30_000;
const MAX_LINES = 1_000;
const CLEARED_AT_ONCE = 20;

/** Jobs on BullMQ, in the database of the store or on Redis, for processes on several machines. */
export async function openBullMqJobs(engine: BullEngine, options: BullMqJobsOptions = {}): Promise<JobQueue> {
  const { clock = systemClock, leaseMs = DEFAULT_LEASE_MS, namespace = "haft" } = options;
  return new BullMqJobs(await ToolQueues.open(engine, namespace, clock), clock, leaseMs);
}

class BullMqJobs implements JobQueue {
  readonly #toolQueues: ToolQueues;
  readonly #events: BullMqEvents;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #workers = new Set<JobWorker>();
  #closing: Promise<void> | undefined;

  constructor(toolQueues: ToolQueues, clock: Clock, leaseMs: number) {
    this.#toolQueues = toolQueues;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#events = new BullMqEvents(toolQueues, (id) => this.get(id));
  }

  async submit(request: JobRequest): Promise<Job> {
    const { toolName } = request.call;
    await this.#toolQueues.announce(toolName);
    await this.#events.subscribeTo(toolName);
    const jobData = record.jobDataOf(request, this.#clock.now());
    return this.#add(record.newJobId(toolName), jobData);
  }

  async get(id: string): Promise<Job | undefined> {
    const found = await this.#find(id);
    return found && (found.moved ?? record.readJob(found.bull, found.state));
  }

  list(query: JobQuery = {}): Promise<Job[]> {
    return listJobs(this.#toolQueues, query, (id) => this.get(id));
  }

  async counts(): Promise<Record<JobState, number>> {
    const counts = { delayed: 0, queued: 0, running: 0, completed: 0, failed: 0 };
    const each = [...this.#toolQueues.tools].map(async (toolName) => {
      const of = await this.#toolQueues.queueOf(toolName).getJobCounts();
      counts.delayed += of["delayed"] ?? 0;
      counts.queued += (of["waiting"] ?? 0) + (of["prioritized"] ?? 0);
      counts.running += of["active"] ?? 0;
      counts.completed += of["completed"] ?? 0;
      counts.failed += of["failed"] ?? 0;
    });
    const [cancelled] = await Promise.all([this.#toolQueues.cancelled.getWaitingCount(), ...each]);
    return { ...counts, cancelled };
  }

  async log(id: string, { after = 0 }: { after?: number } = {}): Promise<JobLogLine[]> {
    const toolName = record.toolOfId(id);
    if (toolName === undefined) return [];
    let { logs } = await this.#toolQueues.queueOf(toolName).getJobLogs(id);
    if (logs.length === 0) ({ logs } = await this.#toolQueues.cancelled.getJobLogs(id));
    return record
      .readLog(logs)
      .slice(-MAX_LINES)
      .filter(({ number }) => number > after);
  }

  async cancel(id: string, reason = ""): Promise<Job> {
    const found = await this.#find(id);
    if (!found) throw unknownJob(id);
    if (found.moved) return found.moved;
    const { bull, state } = found;
    const job = record.readJob(bull, state);
    if (record.isOver(state)) return job;
    const cancelled = failedJob(job, cancelledJob(id, reason), this.#clock.now());
    // A worker that takes it from now on does not run it.
    await bull.updateData(JSON.stringify({ ...record.readJobData(bull), cancelled } satisfies record.JobData));
    if (state !== "active" && (await moveToCancelled(this.#toolQueues, id, state))) {
      await this.#toolQueues.publish({ notice: "cancelled", jobId: id });
      return (await this.get(id)) ?? job;
    }
    await this.#toolQueues.publish({ notice: "cancel", jobId: id, round: job.round, reason });
    return (await this.get(id)) ?? job;
  }

  async retry(id: string): Promise<Job> {
    const found = await this.#find(id);
    if (!found) throw unknownJob(id);
    const now = this.#clock.now();
    if (found.moved) {
      const { call, key, priority, createdAt, runAt, attempts, round } = nextRound(found.moved, now);
      const jobData = { call, key, priority, createdAt, runAt: createdAt, attempts, round };
      await this.#add(id, { ...jobData, runAt, order: found.order, uncounted: 0, lostBefore: 0 }, { now: true });
      await found.bull.remove();
    } else {
      const { bull, state } = found;
      const job = record.readJob(bull, state);
      if (state !== "completed" && state !== "failed") throw notEnded(job);
      const { call, runAt, round } = nextRound(job, now);
      const { cancelled: _cancelled, ...jobData } = record.readJobData(bull);
      const next: record.JobData = { ...jobData, call, runAt, round, uncounted: 0, lostBefore: bull.stalledCounter };
      await bull.updateData(JSON.stringify(next));
      await bull.retry(state, { resetAttemptsMade: true, resetAttemptsStarted: true });
    }
    return (await this.get(id))!;
  }

  async clear(reason?: string): Promise<number> {
    const waiting: string[] = [];
    for (const toolName of this.#toolQueues.tools) {
      waiting.push(...(await this.#toolQueues.queueOf(toolName).getRanges(["waiting", "prioritized", "delayed"])));
    }
    let cleared = 0;
    for (let i = 0; i < waiting.length; i += CLEARED_AT_ONCE) {
      const ended = await Promise.all(waiting.slice(i, i + CLEARED_AT_ONCE).map((id) => this.cancel(id, reason)));
      cleared += ended.filter((job) => job.state === "cancelled").length;
    }
    return cleared;
  }

  async work(options: WorkOptions): Promise<JobWorker> {
    for (const toolName of options.tools())
      if (this.#toolQueues.tools.has(toolName)) await this.#events.subscribeTo(toolName);
    const worker = startWorkers(this.#toolQueues, options, { clock: this.#clock, leaseMs: this.#leaseMs });
    this.#workers.add(worker);
    return worker;
  }

  subscribe(listener: (event: JobEvent) => void): () => void {
    return this.#events.subscribe(listener);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.close(0)));
    await this.#events.close();
    await this.#toolQueues.close();
    await this.#toolQueues.engine.close();
  }

  /** Returns the added job, or the open one with the same key. */
  async #add(id: string, jobData: record.JobData, { now = false } = {}): Promise<Job> {
    const { toolName } = jobData.call;
    const { delay, ...options } = record.bullOptions(id, jobData);
    const bull = await this.#toolQueues
      .queueOf(toolName)
      .add(toolName, JSON.stringify(jobData), now || delay === undefined ? options : { ...options, delay });
    failPoint("job submitted");
    if (bull.id === id) return record.readJob(bull, delay === undefined || now ? "waiting" : "delayed");
    // Ended and deleted since: the key is free.
    return (await this.get(bull.id!)) ?? this.#add(id, jobData, { now });
  }

  async #find(id: string): Promise<Found | undefined> {
    const toolName = record.toolOfId(id);
    if (toolName === undefined) return undefined;
    const queue = this.#toolQueues.queueOf(toolName);
    for (;;) {
      const [state, bull] = await Promise.all([queue.getJobState(id), queue.getJob(id)]);
      if (!bull || state === "unknown") break;
      // Its state changed between the two reads.
      if (record.isOver(state as record.BullState) !== (bull.finishedOn != null)) continue;
      return { bull, state: state as record.BullState };
    }
    const bull = await this.#toolQueues.cancelled.getJob(id);
    return bull && { bull, ...readMoved(bull) };
  }
}

type Found =
  | { bull: BullJob; state: record.BullState; moved?: undefined }
  | { bull: BullJob; moved: Job; order: number };
