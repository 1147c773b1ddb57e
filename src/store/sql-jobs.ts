import { hash, randomUUID } from "node:crypto";
import type { Clock, Timer } from "../core/clock.ts";
import type { Update } from "../core/event.ts";
import { notEnded, unknownJob } from "../jobs/job-failure.ts";
import { JobListeners } from "../jobs/job-listeners.ts";
import {
  hasEnded,
  JOB_STATES,
  type Job,
  type JobLogLine,
  type JobRequest,
  type JobState,
  nextRound,
} from "../jobs/job.ts";
import type { JobEvent, JobOutcome, JobQuery, JobQueue, JobWorker, WorkOptions } from "../jobs/job-queue.ts";
import { type JobSource, LocalWorker } from "../jobs/local-worker.ts";
import { after } from "./after.ts";
import { failPoint } from "./fail-point.ts";
import { JobLines } from "./job-lines.ts";
import { JOB_COLUMNS, JOB_MIGRATIONS, type JobRow, nameOf, toJob } from "./job-row.ts";
import { JobWatch } from "./job-watch.ts";
import { beginJobWrites, JobWrites, placeholdersFor, readJobRow } from "./job-writes.ts";
import type { SqlValue } from "./sql-database.ts";
import type { StoreContext, StoreModule } from "./store-part.ts";
import { each, WriteGroup } from "./write-group.ts";

export const jobsModule: StoreModule<SqlJobs> = {
  migrations: JOB_MIGRATIONS,
  open: (context) => new SqlJobs(context),
  close: (jobs) => jobs.close(),
};

export interface JobLimits {
  maxResultBytes: number;
  /** How long ended jobs can be asked for, and how many. */
  retentionMs: number;
  maxEnded: number;
}

const DEFAULT_LIMITS: JobLimits = {
  maxResultBytes: 1024 * 1024,
  retentionMs: 7 * 24 * 60 * 60 * 1000,
  maxEnded: 10_000,
};
const ENDS_BETWEEN_PRUNINGS = 500;

/**
 * Jobs in the store, for the processes of one machine that share it. Who takes a job owns it for as long as its process
 * lives: no lease has to be renewed, and none runs out because a clock was set.
 */
export class SqlJobs implements JobQueue, JobSource {
  readonly clock: Clock;
  readonly #context: StoreContext;
  readonly #limits: JobLimits;
  readonly #group: WriteGroup;
  readonly #lines: JobLines;
  readonly #writes: JobWrites;
  readonly #watch: JobWatch;
  readonly #listeners = new JobListeners();
  readonly #workers = new Set<LocalWorker>();
  readonly #timers = new Map<string, Timer>();
  #endsUntilPruning = 1;
  #closing: Promise<void> | undefined;

