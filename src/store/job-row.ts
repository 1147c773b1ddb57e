import type { Job, JobState } from "../jobs/job.ts";
import type { ToolResult } from "../core/result.ts";
import type { Migrations } from "./migration.ts";

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

export function fixedOf({ call, key, createdAt, attempts, round }: Job): string {
  return JSON.stringify({ call, key, createdAt, attempts, round } satisfies Record<keyof Fixed, unknown>);
}

export function toJob(row: JobRow): Job {
  const { call, key, createdAt, attempts, round } = JSON.parse(row.fixed) as Fixed;
  return {
    id: row.id,
    call,
    ...(key === undefined ? {} : { key }),
    state: row.state,
    priority: row.priority,
    createdAt,
    runAt: row.run_at,
    ...(row.started_at === null ? {} : { startedAt: row.started_at }),
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
    attempt: row.attempt,
    attempts,
    lost: row.lost,
    round,
    ...(row.worker === null ? {} : { worker: JSON.parse(row.worker) as string }),
    ...(row.progress === null ? {} : { progress: JSON.parse(row.progress) as NonNullable<Job["progress"]> }),
    ...(row.result === null ? {} : { result: JSON.parse(row.result) as ToolResult }),
  };
}

/** As JSON, as every name from outside. */
export function nameOf(text: string | undefined): string {
  return JSON.stringify(text ?? null);
}
