import type { JobOutcome } from "../calls/job-queue.ts";
import { cancelledJob, endStateOf, failedJob, type Job, type JobState } from "../calls/job.ts";
import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import { fitResult } from "./call-journal.ts";
import type { SqlDatabase, SqlRunner, SqlTransaction, SqlValue } from "./database.ts";
import type { JobLines } from "./jobs.ts";
import type { Migrations } from "./migrations.ts";
import { after } from "./table.ts";

export const JOB_MIGRATIONS: Migrations = {
  name: "jobs",
  versions: [
    [
      `CREATE TABLE jobs (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key_hash TEXT,
        state TEXT NOT NULL,
        tool TEXT NOT NULL,
        session TEXT NOT NULL,
        priority BIGINT NOT NULL,
        run_at BIGINT NOT NULL,
        owner TEXT,
        worker TEXT,
        attempt BIGINT NOT NULL,
        lost BIGINT NOT NULL,
        started_at BIGINT,
        ended_at BIGINT,
        cancel TEXT,
        change BIGINT NOT NULL,
        changed_by TEXT NOT NULL,
        fixed TEXT NOT NULL,
        progress TEXT,
        result TEXT
      )`,
      // One job of a key counts at a time, whoever submits it.
      "CREATE UNIQUE INDEX jobs_key ON jobs (key_hash) WHERE key_hash IS NOT NULL AND ended_at IS NULL",
      "CREATE INDEX jobs_queued ON jobs (priority DESC, seq) WHERE state = 'queued'",
      "CREATE INDEX jobs_delayed ON jobs (run_at) WHERE state = 'delayed'",
      "CREATE INDEX jobs_running ON jobs (owner) WHERE state = 'running'",
      "CREATE INDEX jobs_change ON jobs (change)",
      `CREATE TABLE jobs_log (
        number INTEGER PRIMARY KEY,
        job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
        at BIGINT NOT NULL,
        written_by TEXT NOT NULL,
        line TEXT NOT NULL
      )`,
      "CREATE INDEX jobs_log_of ON jobs_log (job, number)",
      // The last numbers given: those of rows would come again once the rows are gone.
      "CREATE TABLE jobs_head (id INTEGER PRIMARY KEY, change BIGINT NOT NULL, line BIGINT NOT NULL)",
      "INSERT INTO jobs_head (id, change, line) VALUES (1, 0, 0)",
    ],
  ],
};

export const JOB_COLUMNS =
  "seq, id, state, priority, run_at, owner, worker, attempt, lost, started_at, ended_at, cancel, change, fixed, progress, result";

export interface JobRow {
  seq: number;
  id: string;
  state: JobState;
  priority: number;
  run_at: number;
  owner: string | null;
  worker: string | null;
  attempt: number;
  lost: number;
  started_at: number | null;
  ended_at: number | null;
  /** Why a running one is to stop. */
  cancel: string | null;
  change: number;
  fixed: string;
  progress: string | null;
  result: string | null;
}

/** What does not change while a round lasts, as JSON: names from outside may hold what TEXT cannot. */
type Fixed = Pick<Job, "call" | "key" | "createdAt" | "attempts" | "round">;

function fixedOf({ call, key, createdAt, attempts, round }: Job): string {
  return JSON.stringify({ call, key, createdAt, attempts, round } satisfies Record<keyof Fixed, unknown>);
}

export function toJob(row: JobRow): Job {
  const { call, key, createdAt, attempts, round } = JSON.parse(row.fixed) as Fixed;
  return {
    id: row.id,
    call,
    key,
    state: row.state,
    priority: row.priority,
    createdAt,
    runAt: row.run_at,
    startedAt: row.started_at === null ? undefined : row.started_at,
    endedAt: row.ended_at === null ? undefined : row.ended_at,
    attempt: row.attempt,
    attempts,
    lost: row.lost,
    round,
    worker: row.worker === null ? undefined : (JSON.parse(row.worker) as string),
    progress: row.progress === null ? undefined : (JSON.parse(row.progress) as NonNullable<Job["progress"]>),
    result: row.result === null ? undefined : (JSON.parse(row.result) as ToolResult),
  };
}

/** As JSON, as every name from outside. */
export function nameOf(text: string | undefined): string {
  return JSON.stringify(text ?? null);
}

export interface JobWriter {
  clock: Clock;
  /** Tells what was written by this queue from what others write. */
  writer: string;
  /** The process, for as long as it lives. */
  owner: string;
  lines: JobLines;
  maxResultBytes: number;
}

const CHANGED = "change = (SELECT change FROM jobs_head WHERE id = 1), changed_by = ?";

