import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import { cancelledJob, failedJob } from "../jobs/job-failure.ts";
import { endStateOf, type Job } from "../jobs/job.ts";
import type { JobOutcome } from "../jobs/job-queue.ts";
import { after } from "./after.ts";
import { fitResult } from "./fit-result.ts";
import type { JobLines } from "./job-lines.ts";
import { fixedOf, JOB_COLUMNS, type JobRow, nameOf, toJob } from "./job-row.ts";
import type { SqlRunner, SqlTransaction, SqlValue } from "./sql-database.ts";

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
