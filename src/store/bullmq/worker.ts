import { hostname } from "node:os";
import process from "node:process";
import type { Worker } from "bullmq";
import type { JobOutcome, JobWorker, WorkOptions } from "../../calls/job-queue.ts";
import { cancelledJob, closingWorker, type Job, type JobLogLine } from "../../calls/job.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import type { Update } from "../../core/events.ts";
import { failPoint } from "../fail-point.ts";
import { type BullJob, withRetries } from "./engine.ts";
import {
  type JobData,
  moveToCancelled,
  type Notice,
  type Progress,
  readJob,
  readJobData,
  type ToolQueues,
} from "./job-records.ts";

const MAX_WAITING = 1_000;
const LINES_PER_ROW = 20;

/** Writes updates of a running job, one write at a time. Updates that arrive during a write go into the next. */
function saveUpdates(bull: BullJob, job: Job, clock: Clock): { add(update: Update): void; close(): Promise<void> } {
  let waiting: JobLogLine[] = [];
  let progress = job.progress;
  let number = 0;
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      const updates = lines.flatMap(({ update }) => update ?? []);
      const snapshot: Progress = { callId: job.call.callId, progress, updates };
      try {
        for (let i = 0; i < lines.length; i += LINES_PER_ROW) {
          await bull.log(JSON.stringify(lines.slice(i, i + LINES_PER_ROW)));
        }
        await bull.updateProgress(JSON.stringify(snapshot));
      } catch {
        // The updates are lost; the job is not affected.
      }
    }
    writing = undefined;
  }

  return {
    add(update) {
      const at = clock.now();
      // Also increases over several attempts.
      number = Math.max(number + 1, at * 1000);
      progress = update.progress ?? progress;
      waiting.push({ number, at, update });
      if (waiting.length > MAX_WAITING) waiting.shift();
      writing ??= write();
    },
    async close() {
      await writing;
    },
  };
}

interface WorkerContext {
  clock: Clock;
  leaseMs: number;
}

const RECHECK_MS = 1_000;
const REMEMBERED_CANCELS = 1_000;
/** BullMQ must not fail a job that lost its worker: the next worker decides. */
const UNLIMITED = 1_000_000;

export function startWorkers(toolQueues: ToolQueues, options: WorkOptions, context: WorkerContext): JobWorker {
  return new WorkerPool(toolQueues, options, context);
}

/** One BullMQ worker per tool of this process that ever had a job. Together they run up to `concurrency` jobs. */
class WorkerPool implements JobWorker {
  readonly #toolQueues: ToolQueues;
  readonly #options: WorkOptions;
  readonly #context: WorkerContext;
  readonly #workers = new Map<string, Worker<string, string>>();
  readonly #running = new Map<string, AbortController>();
  /** How many taken jobs each tool has. */
  readonly #taken = new Map<string, number>();
  /** Taken jobs that wait for a slot. */
  readonly #queue: (() => void)[] = [];
  /** A cancel request may arrive before its job. */
  readonly #cancels = new Map<string, string>();
  readonly #unsubscribe: () => void;
  #slots: number;
  #timer: Timer | undefined;
  #closing: Promise<void> | undefined;

