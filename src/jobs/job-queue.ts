import type { Update } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import type { Job, JobLogLine, JobRequest, JobState } from "./job.ts";

/**
 * Jobs of all processes that share one store. It delivers every job at least once; that a call with effects is not made
 * twice is the business of the journal in the gate. Every implementation holds `job-queue.suite.ts`.
 */
export interface JobQueue {
  /** Durable when it resolves. The job that has this key already, where there is one. */
  submit(request: JobRequest): Promise<Job>;
  get(id: string): Promise<Job | undefined>;
  /** Newest first. */
  list(query?: JobQuery): Promise<Job[]>;
  counts(): Promise<Record<JobState, number>>;
  /** Oldest first; the oldest lines are dropped where there are too many. */
  log(id: string, options?: { after?: number }): Promise<JobLogLine[]>;
  /** A queued one ends now, a running one when its worker has heard of it. Of one that has ended nothing changes. */
  cancel(id: string, reason?: string): Promise<Job>;
  /** An ended one is queued again, as a new first attempt. */
  retry(id: string): Promise<Job>;
  /** Cancels everything that has not begun; how many. */
  clear(reason?: string): Promise<number>;
  /** Takes jobs of these tools until closed. */
  work(options: WorkOptions): Promise<JobWorker>;
  /** What happens to jobs, in whatever process. A terminal event comes after the state it speaks of can be read. */
  subscribe(listener: (event: JobEvent) => void): () => void;
  /** Stops hearing and taking. Jobs stay. */
  close(): Promise<void>;
}

export interface JobQuery {
  states?: readonly JobState[];
  toolName?: string;
  session?: string;
  limit?: number;
  /** Older than this one. */
  before?: string;
}

export interface WorkOptions {
  /** Shown with the jobs that it takes. */
  name?: string;
  /** Which tools this worker has, under their canonical names: it takes no other jobs. */
  tools(): readonly string[];
  concurrency: number;
  /** Makes the call. Never rejects. */
  run(job: Job, context: { signal: AbortSignal; update: (update: Update) => void }): Promise<ToolResult>;
}

export interface JobWorker {
  readonly running: number;
  /** Takes no more; gives what runs this much time, and hands the rest back. */
  close(graceMs?: number): Promise<void>;
}

export type JobEvent =
  | { type: "queued" | "started"; job: Job }
  | { type: "updated"; jobId: string; callId: string; update: Update }
  | { type: "ended"; job: Job };
