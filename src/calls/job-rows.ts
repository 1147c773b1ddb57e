import type { Update } from "../core/events.ts";
import type { MaybePromise } from "../core/stage.ts";
import { JOB_STATES, type JobLogLine, type JobQuery, type JobState, toJob } from "./job.ts";
import type { StoredCall } from "./stored-call.ts";

/** Something happened to a job. `before`: the row before the change, if this process made it. */
export type JobNews =
  | { type: "changed"; row: StoredCall; before?: StoredCall; isOwn: boolean }
  /** Other processes have queued jobs. Instead of their rows, if nobody wants those. */
  | { type: "due" }
  | { type: "updated"; jobId: string; callId: string; update: Update };

export interface WatchNeeds {
  /** Default: true. */
  wantsAll?(): boolean;
  /** Default: false. */
  isBusy?(): boolean;
}

/** Jobs of these tools that nobody has taken and that were due at `at`: higher priority first, then older ones. */
export interface DueJobs {
  tools: readonly string[];
  at: number;
  max: number;
}

/** The rows of background calls, and the log lines of jobs. A part of every store of calls. */
export interface JobRows {
  /** By the id of the job. */
  get(jobId: string): MaybePromise<StoredCall | undefined>;
  /** The same before a change of the row, perhaps as this process last knew it: a change starts from the newest row. */
  getToChange(jobId: string): MaybePromise<StoredCall | undefined>;
  /** Newest first. */
  list(query: JobQuery, now: number): MaybePromise<StoredCall[]>;
  counts(now: number): MaybePromise<Record<JobState, number>>;
  /** The processes that have jobs. This one only if it has jobs that it has not started. */
  takers(): MaybePromise<string[]>;
  /** Jobs that this process has, and has not ended. */
  takenBy(processId: string): MaybePromise<StoredCall[]>;
  /** Oldest first. */
  log(jobId: string, after: number): MaybePromise<JobLogLine[]>;
  /** Written soon. The oldest lines of a job are deleted if there are too many. */
  addLine(jobId: string, line: Omit<JobLogLine, "number">): void;
  /**
   * Reports changes by this process at once, and those by others when the next look finds them. Each once. While `wantsAll` is
   * false: of others only what concerns a worker, which is jobs that wait and changes of its own jobs. While `isBusy` is true it
   * could take none, and looks seldom.
   */
  watch(listener: (news: JobNews) => void, needs?: WatchNeeds): () => void;
  /** Deletes what is known about ended jobs that are too old or too many. Their rows stay as long as others. */
  prune(): MaybePromise<void>;
}

const MAX_LINES = 1000;

/** Jobs of this process only. */
export class MemoryJobRows implements JobRows {
  /** In the order of submission. */
  readonly #rows = new Map<string, StoredCall>();
  readonly #lines = new Map<string, JobLogLine[]>();
  readonly #listeners = new Set<(news: JobNews) => void>();
  #lastSeq = 0;
  #lastLine = 0;

  nextSeq(): number {
    return ++this.#lastSeq;
  }

  /** Call after each change of a row that is or was a job. */
  changed(row: StoredCall, before: StoredCall | undefined): void {
    if (row.job) this.#rows.set(row.job.id, row);
    for (const listener of this.#listeners)
      listener({ type: "changed", row: structuredClone(row), before, isOwn: true });
  }

  forget({ id, job }: StoredCall): void {
    if (!job || this.#rows.get(job.id)?.id !== id) return;
    this.#rows.delete(job.id);
    this.#lines.delete(job.id);
  }

  get(jobId: string): StoredCall | undefined {
    return structuredClone(this.#rows.get(jobId));
  }

  getToChange(jobId: string): StoredCall | undefined {
    return this.get(jobId);
  }

  list({ states = JOB_STATES, toolName, session, limit = 100, before }: JobQuery, now: number): StoredCall[] {
    const newest = [...this.#rows.values()].sort((a, b) => seqOf(b) - seqOf(a));
    const last = before === undefined ? undefined : this.#rows.get(before)?.job?.seq;
    const found = newest.filter((row) => {
      const job = toJob(row, now);
      if (!job || !states.includes(job.state) || (last !== undefined && seqOf(row) >= last)) return false;
      return (
        (toolName === undefined || row.toolName === toolName) &&
        (session === undefined || row.caller.session === session)
      );
    });
    return structuredClone(found.slice(0, limit));
  }

  counts(now: number): Record<JobState, number> {
    const counts = noJobs();
    for (const row of this.#rows.values()) {
      const job = toJob(row, now);
      if (job) counts[job.state]++;
    }
    return counts;
  }

  due({ tools, at, max }: DueJobs): StoredCall[] {
    const due = [...this.#rows.values()].filter((row) => {
      return row.state === "approved" && row.holder === undefined && runAtOf(row) <= at && tools.includes(row.toolName);
    });
    return due.sort((a, b) => priorityOf(b) - priorityOf(a) || seqOf(a) - seqOf(b)).slice(0, max);
  }

  takers(): string[] {
    return [];
  }

  takenBy(): StoredCall[] {
    return [];
  }

  log(jobId: string, after: number): JobLogLine[] {
    return structuredClone((this.#lines.get(jobId) ?? []).filter(({ number }) => number > after));
  }

  addLine(jobId: string, line: Omit<JobLogLine, "number">): void {
    const lines = this.#lines.get(jobId) ?? [];
    this.#lines.set(jobId, lines);
    lines.push({ number: ++this.#lastLine, ...structuredClone(line) });
    if (lines.length > MAX_LINES) lines.shift();
    const { job, request } = this.#rows.get(jobId) ?? {};
    if (!line.update || !job || !request) return;
    if (line.update.progress) job.progress = structuredClone(line.update.progress);
    const news = { type: "updated", jobId, callId: request.callId, update: line.update } as const;
    for (const listener of this.#listeners) listener(news);
  }

  watch(listener: (news: JobNews) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  prune(): void {
    // Bounded by the capacity of the store.
  }
}

export function noJobs(): Record<JobState, number> {
  return { delayed: 0, queued: 0, running: 0, completed: 0, failed: 0, denied: 0, cancelled: 0, unknown: 0 };
}

function seqOf({ job }: StoredCall): number {
  return job?.seq ?? 0;
}

function priorityOf({ job }: StoredCall): number {
  return job?.priority ?? 0;
}

function runAtOf({ job }: StoredCall): number {
  return job?.runAt ?? Infinity;
}
