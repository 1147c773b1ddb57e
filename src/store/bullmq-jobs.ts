import { type Clock, systemClock } from "../core/clock.ts";
import { cancelledJob, failedJob, notEnded, unknownJob } from "../jobs/job-failure.ts";
import { type Job, type JobLogLine, type JobRequest, type JobState, nextRound } from "../jobs/job.ts";
import type { JobEvent, JobQuery, JobQueue, JobWorker, WorkOptions } from "../jobs/job-queue.ts";
import { moveToCancelled, readMoved } from "./bullmq-cancelled.ts";
import type { BullEngine, BullJob } from "./bullmq-engine.ts";
import { BullMqEvents } from "./bullmq-facts.ts";
import { ToolQueues } from "./bullmq-lanes.ts";
import { listJobs } from "./bullmq-list.ts";
import * as record from "./bullmq-record.ts";
import { failPoint } from "./fail-point.ts";
import { startWorkers } from "./bullmq-worker.ts";

export interface BullMqJobsOptions {
  clock?: Clock;
  /** How long a worker that is not heard of keeps its jobs. */
  leaseMs?: number;
  /** What the names of all queues begin with: who shares it, shares the jobs. */
  namespace?: string;
}

const DEFAULT_LEASE_MS = 30_000;
const MAX_LINES = 1_000;
const CLEARED_AT_ONCE = 20;

/** Jobs on BullMQ, in the database of the store or on Redis: the same jobs for all processes, on whatever machine. */
export async function openBullMqJobs(engine: BullEngine, options: BullMqJobsOptions = {}): Promise<JobQueue> {
  const { clock = systemClock, leaseMs = DEFAULT_LEASE_MS, namespace = "haft" } = options;
  return new BullMqJobs(await ToolQueues.open(engine, namespace, clock), clock, leaseMs);
}

class BullMqJobs implements JobQueue {
  readonly #toolQueues: ToolQueues;
  readonly #facts: BullMqEvents;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #workers = new Set<JobWorker>();
  #closing: Promise<void> | undefined;

  constructor(toolQueues: ToolQueues, clock: Clock, leaseMs: number) {
    this.#toolQueues = toolQueues;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#facts = new BullMqEvents(toolQueues, (id) => this.get(id));
  }

  async submit(request: JobRequest): Promise<Job> {
    const { toolName } = request.call;
    await this.#toolQueues.announce(toolName);
    await this.#facts.subscribeTo(toolName);
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
    // Whoever takes it from now on finds that it is not to be run.
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
      if (this.#toolQueues.tools.has(toolName)) await this.#facts.subscribeTo(toolName);
    const worker = startWorkers(this.#toolQueues, options, { clock: this.#clock, leaseMs: this.#leaseMs });
    this.#workers.add(worker);
    return worker;
  }

  subscribe(listener: (event: JobEvent) => void): () => void {
    return this.#facts.subscribe(listener);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.close(0)));
    await this.#facts.close();
    await this.#toolQueues.close();
    await this.#toolQueues.engine.close();
  }

  /** The job that was added, or the one that has its key already. */
  async #add(id: string, jobData: record.JobData, { now = false } = {}): Promise<Job> {
    const { toolName } = jobData.call;
    const { delay, ...options } = record.bullOptions(id, jobData);
    const bull = await this.#toolQueues
      .queueOf(toolName)
      .add(toolName, JSON.stringify(jobData), now || delay === undefined ? options : { ...options, delay });
    failPoint("job submitted");
    if (bull.id === id) return record.readJob(bull, delay === undefined || now ? "waiting" : "delayed");
    // Ended and dropped in between: the key is free.
    return (await this.get(bull.id!)) ?? this.#add(id, jobData, { now });
  }

  async #find(id: string): Promise<Found | undefined> {
    const toolName = record.toolOfId(id);
    if (toolName === undefined) return undefined;
    const queue = this.#toolQueues.queueOf(toolName);
    for (;;) {
      const [state, bull] = await Promise.all([queue.getJobState(id), queue.getJob(id)]);
      if (!bull || state === "unknown") break;
      // It went on between the two questions.
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
