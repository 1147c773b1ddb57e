import type { JobOutcome } from "../calls/job-queue.ts";
import { cancelledJob, endStateOf, failedJob, type Job, type JobLogLine, type JobState } from "../calls/job.ts";
import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import { fitResult } from "./fit-result.ts";
import type { SqlDatabase, SqlRunner, SqlTransaction, SqlValue } from "./database.ts";
import type { JobLines } from "./jobs.ts";
import type { Migrations } from "./migrations.ts";
import { integer, json, optional, placeholders, rowNumber, type RowOf, table, text } from "./table.ts";

/** What does not change during a round. As JSON: names and inputs may contain any character. */
type FixedJobData = Pick<Job, "call" | "key" | "createdAt" | "attempts" | "round">;

export const jobs = table("jobs", {
  seq: rowNumber(),
  id: text("NOT NULL UNIQUE"),
  keyHash: optional(text()),
  state: text<JobState>(),
  tool: json<string>(),
  session: json<string | null>(),
  priority: integer(),
  runAt: integer(),
  owner: optional(text()),
  worker: optional(json<string>()),
  attempt: integer(),
  lost: integer(),
  startedAt: optional(integer()),
  endedAt: optional(integer()),
  /** The reason for which a running job should stop; null if none was given. */
  cancel: optional(json<string | null>()),
  change: integer(),
  changedBy: text(),
  fixed: json<FixedJobData>(),
  progress: optional(json<NonNullable<Job["progress"]>>()),
  result: optional(json<ToolResult>()),
});
export const jobsLog = table("jobs_log", {
  number: rowNumber(),
  job: text("NOT NULL REFERENCES jobs (id) ON DELETE CASCADE"),
  at: integer(),
  writtenBy: text(),
  line: json<Omit<JobLogLine, "number" | "at">>(),
});
/** One row: the last numbers given. Numbers of deleted rows must not be given again. */
export const jobsHead = table("jobs_head", { id: rowNumber(), change: integer(), line: integer() });

export const JOB_MIGRATIONS: Migrations = {
  name: "jobs",
  versions: [
    [
      jobs.create,
      // A key has one open job, whichever process submits it.
      "CREATE UNIQUE INDEX jobs_key ON jobs (key_hash) WHERE key_hash IS NOT NULL AND ended_at IS NULL",
      "CREATE INDEX jobs_queued ON jobs (priority DESC, seq) WHERE state = 'queued'",
      "CREATE INDEX jobs_delayed ON jobs (run_at) WHERE state = 'delayed'",
      "CREATE INDEX jobs_running ON jobs (owner) WHERE state = 'running'",
      "CREATE INDEX jobs_change ON jobs (change)",
      jobsLog.create,
      "CREATE INDEX jobs_log_of ON jobs_log (job, number)",
      jobsHead.create,
      "INSERT INTO jobs_head (id, change, line) VALUES (1, 0, 0)",
    ],
  ],
};

const JOB_KEYS = jobs.keys.filter((key) => key !== "keyHash" && key !== "tool" && key !== "session");

type JobRow = Pick<RowOf<typeof jobs>, (typeof JOB_KEYS)[number]>;

export async function readJobs(runner: SqlRunner, clause: string, params: readonly SqlValue[] = []): Promise<JobRow[]> {
  return jobs.select(runner, JOB_KEYS, clause, params);
}

export async function readJob(runner: SqlRunner, id: string): Promise<JobRow | undefined> {
  return (await readJobs(runner, "WHERE id = ?", [id]))[0];
}

export function toJob({ id, state, priority, runAt, startedAt, endedAt, attempt, lost, ...row }: JobRow): Job {
  const { worker, progress, result, fixed } = row;
  return { ...fixed, id, state, priority, runAt, startedAt, endedAt, attempt, lost, worker, progress, result };
}

function fixedOf({ call, key, createdAt, attempts, round }: Job): SqlValue {
  return jobs.toSql("fixed", { call, key, createdAt, attempts, round });
}

export interface JobWriter {
  clock: Clock;
  /** Tells the writes of this queue from those of others. */
  writer: string;
  /** The id of the process, for as long as it lives. */
  owner: string;
  lines: JobLines;
  maxResultBytes: number;
}

const CHANGED = "change = (SELECT change FROM jobs_head WHERE id = 1), changed_by = ?";

