import type { RetryPlan } from "../core/call.ts";
import type { Update } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";
import type { CallStore } from "./call-store.ts";
import type { Job, JobLogLine, JobQuery, JobRequest, JobState } from "./job.ts";

/**
 * Jobs of all processes that share one store. A job is a row in `calls`, which says what happened to it. A worker may take a
 * job twice; the gate starts its call only if the row allows it. `job-queue.suite.ts` has the behaviour.
 */
export interface JobQueue {
  /** Where the rows are. */
  readonly calls: CallStore;
  /** When it resolves, the job survives this process. A job with the same key is returned; the caller compares it. */
  submit(request: JobRequest): Promise<Job>;
  get(id: string): Promise<Job | undefined>;
  /** Newest first. */
  list(query?: JobQuery): Promise<Job[]>;
  counts(): Promise<Record<JobState, number>>;
  /** Oldest first. The oldest lines are deleted if there are too many. `after`: only lines with a higher number. */
  log(id: string, options?: { after?: number }): Promise<JobLogLine[]>;
  /**
   * A waiting job ends now, a running one when its worker is notified. An ended one does not change. Throws `unknownJob`.
   */
  cancel(id: string, reason?: string): Promise<Job>;
  /** Queues an ended job again (`nextRound`). Throws `unknownJob` and `notEnded`. */
  retry(id: string): Promise<Job>;
  /** Cancels all queued and delayed jobs; returns how many. */
  clear(reason?: string): Promise<number>;
  /** Takes jobs of these tools until closed. */
  work(options: WorkOptions): Promise<JobWorker>;
  /**
   * Reports later events of jobs in all processes, each once. `ended` is emitted after the state can be read. A listener
   * that throws affects no other. While `wantsOthers` returns false, it may get nothing about jobs of other processes, which
   * spares a worker from reading their rows.
   */
  subscribe(listener: (event: JobEvent) => void, wantsOthers?: () => boolean): () => void;
  /** Closes the workers and unsubscribes. Jobs stay in the store. */
  close(): Promise<void>;
}

export interface WorkOptions {
  /** Shown with the jobs that it takes. Default: the process. */
  name?: string;
  /** Canonical names of the tools of this worker: it takes no other jobs. Called each time. */
  tools(): readonly string[];
  concurrency: number;
  /** Runs the call. Never rejects. */
  run(job: Job, context: JobContext): Promise<JobOutcome>;
}

export interface JobContext {
  /** Aborted with `cancelledJob` on cancel, and with `closingWorker` when the grace period of a closing worker ends. */
  signal: AbortSignal;
  update: (update: Update) => void;
}

/** The outcome of one attempt. The worker decides on retries, so all queues behave the same. */
export interface JobOutcome {
  result: ToolResult;
  /** Queues the job again. */
  again?: RetryPlan;
}

export interface JobWorker {
  readonly running: number;
  /** Takes no more jobs; waits `graceMs` for running ones, then aborts them and waits for their outcome. */
  close(graceMs?: number): Promise<void>;
}

export type JobEvent =
  /** `queued` also if it is queued again. */
  | { type: "queued" | "started"; job: Job }
  | { type: "updated"; jobId: string; callId: string; update: Update }
  | { type: "ended"; job: Job };

/** Listeners of job events. One that throws affects no other. */
export class JobListeners {
  /** Each with the question whether it wants events of other processes now. */
  readonly #listeners = new Map<(event: JobEvent) => void, () => boolean>();

  get wantOthers(): boolean {
    return [...this.#listeners.values()].some((wantsOthers) => wantsOthers());
  }

  add(listener: (event: JobEvent) => void, wantsOthers = () => true): () => void {
    // Wrapped: the same function may subscribe twice and unsubscribe once.
    const own = (event: JobEvent): void => listener(event);
    this.#listeners.set(own, wantsOthers);
    return () => void this.#listeners.delete(own);
  }

  notify(event: JobEvent): void {
    for (const listener of this.#listeners.keys()) {
      try {
        const returned: unknown = listener(event);
        if (returned instanceof Promise) returned.catch(() => undefined);
      } catch {
        // A failing listener must not affect the job.
      }
    }
  }
}
