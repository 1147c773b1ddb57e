import type { Clock, Timer } from "../core/clock.ts";
import type { Update } from "../core/events.ts";
import { cancelledJob, closingWorker, type Job } from "./job.ts";
import type { JobOutcome, JobWorker, WorkOptions } from "./job-queue.ts";

/** Where a worker of this process gets its jobs and reports their outcome. */
export interface JobSource {
  readonly clock: Clock;
  /** Marks jobs as running on this worker. `max` is called as late as possible, because other jobs may end before. */
  take(tools: readonly string[], max: () => number, worker: string | undefined): Promise<Job[]>;
  updated(job: Job, update: Update): void;
  /** Resolves when the outcome is stored. */
  settled(job: Job, outcome: JobOutcome): Promise<void>;
}

const WRITE_RETRY_MS = 500;

/** Runs up to `concurrency` jobs in this process. Takes more when it is woken. */
export class LocalWorker implements JobWorker {
  readonly #source: JobSource;
  readonly #options: WorkOptions;
  readonly #running = new Map<string, AbortController>();
  readonly #onIdle: (() => void)[] = [];
  /** Wake-ups that wait for a free slot. */
  readonly #waiting: (() => void)[] = [];
  #isTaking = false;
  #isWaking = false;
  #wasWoken = false;
  #isClosing = false;
  #gaveUp = false;

  constructor(source: JobSource, options: WorkOptions) {
    this.#source = source;
    this.#options = options;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Whether it could take no job. */
  get isFull(): boolean {
    return this.#free() <= 0;
  }

  /** Whether it may have taken jobs that it does not run yet. */
  get isTaking(): boolean {
    return this.#isTaking;
  }

  /** Call if there may be jobs to take. */
  wake(): void {
    this.#wasWoken = true;
    if (!this.#isTaking) void this.#take();
  }

  /** Waits for a free slot, then looks for jobs. False if the worker closes first. */
  async wakeWhenFree(): Promise<boolean> {
    while (!this.#isClosing && this.#free() <= 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#isClosing) return false;
    this.wake();
    return true;
  }

  runs(id: string): boolean {
    return this.#running.has(id);
  }

  /** Returns whether the job runs here. */
  cancel(id: string, reason?: string): boolean {
    const running = this.#running.get(id);
    running?.abort(cancelledJob(id, reason));
    return running !== undefined;
  }

  async close(graceMs = 0): Promise<void> {
    this.#isClosing = true;
    for (const next of this.#waiting.splice(0)) next();
    if (this.#isIdle()) return;
    const idle = new Promise<void>((resolve) => this.#onIdle.push(resolve));
    const abort = (): void => {
      this.#gaveUp = true;
      for (const controller of this.#running.values()) controller.abort(closingWorker());
    };
    const timer: Timer | undefined = graceMs > 0 ? this.#source.clock.after(graceMs, abort) : undefined;
    if (!timer) abort();
    await idle;
    timer?.cancel();
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    try {
      while (this.#wasWoken && !this.#isClosing) {
        if (this.#free() <= 0) break;
        this.#wasWoken = false;
        let requested = 0;
        const max = (): number => {
          // This take also covers wake-ups up to now.
          this.#wasWoken = false;
          return (requested = this.#free());
        };
        const jobs = await this.#source.take(this.#options.tools(), max, this.#options.name);
        for (const job of jobs) void this.#run(job);
        // If all requested jobs were taken, there may be more.
        if (jobs.length === requested) this.#wasWoken = true;
      }
    } catch {
      // The store cannot be read now. The poll of the queue wakes this worker again.
    } finally {
      this.#isTaking = false;
      this.#notifyIdle();
    }
  }

  async #run(job: Job): Promise<void> {
    const controller = new AbortController();
    this.#running.set(job.id, controller);
    // Taken while the worker was closing.
    if (this.#gaveUp) controller.abort(closingWorker());
    let isOver = false;
    const outcome = await this.#options.run(job, {
      signal: controller.signal,
      update: (update) => {
        if (!isOver) this.#source.updated(job, update);
      },
    });
    isOver = true;
    await this.#write(job, outcome);
    this.#running.delete(job.id);
    this.#leave();
  }

  #leave(): void {
    this.#waiting.shift()?.();
    this.#wakeSoon();
    this.#notifyIdle();
  }

  /** After this turn of the event loop: jobs whose ends were committed together make room together. */
  #wakeSoon(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      this.wake();
    });
  }

  /** Retries until the outcome is stored, because only this worker knows it. On close, another worker takes the job over. */
  async #write(job: Job, outcome: JobOutcome): Promise<void> {
    for (;;) {
      try {
        return await this.#source.settled(job, outcome);
      } catch {
        if (this.#gaveUp) return;
        await new Promise<void>((resolve) => this.#source.clock.after(WRITE_RETRY_MS, resolve));
      }
    }
  }

  #free(): number {
    return this.#options.concurrency - this.#running.size;
  }

  #isIdle(): boolean {
    return this.#running.size === 0 && !this.#isTaking;
  }

  #notifyIdle(): void {
    if (this.#isIdle()) for (const notify of this.#onIdle.splice(0)) notify();
  }
}