/** Starts every transaction that changes jobs: other processes find new changes by their number. */
export async function beginJobWrites(tx: SqlTransaction): Promise<void> {
  await tx.lock("jobs");
  await tx.run("UPDATE jobs_head SET change = change + 1 WHERE id = 1");
}

/** Changes of jobs. Each runs in a transaction of the caller. */
export class JobWrites {
  readonly #by: JobWriter;

  constructor(by: JobWriter) {
    this.#by = by;
  }

  /** Returns the open job that has this key already, if there is one. */
  async insert(tx: SqlTransaction, job: Job, keyHash: string | null): Promise<Job | undefined> {
    const { id, state, call, priority, runAt } = job;
    const inserted = await tx.run(
      `INSERT INTO jobs (seq, id, key_hash, state, tool, session, priority, run_at, attempt, lost, change, changed_by, fixed)
       VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM jobs), ?, ?, ?, ?, ?, ?, ?, 0, 0,
               (SELECT change FROM jobs_head WHERE id = 1), ?, ?)
       ON CONFLICT DO NOTHING`,
      [
        id,
        keyHash,
        state,
        jobs.toSql("tool", call.toolName),
        jobs.toSql("session", call.caller.session ?? null),
        priority,
        runAt,
        this.#by.writer,
        fixedOf(job),
      ],
    );
    if (inserted.changes === 1 || keyHash === null) return undefined;
    const [row] = await readJobs(tx, "WHERE key_hash = ? AND ended_at IS NULL", [keyHash]);
    return row && toJob(row);
  }

  async take(tx: SqlTransaction, tools: readonly string[], max: number, worker: string | undefined): Promise<Job[]> {
    if (tools.length === 0) return [];
    const { owner, clock, writer } = this.#by;
    const rows = await tx.all(
      `UPDATE jobs SET state = 'running', owner = ?, worker = ?, attempt = attempt + 1, started_at = ?, ${CHANGED}
       WHERE seq IN (SELECT seq FROM jobs WHERE state = 'queued' AND tool IN (${placeholders(tools)})
                     ORDER BY priority DESC, seq LIMIT ?)
       RETURNING ${jobs.list(JOB_KEYS)}`,
      [owner, jobs.toSql("worker", worker), clock.now(), writer, ...tools.map((tool) => jobs.toSql("tool", tool)), max],
    );
    const taken = jobs.read(JOB_KEYS, rows);
    return taken.sort((a, b) => b.priority - a.priority || a.seq - b.seq).map(toJob);
  }

