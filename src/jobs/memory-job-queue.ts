import { randomUUID } from "node:crypto";
import type { Clock, Timer } from "../core/clock.ts";
import type { Update } from "../core/events.ts";
import {
  cancelledJob,
  closingWorker,
  endStateOf,
  failedJob,
  hasEnded,
  type Job,
  JOB_STATES,
  type JobLogLine,
  type JobRequest,
  type JobState,
  nextRound,
  notEnded,
  unknownJob,
} from "../calls/job.ts";
import {
  type JobEvent,
  JobListeners,
  type JobOutcome,
  type JobQuery,
  type JobQueue,
  type JobWorker,
  type WorkOptions,
} from "../calls/job-queue.ts";
import { type JobSource, LocalWorker } from "./job-worker.ts";

const MAX_LINES = 1000;
const MAX_ENDED = 1000;

/** Jobs of this process only: for a runtime without a store. */
export class MemoryJobs implements JobQueue, JobSource {
  readonly clock: Clock;
  /** In the order of submission. */
  readonly #jobs = new Map<string, Job>();
  readonly #ended: string[] = [];
  readonly #logs = new Map<string, JobLogLine[]>();
  readonly #timers = new Map<string, Timer>();
  readonly #workers = new Set<LocalWorker>();
  readonly #listeners = new JobListeners();
  #nextLine = 1;
  #isWaking = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  submit({ call, key, priority, delayMs, attempts }: JobRequest): Promise<Job> {
    for (const job of this.#jobs.values()) {
      if (key !== undefined && job.key === key && !hasEnded(job)) return Promise.resolve(structuredClone(job));
    }
    const now = this.clock.now();
    const job: Job = {
      id: randomUUID(),
      call: structuredClone(call),
      key,
      state: delayMs > 0 ? "delayed" : "queued",
      priority,
      createdAt: now,
      runAt: now + delayMs,
      attempt: 0,
      attempts,
      lost: 0,
      round: 1,
    };
    this.#jobs.set(job.id, job);
    this.#queue(job, delayMs);
    return Promise.resolve(structuredClone(job));
  }

  get(id: string): Promise<Job | undefined> {
    const job = this.#jobs.get(id);
    return Promise.resolve(job && structuredClone(job));
  }

  list({ states = JOB_STATES, toolName, session, limit = 100, before }: JobQuery = {}): Promise<Job[]> {
    const newest = [...this.#jobs.values()].reverse();
    const from = before === undefined ? 0 : newest.findIndex(({ id }) => id === before) + 1;
    const found = newest
      .slice(from)
      .filter(
        ({ state, call }) =>
          states.includes(state) &&
          (toolName === undefined || call.toolName === toolName) &&
          (session === undefined || call.caller.session === session),
      );
    return Promise.resolve(structuredClone(found.slice(0, limit)));
  }

  counts(): Promise<Record<JobState, number>> {
    const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>;
    for (const { state } of this.#jobs.values()) counts[state]++;
    return Promise.resolve(counts);
  }

  log(id: string, { after = 0 } = {}): Promise<JobLogLine[]> {
    return Promise.resolve(structuredClone((this.#logs.get(id) ?? []).filter(({ number }) => number > after)));
  }

  async cancel(id: string, reason?: string): Promise<Job> {
    const job = this.#known(id);
    if (job.state === "running") for (const worker of this.#workers) worker.cancel(id, reason);
    else if (!hasEnded(job)) this.#end(job, failedJob(job, cancelledJob(id, reason), this.clock.now()));
    return structuredClone(job);
  }

  async retry(id: string): Promise<Job> {
    const job = this.#known(id);
    if (!hasEnded(job)) throw notEnded(job);
    const again = nextRound(job, this.clock.now());
    this.#ended.splice(this.#ended.indexOf(id), 1);
    this.#jobs.set(id, again);
    this.#queue(again, 0);
    return structuredClone(again);
  }

  async clear(reason?: string): Promise<number> {
    const waiting = [...this.#jobs.values()].filter(({ state }) => state === "queued" || state === "delayed");
    for (const { id } of waiting) await this.cancel(id, reason);
    return waiting.length;
  }

  work(options: WorkOptions): Promise<JobWorker> {
    const worker = new LocalWorker(this, options);
    this.#workers.add(worker);
    this.#wake();
    return Promise.resolve(worker);
  }

  subscribe(listener: (event: JobEvent) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Jobs that have not run fail. */
  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.close()));
    for (const timer of this.#timers.values()) timer.cancel();
    for (const job of [...this.#jobs.values()]) {
      if (!hasEnded(job)) this.#end(job, failedJob(job, closingWorker(), this.clock.now()));
    }
  }

  take(tools: readonly string[], max: () => number, worker?: string): Promise<Job[]> {
    const waiting = [...this.#jobs.values()].filter(
      ({ state, call }) => state === "queued" && tools.includes(call.toolName),
    );
    // Stable: within one priority in the order of submission.
    const taken = waiting.sort((a, b) => b.priority - a.priority).slice(0, max());
    for (const job of taken) {
      job.state = "running";
      job.attempt++;
      job.startedAt = this.clock.now();
      if (worker !== undefined) job.worker = worker;
      this.#listeners.notify({ type: "started", job: structuredClone(job) });
    }
    return Promise.resolve(structuredClone(taken));
  }

  updated({ id, call }: Job, update: Update): void {
    const job = this.#known(id);
    if (update.progress) job.progress = update.progress;
    this.#note(id, { update: structuredClone(update) });
    this.#listeners.notify({ type: "updated", jobId: id, callId: call.callId, update });
  }

  settled({ id }: Job, { result, again }: JobOutcome): Promise<void> {
    const job = this.#known(id);
    if (again) {
      if (!again.counts) job.attempt--;
      job.state = again.inMs > 0 ? "delayed" : "queued";
      job.runAt = this.clock.now() + again.inMs;
      this.#note(id, { note: `Will be retried: ${result.display}` });
      this.#queue(job, again.inMs);
    } else this.#end(job, result);
    return Promise.resolve();
  }

  #queue(job: Job, delayMs: number): void {
    this.#listeners.notify({ type: "queued", job: structuredClone(job) });
    if (delayMs <= 0) return this.#wake();
    const promote = (): void => {
      this.#timers.delete(job.id);
      if (job.state === "delayed") job.state = "queued";
      this.#wake();
    };
    this.#timers.set(job.id, this.clock.after(delayMs, promote));
  }

  #end(job: Job, result: NonNullable<Job["result"]>): void {
    job.state = endStateOf(result);
    job.endedAt = this.clock.now();
    job.result = structuredClone(result);
    this.#timers.get(job.id)?.cancel();
    this.#timers.delete(job.id);
    this.#ended.push(job.id);
    this.#listeners.notify({ type: "ended", job: structuredClone(job) });
    for (const oldest of this.#ended.splice(0, this.#ended.length - MAX_ENDED)) {
      this.#jobs.delete(oldest);
      this.#logs.delete(oldest);
    }
  }

  #note(id: string, line: Pick<JobLogLine, "update" | "note">): void {
    const lines = this.#logs.get(id) ?? [];
    this.#logs.set(id, lines);
    lines.push({ number: this.#nextLine++, at: this.clock.now(), ...line });
    if (lines.length > MAX_LINES) lines.shift();
  }

  /** In a later turn of the event loop: `submit` resolves before the job starts. */
  #wake(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      for (const worker of this.#workers) worker.wake();
    });
  }

  #known(id: string): Job {
    const job = this.#jobs.get(id);
    if (!job) throw unknownJob(id);
    return job;
  }
}
