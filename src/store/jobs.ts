import { withDefaults } from "../core/with-defaults.ts";
import { hash, randomUUID } from "node:crypto";
import {
  type JobEvent,
  JobListeners,
  type JobOutcome,
  type JobQuery,
  type JobQueue,
  type JobWorker,
  type WorkOptions,
} from "../calls/job-queue.ts";
import {
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
import type { Clock, Timer } from "../core/clock.ts";
import type { Update } from "../core/events.ts";
import { type JobSource, LocalWorker } from "../jobs/job-worker.ts";
import type { SqlTransaction, SqlValue } from "./database.ts";
import { failPoint } from "./fail-point.ts";
import {
  beginJobWrites,
  JOB_MIGRATIONS,
  jobs,
  jobsHead,
  jobsLog,
  JobWrites,
  readJob,
  readJobs,
  toJob,
  WriteGroup,
} from "./job-rows.ts";
import { placeholders, type StoreContext, type StoreModule } from "./table.ts";

interface JobWatcher {
  group: WriteGroup;
  writes: JobWrites;
  writer: string;
  notify(event: JobEvent): void;
  /** Called if there may be jobs to take. */
  wake(): void;
  cancel(id: string, reason: string | undefined): void;
  isWorking(): boolean;
}

const MIN_POLL_MS = 10;
const MAX_POLL_MS = 100;
const LONG_ROUND_MS = 1000;

/**
 * Polls for changes by other processes: one row, up to 100 times a second after a change and 10 times a second otherwise.
 * Also finds delayed jobs that are due, and jobs whose workers are gone.
 */
class JobWatch {
  readonly #context: StoreContext;
  readonly #watcher: JobWatcher;
  #seen: { change: number; line: number } | undefined;
  #timer: Timer | undefined;
  #pauseMs = MIN_POLL_MS;
  #longRoundAt = Number.NEGATIVE_INFINITY;
  #round: Promise<void> | undefined;
  #isClosed = false;

  constructor(context: StoreContext, watcher: JobWatcher) {
    this.#context = context;
    this.#watcher = watcher;
  }

  /** Reports later changes only. */
  start(): void {
    if (this.#isClosed || this.#timer || this.#round) return;
    this.#look();
  }

  /** Call after a change here: changes elsewhere are likely to follow. */
  pollSoon(): void {
    if (this.#pauseMs === MIN_POLL_MS) return;
    this.#pauseMs = MIN_POLL_MS;
    if (!this.#timer) return;
    this.#timer.cancel();
    this.#scheduleNext();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#round;
  }

  #scheduleNext(): void {
    if (this.#isClosed) return;
    this.#timer = this.#context.clock.after(this.#pauseMs, () => this.#look());
    this.#timer.setRef(false);
  }

  #look(): void {
    this.#timer = undefined;
    const next = (): void => {
      this.#round = undefined;
      this.#scheduleNext();
    };
    // If the store cannot be read now, the next poll tries again.
    this.#round = this.#pollOnce().then(next, next);
  }

  async #pollOnce(): Promise<void> {
    const { database, clock } = this.#context;
    const [head] = await jobsHead.select(database, ["change", "line"], "WHERE id = 1");
    if (!head) return;
    const seen = (this.#seen ??= head);
    this.#pauseMs = head.change === seen.change ? Math.min(this.#pauseMs * 2, MAX_POLL_MS) : MIN_POLL_MS;
    if (head.line > seen.line) await this.#emitLines(seen.line, head.line);
    if (head.change > seen.change) await this.#notifyChanges(seen.change, head.change);
    this.#seen = head;
    if (!this.#watcher.isWorking()) return;
    await this.#promote();
    await this.#cancel();
    const now = clock.monotonic();
    if (now - this.#longRoundAt < LONG_ROUND_MS) return;
    this.#longRoundAt = now;
    await this.#recover();
    // Also for tools that were registered since.
    this.#watcher.wake();
  }

  async #notifyChanges(from: number, to: number): Promise<void> {
    const { writer, notify, wake } = this.#watcher;
    const rows = await readJobs(
      this.#context.database,
      "WHERE change > ? AND change <= ? AND changed_by <> ? ORDER BY change, seq",
      [from, to, writer],
    );
    for (const job of rows.map(toJob)) {
      if (hasEnded(job)) notify({ type: "ended", job });
      else notify({ type: job.state === "running" ? "started" : "queued", job });
    }
    if (rows.some(({ state }) => state === "queued")) wake();
  }

  async #emitLines(from: number, to: number): Promise<void> {
    const { writer, notify } = this.#watcher;
    const rows = await this.#context.database.all(
      "SELECT job, line, fixed FROM jobs_log JOIN jobs ON jobs.id = jobs_log.job " +
        "WHERE number > ? AND number <= ? AND written_by <> ? ORDER BY number",
      [from, to, writer],
    );
    const calls = jobs.read(["fixed"], rows);
    for (const [at, { job, line }] of jobsLog.read(["job", "line"], rows).entries()) {
      const callId = calls[at]?.fixed.call.callId;
      if (line.update && callId !== undefined) notify({ type: "updated", jobId: job, callId, update: line.update });
    }
  }

  async #promote(): Promise<void> {
    const [due] = await this.#context.database.all<{ run_at: number | null }>(
      "SELECT min(run_at) AS run_at FROM jobs WHERE state = 'delayed'",
    );
    if (!due || due.run_at === null || due.run_at > this.#context.clock.now()) return;
    const { changes } = await this.#watcher.group.add((tx) => this.#watcher.writes.promote(tx));
    if (changes > 0) this.#watcher.wake();
  }

  async #cancel(): Promise<void> {
    const wanted = "WHERE state = 'running' AND owner = ? AND cancel IS NOT NULL";
    const rows = await jobs.select(this.#context.database, ["id", "cancel"], wanted, [this.#context.owners.id]);
    for (const { id, cancel } of rows) this.#watcher.cancel(id, cancel ?? undefined);
  }

  async #recover(): Promise<void> {
    const { database, owners } = this.#context;
    const { group, writes, notify } = this.#watcher;
    const holders = await database.all<{ owner: string }>("SELECT DISTINCT owner FROM jobs WHERE state = 'running'");
    for (const { owner } of holders) {
      if (await owners.isAlive(owner)) continue;
      const requeued = await group.add(async (tx) => {
        const lost: Job[] = [];
        for (const row of await readJobs(tx, "WHERE state = 'running' AND owner = ?", [owner])) {
          lost.push(await writes.requeueLost(tx, row));
        }
        return lost;
      });
      for (const job of requeued) notify({ type: "queued", job });
    }
  }
}