/** Every transaction that changes jobs begins so: others find what is new by its number. */
export function beginJobWrites(tx: SqlTransaction): MaybePromise<unknown> {
  return after(tx.lock("jobs"), () => tx.run("UPDATE jobs_head SET change = change + 1 WHERE id = 1"));
}

export function readJobRow(runner: SqlRunner, id: string): MaybePromise<JobRow | undefined> {
  return after(runner.all<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE id = ?`, [id]), ([row]) => row);
}

export function placeholdersFor(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}

/** What is done to jobs, each a part of somebody's transaction. */
export class JobWrites {
  readonly #by: JobWriter;

  constructor(by: JobWriter) {
    this.#by = by;
  }

  /** The job that has this key, where there is one. */
  insert(tx: SqlTransaction, job: Job, keyHash: string | null): MaybePromise<Job | undefined> {
    const inserted = tx.run(
      `INSERT INTO jobs (seq, id, key_hash, state, tool, session, priority, run_at, attempt, lost, change, changed_by, fixed)
       VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM jobs), ?, ?, ?, ?, ?, ?, ?, 0, 0,
               (SELECT change FROM jobs_head WHERE id = 1), ?, ?)
       ON CONFLICT DO NOTHING`,
      [
        ...[job.id, keyHash, job.state, nameOf(job.call.toolName), nameOf(job.call.caller.session)],
        ...[job.priority, job.runAt, this.#by.writer, fixedOf(job)],
      ],
    );
    return after(inserted, ({ changes }) => {
      if (changes === 1 || keyHash === null) return undefined;
      const sql = `SELECT ${JOB_COLUMNS} FROM jobs WHERE key_hash = ? AND ended_at IS NULL`;
      return after(tx.all<JobRow>(sql, [keyHash]), ([row]) => row && toJob(row));
    });
  }

  take(tx: SqlTransaction, tools: readonly string[], max: number, worker: string | undefined): MaybePromise<Job[]> {
    if (tools.length === 0) return [];
    const rows = tx.all<JobRow>(
      `UPDATE jobs SET state = 'running', owner = ?, worker = ?, attempt = attempt + 1, started_at = ?, ${CHANGED}
       WHERE seq IN (SELECT seq FROM jobs WHERE state = 'queued' AND tool IN (${placeholdersFor(tools)})
                     ORDER BY priority DESC, seq LIMIT ?)
       RETURNING ${JOB_COLUMNS}`,
      [
        ...[this.#by.owner, worker === undefined ? null : nameOf(worker), this.#by.clock.now(), this.#by.writer],
        ...tools.map(nameOf),
        max,
      ],
    );
    return after(rows, (taken) => taken.sort((a, b) => b.priority - a.priority || a.seq - b.seq).map(toJob));
  }

  /** Nothing where the job is no longer this process's to speak of. */
  settle(tx: SqlTransaction, job: Job, { result, again }: JobOutcome): MaybePromise<Job | undefined> {
    return after(this.#by.lines.write(tx, job.id), () => {
      if (!again) return this.#end(tx, job, { result, mine: " AND state = 'running' AND owner = ?" });
      return after(readJobRow(tx, job.id), (row) => {
        if (row?.state !== "running" || row.owner !== this.#by.owner) return undefined;
        const known = toJob(row);
        // Nobody else is to begin what somebody wants to have stopped.
        if (row.cancel !== null) return this.cancelWaiting(tx, known, readReason(row));
        const attempt = again.counts ? known.attempt : known.attempt - 1;
        const note = `To be made again: ${result.display}`;
        return this.#requeue(tx, { ...known, attempt }, { inMs: again.inMs, note });
      });
    });
  }

  cancelWaiting(tx: SqlTransaction, job: Job, reason: string | undefined): MaybePromise<Job | undefined> {
    return this.#end(tx, job, { result: failedJob(job, cancelledJob(job.id, reason), this.#by.clock.now()) });
  }

  /** Its worker is gone, and says nothing any more. */
  requeueLost(tx: SqlTransaction, row: JobRow): MaybePromise<Job> {
    const job = toJob(row);
    const note = `The worker ${job.worker ?? "that ran it"} ended without a word.`;
    return this.#requeue(tx, { ...job, attempt: job.attempt - 1, lost: job.lost + 1 }, { inMs: 0, note });
  }

  again(tx: SqlTransaction, job: Job): MaybePromise<Job> {
    const written = tx.run(
      `UPDATE jobs SET state = 'queued', run_at = ?, worker = NULL, attempt = 0, lost = 0, started_at = NULL,
         ended_at = NULL, progress = NULL, result = NULL, fixed = ?, key_hash = NULL, ${CHANGED} WHERE id = ?`,
      [job.runAt, fixedOf(job), this.#by.writer, job.id],
    );
    return after(written, () =>
      after(this.#note(tx, job.id, `Asked for again, for the ${job.round}. time.`), () => job),
    );
  }

  /** Delayed ones whose time has come; or these, whatever the clock says. */
  promote(tx: SqlTransaction, id?: string): MaybePromise<{ changes: number }> {
    const [which, value]: [string, SqlValue] =
      id === undefined ? ["run_at <= ?", this.#by.clock.now()] : ["id = ?", id];
    return tx.run(`UPDATE jobs SET state = 'queued' WHERE state = 'delayed' AND ${which}`, [value]);
  }

  #end(
    tx: SqlTransaction,
    job: Job,
    { result, mine = "" }: { result: ToolResult; mine?: string },
  ): MaybePromise<Job | undefined> {
    const { writer, owner, clock, lines, maxResultBytes } = this.#by;
    const ended: Job = { ...job, state: endStateOf(result), endedAt: clock.now(), result };
    lines.forget(job.id);
    const rows = tx.all<{ progress: string | null }>(
      `UPDATE jobs SET state = ?, ended_at = ?, result = ?, owner = NULL, cancel = NULL, ${CHANGED}
       WHERE id = ?${mine} RETURNING progress`,
      [
        ...[ended.state, ended.endedAt!, fitResult(result, maxResultBytes), writer, job.id],
        ...(mine === "" ? [] : [owner]),
      ],
    );
    return after(rows, ([row]) => {
      if (row?.progress) ended.progress = JSON.parse(row.progress) as NonNullable<Job["progress"]>;
      return row && ended;
    });
  }

  #requeue(tx: SqlTransaction, job: Job, { inMs, note }: { inMs: number; note: string }): MaybePromise<Job> {
    const queued: Job = { ...job, state: inMs > 0 ? "delayed" : "queued", runAt: this.#by.clock.now() + inMs };
    const written = tx.run(
      `UPDATE jobs SET state = ?, run_at = ?, attempt = ?, lost = ?, owner = NULL, ${CHANGED} WHERE id = ?`,
      [queued.state, queued.runAt, queued.attempt, queued.lost, this.#by.writer, job.id],
    );
    return after(written, () => after(this.#note(tx, job.id, note), () => queued));
  }

  #note(tx: SqlTransaction, id: string, note: string): MaybePromise<void> {
    return this.#by.lines.append(tx, id, [{ at: this.#by.clock.now(), note }]);
  }
}

export function readReason({ cancel }: Pick<JobRow, "cancel">): string | undefined {
  return cancel === null ? undefined : ((JSON.parse(cancel) as string | null) ?? undefined);
}

interface Write {
  work(tx: SqlTransaction): MaybePromise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Writes that come in one turn of the event loop are one transaction: a commit costs as much for a hundred as for one. They
 * are resolved when it is committed, and rejected together where it cannot be; so what one of them finds wrong it returns.
 */
export class WriteGroup {
  readonly #database: SqlDatabase;
  readonly #begin: (tx: SqlTransaction) => MaybePromise<unknown>;
  #waiting: Write[] = [];
  #underWay: Promise<void> | undefined;

  /** `begin`: what comes first in each transaction. */
  constructor(database: SqlDatabase, begin: (tx: SqlTransaction) => MaybePromise<unknown>) {
    this.#database = database;
    this.#begin = begin;
  }

  add<T>(work: (tx: SqlTransaction) => MaybePromise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#underWay ??= this.#flush();
    });
  }

  /** When everything that was added is written, or could not be. */
  async settle(): Promise<void> {
    while (this.#underWay) await this.#underWay;
  }

  async #flush(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const writes = this.#waiting;
      this.#waiting = [];
      try {
        const values: unknown[] = [];
        const committed = this.#database.transaction((tx) =>
          after(this.#begin(tx), () => each(writes, (write) => after(write.work(tx), (value) => values.push(value)))),
        );
        if (committed instanceof Promise) await committed;
        for (const [i, { resolve }] of writes.entries()) resolve(values[i]);
      } catch (error) {
        for (const { reject } of writes) reject(error);
      }
    }
    this.#underWay = undefined;
  }
}

/** One after the other, without a promise where none is needed: a transaction of SQLite must not wait. */
export function each<T>(items: readonly T[], work: (item: T) => MaybePromise<unknown>, from = 0): MaybePromise<void> {
  for (let i = from; i < items.length; i++) {
    const done = work(items[i]!);
    if (done instanceof Promise) return done.then(() => each(items, work, i + 1));
  }
  return undefined;
}
