import type { Update } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";
import type { Job, JobLogLine, JobRequest, JobState } from "./job.ts";

/**
 * Jobs of all processes that share one store. It delivers every job at least once; that a call with effects is not made
 * twice is the business of the journal in the gate. Every implementation holds `job-queue.suite.ts`.
 */
export interface JobQueue {
  /**
   * When it resolves, the job outlives this process. The job that has this key and has not ended, where there is one:
   * whether that is the same call, the one who asked finds out.
   */
  submit(request: JobRequest): Promise<Job>;
  get(id: string): Promise<Job | undefined>;
  /** Newest first. */
  list(query?: JobQuery): Promise<Job[]>;
  counts(): Promise<Record<JobState, number>>;
  /** Oldest first; the oldest lines are dropped where there are too many. `after`: only those with a higher number. */
  log(id: string, options?: { after?: number }): Promise<JobLogLine[]>;
  /**
   * One that waits ends now, a running one when its worker has heard of it. Of one that has ended nothing changes.
   * Throws `unknownJob`.
   */
  cancel(id: string, reason?: string): Promise<Job>;
  /** An ended one is queued again, as `nextRound` says. Throws `unknownJob` and `notEnded`. */
  retry(id: string): Promise<Job>;
  /** Cancels everything that has not begun, delayed ones included; how many. */
  clear(reason?: string): Promise<number>;
  /** Takes jobs of these tools until closed. */
  work(options: WorkOptions): Promise<JobWorker>;
  /**
   * What happens to jobs from now on, in whatever process; each fact once. A terminal event comes after the state it
   * speaks of can be read. A listener that throws harms nobody.
   */
  subscribe(listener: (event: JobEvent) => void): () => void;
  /** Closes its workers, and stops hearing. Jobs stay. */
  close(): Promise<void>;
}

export interface JobQuery {
  states?: readonly JobState[];
  toolName?: string;
  session?: string;
  /** 100 where absent. */
  limit?: number;
  /** Older than this one. */
  before?: string;
}

export interface WorkOptions {
  /** Shown with the jobs that it takes; the process where absent. */
  name?: string;
  /** Which tools this worker has, under their canonical names: it takes no other jobs. Asked each time. */
  tools(): readonly string[];
  concurrency: number;
  /** Makes the call. Never rejects. */
  run(job: Job, context: JobContext): Promise<JobOutcome>;
}

export interface JobContext {
  /** Aborted with `cancelledJob` where somebody cancels, and with `closingWorker` when the time of a closing worker is up. */
  signal: AbortSignal;
  update: (update: Update) => void;
}

/** What the worker says of one try. Who decides is the one who ran it, so that all queues decide alike. */
export interface JobOutcome {
  result: ToolResult;
  /** Not the end: it is queued again, to be taken in so many milliseconds. Where it does not count, `attempt` goes back by one. */
  again?: { inMs: number; counts: boolean };
}

export interface JobWorker {
  readonly running: number;
  /** Takes no more; gives what runs this much time, then aborts it and waits for what it says. */
  close(graceMs?: number): Promise<void>;
}

export type JobEvent =
  /** `queued` also where it is queued again. */
  | { type: "queued" | "started"; job: Job }
  | { type: "updated"; jobId: string; callId: string; update: Update }
  | { type: "ended"; job: Job };

/** Those who hear what happens to jobs. One that throws harms nobody. */
export class JobListeners {
  readonly #listeners = new Set<(event: JobEvent) => void>();

  get size(): number {
    return this.#listeners.size;
  }

  add(listener: (event: JobEvent) => void): () => void {
    // Wrapped, so that one who listens twice hears twice and may leave once.
    const own = (event: JobEvent): void => listener(event);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  notify(event: JobEvent): void {
    for (const listener of this.#listeners) {
      try {
        const returned: unknown = listener(event);
        if (returned instanceof Promise) returned.catch(() => undefined);
      } catch {
        // The listener's trouble, not the job's.
      }
    }
  }
}