const MAX_LINES = 1000;
const MAX_LINE_BYTES = 64 * 1024;
const WRITTEN_AFTER_MS = 20;
const LINES_BETWEEN_TRIMMINGS = 250;

type Line = Omit<JobLogLine, "number">;

/** Updates of running jobs, collected for some milliseconds: a job may send a thousand a second. */
export class JobLines {
  readonly #clock: Clock;
  readonly #group: WriteGroup;
  readonly #writer: string;
  readonly #waiting = new Map<string, { lines: Line[]; progress: Update["progress"] }>();
  readonly #untilTrimming = new Map<string, number>();
  #timer: Timer | undefined;

  constructor({ clock, group, writer }: { clock: Clock; group: WriteGroup; writer: string }) {
    this.#clock = clock;
    this.#group = group;
    this.#writer = writer;
  }

  add({ id }: Job, update: Update): void {
    const waiting = this.#waiting.get(id) ?? { lines: [], progress: undefined };
    this.#waiting.set(id, waiting);
    waiting.lines.push({ at: this.#clock.now(), update });
    if (update.progress) waiting.progress = update.progress;
    if (waiting.lines.length > MAX_LINES) waiting.lines.shift();
    if (this.#timer) return;
    this.#timer = this.#clock.after(WRITTEN_AFTER_MS, () => void this.flush().catch(() => undefined));
    this.#timer.setRef(false);
  }

  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#waiting.size === 0) return;
    await this.#group.add(async (tx) => {
      for (const id of [...this.#waiting.keys()]) await this.write(tx, id);
    });
  }

  /** Writes the waiting lines of one job. If the transaction fails they are lost, which does not harm the job. */
  async write(tx: SqlTransaction, id: string): Promise<void> {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    const { lines, progress } = waiting;
    if (progress) {
      await tx.run("UPDATE jobs SET progress = ? WHERE id = ?", [jobs.toSql("progress", progress), id]);
    }
    await this.append(tx, id, lines);
  }

  async append(tx: SqlTransaction, id: string, lines: readonly Line[]): Promise<void> {
    const [head] = await tx.all<{ line: number }>("UPDATE jobs_head SET line = line + ? WHERE id = 1 RETURNING line", [
      lines.length,
    ]);
    let number = (head?.line ?? 0) - lines.length;
    for (const { at, ...line } of lines) {
      await jobsLog.insert(tx, { number: ++number, job: id, at, writtenBy: this.#writer, line: fit(line) });
    }
    await this.#trim(tx, id, lines.length);
  }

  forget(id: string): void {
    this.#untilTrimming.delete(id);
  }

  async #trim(tx: SqlTransaction, id: string, added: number): Promise<void> {
    const left = (this.#untilTrimming.get(id) ?? LINES_BETWEEN_TRIMMINGS) - added;
    this.#untilTrimming.set(id, left > 0 ? left : LINES_BETWEEN_TRIMMINGS);
    if (left > 0) return;
    await tx.run(
      "DELETE FROM jobs_log WHERE job = ? AND number <= " +
        "(SELECT number FROM jobs_log WHERE job = ? ORDER BY number DESC LIMIT 1 OFFSET ?)",
      [id, id, MAX_LINES],
    );
  }
}

function fit(line: Omit<Line, "at">): Omit<Line, "at"> {
  const { length } = JSON.stringify(line);
  if (length <= MAX_LINE_BYTES) return line;
  return { note: `An update of ${length} characters was too long to be stored.` };
}

export const jobsModule: StoreModule<SqlJobs> = {
  migrations: JOB_MIGRATIONS,
  open: (context) => new SqlJobs(context),
  close: (queue) => queue.close(),
};

export interface JobLimits {
  maxResultBytes: number;
  /** How long, and how many, ended jobs are kept. */
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
 * Jobs in the store, for processes of one machine. A process owns the jobs that it takes for as long as it lives: there is no
 * lease that must be renewed or that expires if the clock is set.
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
    this.#limits = withDefaults(DEFAULT_LIMITS, limits);
    const writer = randomUUID();
    const group = new WriteGroup(database, beginJobWrites);
    const { maxResultBytes } = this.#limits;
    this.#group = group;
    this.#lines = new JobLines({ clock, group, writer });
    this.#writes = new JobWrites({ clock, writer, owner: owners.id, lines: this.#lines, maxResultBytes });
    this.#watch = new JobWatch(context, {
      group,
      writes: this.#writes,
      writer,
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
    const keyHash = key === undefined ? null : hash("sha256", key);
    const known = await this.#group.add((tx) => this.#writes.insert(tx, job, keyHash));
    if (known) return known;
    failPoint("job submitted");
    this.#queued(job);
    return job;
  }

  async get(id: string): Promise<Job | undefined> {
    const row = await readJob(this.#context.database, id);
    return row && toJob(row);
  }

  async list({ states, toolName, session, limit = 100, before }: JobQuery = {}): Promise<Job[]> {
    if (states?.length === 0) return [];
    const wanted: string[] = [];
    const values: SqlValue[] = [];
    const want = (sql: string, ...given: SqlValue[]): void => void (wanted.push(sql), values.push(...given));
    if (states) want(`state IN (${placeholders(states)})`, ...states);
    if (toolName !== undefined) want("tool = ?", jobs.toSql("tool", toolName));
    if (session !== undefined) want("session = ?", jobs.toSql("session", session));
    if (before !== undefined) want("seq < (SELECT seq FROM jobs WHERE id = ?)", before);
    const where = wanted.length > 0 ? `WHERE ${wanted.join(" AND ")}` : "";
    const rows = await readJobs(this.#context.database, `${where} ORDER BY seq DESC LIMIT ?`, [...values, limit]);
    return rows.map(toJob);
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
    const rows = await jobsLog.select(
      this.#context.database,
      ["number", "at", "line"],
      "WHERE job = ? AND number > ? ORDER BY number",
      [id, from],
    );
    return rows.map(({ number, at, line }) => ({ number, at, ...line }));
  }

  async cancel(id: string, reason?: string): Promise<Job> {
    const { job, ended } = await this.#group.add(async (tx): Promise<{ job?: Job; ended?: Job }> => {
      const row = await readJob(tx, id);
      const found = row && toJob(row);
      if (!found || hasEnded(found)) return { job: found };
      if (found.state !== "running") {
        const cancelled = await this.#writes.cancelWaiting(tx, found, reason);
        return { job: cancelled, ended: cancelled };
      }
      await tx.run("UPDATE jobs SET cancel = ? WHERE id = ?", [jobs.toSql("cancel", reason ?? null), id]);
      return { job: found };
    });
    if (!job) throw unknownJob(id);
    if (ended) this.#ended(ended);
    else if (job.state === "running") this.#cancelHere(id, reason);
    return job;
  }

  async retry(id: string): Promise<Job> {
    const { job, retried } = await this.#group.add(async (tx): Promise<{ job?: Job; retried?: Job }> => {
      const row = await readJob(tx, id);
      const found = row && toJob(row);
      if (!found || !hasEnded(found)) return { job: found };
      return { job: found, retried: await this.#writes.retry(tx, nextRound(found, this.clock.now())) };
    });
    if (!job) throw unknownJob(id);
    if (!retried) throw notEnded(job);
    this.#queued(retried);
    return retried;
  }

  async clear(reason?: string): Promise<number> {
    const cleared = await this.#group.add(async (tx) => {
      const cancelled: Job[] = [];
      for (const row of await readJobs(tx, "WHERE state IN ('queued', 'delayed')")) {
        const job = await this.#writes.cancelWaiting(tx, toJob(row), reason);
        if (job) cancelled.push(job);
      }
      return cancelled;
    });
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
    const taken = await this.#group.add((tx) => this.#writes.take(tx, tools, max(), worker));
    if (taken.length > 0) failPoint("job claimed");
    for (const job of taken) this.#listeners.notify({ type: "started", job });
    return taken;
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

  /** Deletes ended jobs that are too old or too many. */
  async prune(): Promise<void> {
    const { retentionMs, maxEnded } = this.#limits;
    const from = "(SELECT ended_at FROM jobs WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 1 OFFSET ?)";
    await this.#group.add(async (tx) => {
      await tx.run("DELETE FROM jobs WHERE ended_at < ?", [this.clock.now() - retentionMs]);
      await tx.run(`DELETE FROM jobs WHERE ended_at < ${from}`, [maxEnded - 1]);
    });
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
    // A timer of this process, so it is on time even if the clock is set.
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