  /** Undefined if the job does not belong to this process any more. */
  async settle(tx: SqlTransaction, job: Job, { result, again }: JobOutcome): Promise<Job | undefined> {
    await this.#by.lines.write(tx, job.id);
    if (!again) return this.#end(tx, job, { result, onlyIfOwned: true });
    const row = await readJob(tx, job.id);
    if (row?.state !== "running" || row.owner !== this.#by.owner) return undefined;
    const known = toJob(row);
    // A cancelled job must not start again.
    if (row.cancel !== undefined) return this.cancelWaiting(tx, known, row.cancel ?? undefined);
    const attempt = again.counts ? known.attempt : known.attempt - 1;
    return this.#requeue(tx, { ...known, attempt }, { inMs: again.inMs, note: `Will be retried: ${result.display}` });
  }

  cancelWaiting(tx: SqlTransaction, job: Job, reason: string | undefined): Promise<Job | undefined> {
    return this.#end(tx, job, { result: failedJob(job, cancelledJob(job.id, reason), this.#by.clock.now()) });
  }

  requeueLost(tx: SqlTransaction, row: JobRow): Promise<Job> {
    const job = toJob(row);
    const note = `The worker ${job.worker ?? "that ran it"} ended without a result.`;
    return this.#requeue(tx, { ...job, attempt: job.attempt - 1, lost: job.lost + 1 }, { inMs: 0, note });
  }

  async retry(tx: SqlTransaction, job: Job): Promise<Job> {
    await tx.run(
      `UPDATE jobs SET state = 'queued', run_at = ?, worker = NULL, attempt = 0, lost = 0, started_at = NULL,
         ended_at = NULL, progress = NULL, result = NULL, fixed = ?, key_hash = NULL, ${CHANGED} WHERE id = ?`,
      [job.runAt, fixedOf(job), this.#by.writer, job.id],
    );
    await this.#note(tx, job.id, `Retry ${job.round - 1}.`);
    return job;
  }

  /** Queues delayed jobs that are due, or this one, due or not. */
  promote(tx: SqlTransaction, id?: string): MaybePromise<{ changes: number }> {
    const [which, value]: [string, SqlValue] =
      id === undefined ? ["run_at <= ?", this.#by.clock.now()] : ["id = ?", id];
    return tx.run(`UPDATE jobs SET state = 'queued' WHERE state = 'delayed' AND ${which}`, [value]);
  }

  async #end(
    tx: SqlTransaction,
    job: Job,
    { result, onlyIfOwned = false }: { result: ToolResult; onlyIfOwned?: boolean },
  ): Promise<Job | undefined> {
    const { writer, owner, clock, lines, maxResultBytes } = this.#by;
    const endedAt = clock.now();
    const ended: Job = { ...job, state: endStateOf(result), endedAt, result };
    lines.forget(job.id);
    const rows = await tx.all(
      `UPDATE jobs SET state = ?, ended_at = ?, result = ?, owner = NULL, cancel = NULL, ${CHANGED}
       WHERE id = ?${onlyIfOwned ? " AND state = 'running' AND owner = ?" : ""} RETURNING progress`,
      [ended.state, endedAt, fitResult(result, maxResultBytes), writer, job.id, ...(onlyIfOwned ? [owner] : [])],
    );
    const [row] = jobs.read(["progress"], rows);
    if (row?.progress) ended.progress = row.progress;
    return row && ended;
  }

  async #requeue(tx: SqlTransaction, job: Job, { inMs, note }: { inMs: number; note: string }): Promise<Job> {
    const queued: Job = { ...job, state: inMs > 0 ? "delayed" : "queued", runAt: this.#by.clock.now() + inMs };
    await tx.run(
      `UPDATE jobs SET state = ?, run_at = ?, attempt = ?, lost = ?, owner = NULL, ${CHANGED} WHERE id = ?`,
      [queued.state, queued.runAt, queued.attempt, queued.lost, this.#by.writer, job.id],
    );
    await this.#note(tx, job.id, note);
    return queued;
  }

  #note(tx: SqlTransaction, id: string, note: string): Promise<void> {
    return this.#by.lines.append(tx, id, [{ at: this.#by.clock.now(), note }]);
  }
}

/** One write of a group, and what settles the promise of its caller. */
interface GroupedWrite {
  /** Returns what resolves the promise once the group is committed. */
  run(tx: SqlTransaction): Promise<() => void>;
  reject(error: unknown): void;
}

/**
 * Writes of one turn of the event loop share a transaction: a commit costs as much for a hundred writes as for one. They
 * resolve when it is committed and reject together if it fails; so a write returns, and does not throw, what it finds wrong.
 */
export class WriteGroup {
  readonly #database: SqlDatabase;
  readonly #begin: (tx: SqlTransaction) => Promise<void>;
  #waiting: GroupedWrite[] = [];
  #underWay: Promise<void> | undefined;

  /** `begin` runs first in each transaction. */
  constructor(database: SqlDatabase, begin: (tx: SqlTransaction) => Promise<void>) {
    this.#database = database;
    this.#begin = begin;
  }

  add<T>(work: (tx: SqlTransaction) => MaybePromise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = async (tx: SqlTransaction): Promise<() => void> => {
        const value = await work(tx);
        return () => resolve(value);
      };
      this.#waiting.push({ run, reject });
      this.#underWay ??= this.#flush();
    });
  }

  /** Resolves when every write that was added is committed or has failed. */
  async settle(): Promise<void> {
    while (this.#underWay) await this.#underWay;
  }

  async #flush(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const writes = this.#waiting;
      this.#waiting = [];
      try {
        const resolvers = await this.#database.transaction(async (tx) => {
          await this.#begin(tx);
          const done: (() => void)[] = [];
          for (const write of writes) done.push(await write.run(tx));
          return done;
        });
        for (const resolve of resolvers) resolve();
      } catch (error) {
        for (const { reject } of writes) reject(error);
      }
    }
    this.#underWay = undefined;
  }
}