  constructor(toolQueues: ToolQueues, options: WorkOptions, context: WorkerContext) {
    this.#toolQueues = toolQueues;
    this.#options = options;
    this.#context = context;
    this.#slots = options.concurrency;
    this.#unsubscribe = toolQueues.onNotice((notice) => {
      if (notice.notice === "tool") this.#syncWorkers();
      if (notice.notice === "cancel") this.#cancel(notice);
    });
    this.#syncWorkers();
    this.#scheduleSync();
  }

  get running(): number {
    return this.#running.size;
  }

  close(graceMs = 0): Promise<void> {
    return (this.#closing ??= this.#close(graceMs));
  }

  async #close(graceMs: number): Promise<void> {
    this.#timer?.cancel();
    // Each takes no more jobs and waits for its running ones.
    const closed = Promise.all([...this.#workers.values()].map((worker) => worker.close()));
    for (const next of this.#queue.splice(0)) next();
    const abort = (): void => {
      for (const controller of this.#running.values()) controller.abort(closingWorker());
    };
    const timer = this.#context.clock.after(graceMs, abort);
    await closed;
    timer.cancel();
    this.#unsubscribe();
  }

  #scheduleSync(): void {
    this.#timer = this.#context.clock.after(RECHECK_MS, () => {
      this.#syncWorkers();
      this.#scheduleSync();
    });
    this.#timer.setRef(false);
  }

  #syncWorkers(): void {
    if (this.#closing) return;
    const tools = new Set(this.#options.tools());
    for (const [toolName, worker] of this.#workers) {
      if (tools.has(toolName)) continue;
      this.#workers.delete(toolName);
      void worker.close();
    }
    for (const toolName of tools) {
      if (!this.#workers.has(toolName) && this.#toolQueues.tools.has(toolName)) {
        this.#workers.set(toolName, this.#start(toolName));
      }
    }
  }

  #start(toolName: string): Worker<string, string> {
    const { concurrency, name = `${hostname()}:${process.pid}` } = this.#options;
    const { leaseMs } = this.#context;
    const worker = this.#toolQueues.engine.worker(
      this.#toolQueues.nameOf(toolName),
      (bull, token) => this.#take(toolName, () => this.#process(bull, token)),
      { name, concurrency, lockDuration: leaseMs, stalledInterval: leaseMs, maxStalledCount: UNLIMITED },
    );
    // A worker that loses its lease continues: the journal keeps others from running the same call, and later has the
    // result for the worker that holds the job.
    worker.on("completed", () => failPoint("job acknowledged"));
    worker.on("failed", (bull) => {
      failPoint("job acknowledged");
      if (bull && readJob(bull, "failed").state === "cancelled") {
        void moveToCancelled(this.#toolQueues, bull.id!, "failed").catch(() => undefined);
      }
    });
    return worker;
  }

  async #take(toolName: string, process: () => Promise<string>): Promise<string> {
    const count = (change: number): void => {
      this.#taken.set(toolName, (this.#taken.get(toolName) ?? 0) + change);
      this.#balance();
    };
    count(1);
    try {
      return await process();
    } finally {
      count(-1);
    }
  }

  /** Keeps workers from taking jobs that would only wait for a slot. Each may take one more: BullMQ does not accept 0. */
  #balance(): void {
    let free = this.#options.concurrency;
    for (const taken of this.#taken.values()) free -= taken;
    for (const [toolName, worker] of this.#workers) {
      worker.concurrency = Math.max(1, (this.#taken.get(toolName) ?? 0) + Math.max(0, free));
    }
  }

  async #process(bull: BullJob, token: string): Promise<string> {
    failPoint("job claimed");
    const jobData = readJobData(bull);
    if (jobData.cancelled) return this.#finish(jobData.cancelled);
    const controller = new AbortController();
    if (!(await this.#acquireSlot())) return this.#requeue(bull, token, jobData, { inMs: 0, counts: false });
    this.#running.set(bull.id!, controller);
    try {
      const cancelled = this.#cancels.get(`${bull.id}#${jobData.round}`);
      if (cancelled !== undefined) controller.abort(cancelledJob(bull.id!, cancelled));
      const { result, again } = await this.#run(bull, controller.signal);
      failPoint("job before ack");
      if (again && !isCancelled(controller.signal)) return await this.#requeue(bull, token, jobData, again);
      return this.#finish(result);
    } finally {
      this.#running.delete(bull.id!);
      this.#leave();
    }
  }

  async #run(bull: BullJob, signal: AbortSignal): Promise<JobOutcome> {
    const job: Job = readJob(bull, "active");
    const updates = saveUpdates(bull, job, this.#context.clock);
    try {
      return await this.#options.run(job, { signal, update: (update: Update) => updates.add(update) });
    } finally {
      await updates.close();
    }
  }

  #finish(result: JobOutcome["result"]): string {
    const text = JSON.stringify(result);
    if (result.success) return text;
    throw Object.assign(new this.#toolQueues.engine.bullmq.UnrecoverableError(text), { stack: "" });
  }

  async #requeue(
    bull: BullJob,
    token: string,
    jobData: JobData,
    again: NonNullable<JobOutcome["again"]>,
  ): Promise<never> {
    const { DelayedError, WaitingError } = this.#toolQueues.engine.bullmq;
    const runAt = this.#context.clock.now() + again.inMs;
    const next: JobData = { ...jobData, runAt, uncounted: jobData.uncounted + (again.counts ? 0 : 1) };
    await withRetries(() => bull.updateData(JSON.stringify(next)));
    if (again.inMs > 0) {
      await withRetries(() => bull.moveToDelayed(Date.now() + again.inMs, token));
      throw new DelayedError();
    }
    await withRetries(() => bull.moveToWait(token));
    throw new WaitingError();
  }

  #cancel({ jobId, round, reason }: Extract<Notice, { notice: "cancel" }>): void {
    this.#cancels.set(`${jobId}#${round}`, reason);
    if (this.#cancels.size > REMEMBERED_CANCELS) this.#cancels.delete(this.#cancels.keys().next().value!);
    this.#running.get(jobId)?.abort(cancelledJob(jobId, reason));
  }

  /** False if the worker closes. */
  async #acquireSlot(): Promise<boolean> {
    if (this.#closing) return false;
    if (this.#slots > 0) {
      this.#slots--;
      return true;
    }
    await new Promise<void>((resolve) => this.#queue.push(resolve));
    // A slot was passed on, unless the worker closes.
    return !this.#closing;
  }

  #leave(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#slots++;
  }
}

/** A cancelled job is not retried. */
function isCancelled({ reason }: AbortSignal): boolean {
  return (reason as { code?: string } | undefined)?.code === "cancelled";
}