  constructor(context: StoreContext, limits: Partial<JobLimits> = {}) {
    const { clock, database, owners } = context;
    this.clock = clock;
    this.#context = context;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    const writer = randomUUID();
    const group = new WriteGroup(database, beginJobWrites);
    const { maxResultBytes } = this.#limits;
    this.#group = group;
    this.#lines = new JobLines({ clock, group, writer });
    this.#writes = new JobWrites({ clock, writer, owner: owners.id, lines: this.#lines, maxResultBytes });
    this.#watch = new JobWatch(context, {
      ...{ group, writes: this.#writes, writer },
      notify: (event) => this.#listeners.notify(event),
      wake: () => this.#wake(),
      cancel: (id, reason) => this.#cancelHere(id, reason),
      isWorking: () => this.#workers.size > 0,
    });
  }

  async submit({ call, key, priority, delayMs, attempts }: JobRequest): Promise<Job> {
    const now = this.clock.now();
    const job: Job = {
      id: randomUUID(),
      call,
      ...(key === undefined ? {} : { key }),
      state: delayMs > 0 ? "delayed" : "queued",
      ...{ priority, createdAt: now, runAt: now + delayMs, attempt: 0, attempts, lost: 0, round: 1 },
    };
    const keyHash = key === undefined ? null : hash("sha256", key);
    const known = await this.#group.add((tx) => this.#writes.insert(tx, job, keyHash));
    if (known) return known;
    failPoint("job submitted");
    this.#queued(job);
    return job;
  }

  async get(id: string): Promise<Job | undefined> {
    const row = await readJobRow(this.#context.database, id);
    return row && toJob(row);
  }

  async list({ states, toolName, session, limit = 100, before }: JobQuery = {}): Promise<Job[]> {
    if (states?.length === 0) return [];
    const wanted: string[] = [];
    const values: SqlValue[] = [];
    const want = (sql: string, ...given: SqlValue[]): void => void (wanted.push(sql), values.push(...given));
    if (states) want(`state IN (${placeholdersFor(states)})`, ...states);
    if (toolName !== undefined) want("tool = ?", nameOf(toolName));
    if (session !== undefined) want("session = ?", nameOf(session));
    if (before !== undefined) want("seq < (SELECT seq FROM jobs WHERE id = ?)", before);
    const where = wanted.length > 0 ? `WHERE ${wanted.join(" AND ")}` : "";
    const sql = `SELECT ${JOB_COLUMNS} FROM jobs ${where} ORDER BY seq DESC LIMIT ?`;
    return (await this.#context.database.all<JobRow>(sql, [...values, limit])).map(toJob);
  }

  async counts(): Promise<Record<JobState, number>> {
    const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>;
    const sql = "SELECT state, count(*) AS count FROM jobs GROUP BY state";
    for (const { state, count } of await this.#context.database.all<{ state: JobState; count: number }>(sql)) {
      counts[state] = count;
    }
    return counts;
  }

  async log(id: string, { after: from = 0 } = {}): Promise<JobLogLine[]> {
    await this.#lines.flush();
    const rows = await this.#context.database.all<{ number: number; at: number; line: string }>(
      "SELECT number, at, line FROM jobs_log WHERE job = ? AND number > ? ORDER BY number",
      [id, from],
    );
    return rows.map(({ number, at, line }) => ({ number, at, ...(JSON.parse(line) as Partial<JobLogLine>) }));
  }

  async cancel(id: string, reason?: string): Promise<Job> {
    const found = await this.#group.add((tx) =>
      after(readJobRow(tx, id), (row) => {
        const job = row && toJob(row);
        if (!job || hasEnded(job)) return { job };
        if (job.state !== "running")
          return after(this.#writes.cancelWaiting(tx, job, reason), (end) => ({ job: end, end }));
        return after(tx.run("UPDATE jobs SET cancel = ? WHERE id = ?", [nameOf(reason), id]), () => ({ job }));
      }),
    );
    if (!found.job) throw unknownJob(id);
    if ("end" in found && found.end) this.#ended(found.end);
    else if (found.job.state === "running") this.#cancelHere(id, reason);
    return found.job;
  }

  async retry(id: string): Promise<Job> {
    const found = await this.#group.add((tx) =>
      after(readJobRow(tx, id), (row) => {
        const job = row && toJob(row);
        if (!job || !hasEnded(job)) return { job };
        return after(this.#writes.again(tx, nextRound(job, this.clock.now())), (again) => ({ job, again }));
      }),
    );
    if (!found.job) throw unknownJob(id);
    if (!("again" in found)) throw notEnded(found.job);
    this.#queued(found.again);
    return found.again;
  }

  async clear(reason?: string): Promise<number> {
    const cleared: Job[] = [];
    await this.#group.add((tx) =>
      after(tx.all<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE state IN ('queued', 'delayed')`), (rows) =>
        each(rows, (row) =>
          after(this.#writes.cancelWaiting(tx, toJob(row), reason), (job) => job && cleared.push(job)),
        ),
      ),
    );
    for (const job of cleared) this.#ended(job);
    return cleared.length;
  }

  async work(options: WorkOptions): Promise<JobWorker> {
    const local = new LocalWorker(this, options);
    this.#workers.add(local);
    this.#watch.start();
    this.#wake();
    return {
      get running() {
        return local.running;
      },
      close: async (graceMs) => {
        await local.close(graceMs);
        this.#workers.delete(local);
      },
    };
  }

  subscribe(listener: (event: JobEvent) => void): () => void {
    this.#watch.start();
    return this.#listeners.add(listener);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async take(tools: readonly string[], max: () => number, worker?: string): Promise<Job[]> {
    const jobs = await this.#group.add((tx) => this.#writes.take(tx, tools, max(), worker));
    if (jobs.length > 0) failPoint("job claimed");
    for (const job of jobs) this.#listeners.notify({ type: "started", job });
    return jobs;
  }

  updated(job: Job, update: Update): void {
    this.#lines.add(job, update);
    this.#listeners.notify({ type: "updated", jobId: job.id, callId: job.call.callId, update });
  }

  async settled(job: Job, outcome: JobOutcome): Promise<void> {
    failPoint("job before ack");
    const settled = await this.#group.add((tx) => this.#writes.settle(tx, job, outcome));
    failPoint("job acknowledged");
    if (!settled) return;
    if (hasEnded(settled)) this.#ended(settled);
    else this.#queued(settled);
  }

  /** Drops what has ended long ago, or too often. */
  async prune(): Promise<void> {
    const { retentionMs, maxEnded } = this.#limits;
    const from = "(SELECT ended_at FROM jobs WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 1 OFFSET ?)";
    await this.#group.add((tx) =>
      after(tx.run("DELETE FROM jobs WHERE ended_at < ?", [this.clock.now() - retentionMs]), () =>
        tx.run(`DELETE FROM jobs WHERE ended_at < ${from}`, [maxEnded - 1]),
      ),
    );
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.close()));
    await this.#watch.close();
    for (const timer of this.#timers.values()) timer.cancel();
    await this.#lines.flush().catch(() => undefined);
    await this.#group.settle();
  }

  #queued(job: Job): void {
    this.#listeners.notify({ type: "queued", job });
    this.#watch.pollSoon();
    if (job.state === "queued") return this.#wake();
    // Measured here, so that it comes in its time also where the clock is set meanwhile.
    const promote = (): void => {
      this.#timers.delete(job.id);
      const promoted = this.#group.add((tx) => this.#writes.promote(tx, job.id));
      promoted.then(() => this.#wake()).catch(() => undefined);
    };
    const timer = this.clock.after(job.runAt - this.clock.now(), promote);
    timer.setRef(false);
    this.#timers.set(job.id, timer);
  }

  #ended(job: Job): void {
    this.#timers.get(job.id)?.cancel();
    this.#timers.delete(job.id);
    this.#listeners.notify({ type: "ended", job });
    if (--this.#endsUntilPruning > 0) return;
    this.#endsUntilPruning = ENDS_BETWEEN_PRUNINGS;
    void this.prune().catch(() => undefined);
  }

  #cancelHere(id: string, reason: string | undefined): void {
    for (const worker of this.#workers) worker.cancel(id, reason);
  }

  #wake(): void {
    for (const worker of this.#workers) worker.wake();
  }
}
