/** The tables of jobs, apart from `calls`, and how the jobs of earlier versions become rows of `calls`. */
import { hash } from "node:crypto";
import { callKey } from "../calls/calls.ts";
import type { JobLogLine, JobState } from "../calls/job.ts";
import { RowJobs } from "../calls/row-jobs.ts";
import type { QueuedJob, StoredCall } from "../calls/stored-call.ts";
import { outcomeOf } from "../calls/stored-result.ts";
import type { CallData } from "../core/call.ts";
import { canonicalJson } from "../core/json.ts";
import type { ToolResult } from "../core/result.ts";
import { calls, callsIn, readCalls, toRow } from "./calls.ts";
import type { SqlTransaction } from "./database.ts";
import type { Migrations, MigrationStep } from "./migrations.ts";
import { integer, json, optional, rowNumber, type RowOf, type StoreModule, table, text } from "./table.ts";

const jobs = table("jobs", {
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
  cancel: optional(json<string | null>()),
  change: integer(),
  changedBy: text(),
  fixed: json<{ call: CallData; key?: string; createdAt: number; attempts: number; round: number }>(),
  progress: optional(json<NonNullable<QueuedJob["progress"]>>()),
  result: optional(json<ToolResult>()),
});
const jobsLog = table("jobs_log", {
  number: rowNumber(),
  job: text("NOT NULL REFERENCES jobs (id) ON DELETE CASCADE"),
  at: integer(),
  writtenBy: text(),
  line: json<Omit<JobLogLine, "number" | "at">>(),
});
const jobsHead = table("jobs_head", { id: rowNumber(), change: integer(), line: integer() });

/** Converts the jobs and removes their table. Their log lines stay. */
const adoptEarlierJobs: MigrationStep = {
  name: "adopt jobs",
  async run(tx) {
    for (const job of await jobs.select(tx, jobs.keys as never, "ORDER BY seq")) await adoptJob(tx, job);
    await tx.run("INSERT INTO jobs_lines SELECT number, job, at, written_by, line FROM jobs_log");
    await tx.run("DROP TABLE jobs_log");
    await tx.run("DROP TABLE jobs");
  },
};

/** What an entry of a queue contained. */
type QueuedEntry = RowOf<typeof jobs>["fixed"] & Pick<QueuedJob, "priority" | "runAt"> & { cancelled?: unknown };

const adoptQueuedJobs: MigrationStep = {
  name: "adopt queued jobs",
  async run(tx, database) {
    for (const { id, data } of (await database.earlierJobs?.(tx)) ?? []) {
      const { priority, runAt, cancelled, ...fixed } = JSON.parse(data) as QueuedEntry;
      // Its end was asked for before a worker took it, or a worker of 0.2 has made it a row.
      if (cancelled !== undefined || (await readCalls(tx, "WHERE job_id = ?", [id])).length > 0) continue;
      const [head] = await tx.all<{ change: number }>(
        "UPDATE jobs_head SET change = change + 1 WHERE id = 1 RETURNING change",
      );
      const change = head?.change ?? 0;
      await adoptJob(tx, {
        ...{ seq: change, id, state: "queued", tool: fixed.call.toolName, session: fixed.call.caller.session ?? null },
        ...{ priority, runAt, attempt: 0, lost: 0, change, changedBy: "", fixed },
      });
    }
  },
};

/** Applied after those of `calls`, and after the adoption of earlier calls. */
export const JOB_MIGRATIONS: Migrations = {
  name: "jobs",
  versions: [
    [
      jobs.create,
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
    [
      "CREATE TABLE jobs_lines (number INTEGER PRIMARY KEY, job TEXT NOT NULL, at BIGINT NOT NULL, " +
        "written_by TEXT NOT NULL, line TEXT NOT NULL)",
      "CREATE INDEX jobs_lines_of ON jobs_lines (job, number)",
      adoptEarlierJobs,
    ],
    [adoptQueuedJobs],
  ],
};

/** Workers find jobs in the table. */
export const jobsModule: StoreModule<RowJobs> = {
  migrations: JOB_MIGRATIONS,
  open: (context) => new RowJobs({ clock: context.clock, calls: callsIn(context) }),
  close: (queue) => queue.close(),
};

async function adoptJob(tx: SqlTransaction, row: RowOf<typeof jobs>): Promise<void> {
  const { id, seq, priority, runAt, attempt, lost, worker, startedAt, progress, endedAt, result, fixed } = row;
  const { call, createdAt, attempts, round } = fixed;
  // A job that was taken is taken again: whether its call began says the row of the call.
  const isTaken = row.state === "running";
  const job: QueuedJob = {
    ...{ id, seq, priority, runAt, attempts, round, worker, startedAt },
    attempt: isTaken ? attempt - 1 : attempt,
    cancel: row.cancel === undefined ? undefined : { reason: row.cancel ?? undefined },
  };
  const known = await findCall(tx, row);
  const stored = { request: call, job, lost: lost + (known?.lost ?? 0) + (isTaken ? 1 : 0) };
  if (known) {
    const state = known.state === "suspended" ? ("approved" as const) : known.state;
    const joined = { ...known, ...stored, state, result: known.state === "ended" ? known.result : undefined };
    await tx.run("DELETE FROM calls WHERE id = ?", [known.id]);
    await calls.insert(tx, { ...toRow(joined, 1), progress });
    return;
  }
  const key = call.idempotencyKey === undefined ? undefined : hash("sha256", callKey(call.caller, call.idempotencyKey));
  const ended = result && endedAt !== undefined ? { outcome: outcomeOf(result), result, endedAt } : undefined;
  const adopted: StoredCall = {
    id,
    callId: call.callId,
    key: ended ? undefined : key,
    fingerprint: hash("sha256", canonicalJson([call.toolName, call.toolVersion, call.input])),
    toolName: call.toolName,
    caller: call.caller,
    state: ended ? "ended" : "approved",
    ...ended,
    ...stored,
    epoch: 0,
    repeatable: call.idempotent,
    createdAt,
  };
  await calls.insert(tx, { ...toRow(adopted, 1), progress });
}

/** The row of the call: the question that was answered, or the one with the key of the job. */
async function findCall(tx: SqlTransaction, { id, fixed }: RowOf<typeof jobs>): Promise<StoredCall | undefined> {
  const { call, round } = fixed;
  const ownKey = `job:${id}${round > 1 ? `#${round}` : ""}`;
  const key = hash("sha256", callKey(call.caller, call.idempotencyKey ?? ownKey));
  const asked = round === 1 ? (call.verdict?.approvalId ?? "") : "";
  const [byId] = await readCalls(tx, "WHERE id = ? AND job_id IS NULL", [asked]);
  const [byKey] = await readCalls(tx, "WHERE key = ? AND job_id IS NULL", [key]);
  return byId ?? byKey;
}
