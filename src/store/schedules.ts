import type { Schedule, ScheduleRun } from "../core/schedule.ts";
import type { RunQuery, ScheduleStore } from "../jobs/schedules.ts";
import type { SqlDatabase, SqlRunner, SqlValue } from "./database.ts";
import type { LiveOwners } from "./process-owners.ts";
import { NOT_HELD } from "./store-hold.ts";
import { integer, json, optional, type StoreModule, table, text } from "./table.ts";

// Columns for what SQL selects by; the whole object is JSON, because names and inputs may contain any character.
const schedules = table("schedules", {
  id: text("NOT NULL PRIMARY KEY"),
  /** Order of creation. */
  made: integer(),
  nextAt: optional(integer()),
  revision: integer(),
  schedule: json<Schedule>(),
});
const runs = table(
  "schedules_runs",
  {
    scheduleId: text(),
    number: integer(),
    state: text<ScheduleRun["state"]>(),
    owner: text(),
    run: json<ScheduleRun>(),
  },
  "PRIMARY KEY (schedule_id, number)",
);
/** One row: when a scheduler last ran what was due. */
const heartbeats = table("schedules_beat", { one: integer("NOT NULL PRIMARY KEY"), seenAt: integer() });

export const schedulesModule: StoreModule<ScheduleStore> = {
  migrations: {
    name: "schedules",
    versions: [
      [
        schedules.create,
        "CREATE INDEX schedules_next ON schedules (next_at)",
        runs.create,
        "CREATE INDEX schedules_runs_state ON schedules_runs (state)",
        heartbeats.create,
      ],
    ],
  },
  open: ({ database, owners }) => new SqlScheduleStore(database, owners),
};

const OPEN = "state IN ('running', 'waiting')";

/** Schedules in a database that several processes share. */
export class SqlScheduleStore implements ScheduleStore {
  readonly #db: SqlDatabase;
  readonly #owners: LiveOwners;

  constructor(db: SqlDatabase, owners: LiveOwners) {
    this.#db = db;
    this.#owners = owners;
  }

  async add(schedule: Schedule, max: number): Promise<boolean> {
    return this.#db.transaction(async (tx) => {
      await tx.lock("schedules");
      const [stored] = await tx.all<{ count: number; last: number | null }>(
        "SELECT COUNT(*) AS count, MAX(made) AS last FROM schedules",
      );
      if ((stored?.count ?? 0) >= max) return false;
      const { id, revision } = schedule;
      await schedules.insert(tx, { id, made: (stored?.last ?? 0) + 1, nextAt: dueAt(schedule), revision, schedule });
      return true;
    });
  }

  async get(id: string): Promise<Schedule | undefined> {
    return (await this.#select("WHERE id = ?", id))[0];
  }

  list(): Promise<Schedule[]> {
    return this.#select("ORDER BY made");
  }

  replace(schedule: Schedule): Promise<boolean> {
    return replace(this.#db, schedule);
  }

  async remove(id: string): Promise<boolean> {
    return this.#db.transaction(async (tx) => {
      await tx.run("DELETE FROM schedules_runs WHERE schedule_id = ?", [id]);
      return (await tx.run("DELETE FROM schedules WHERE id = ?", [id])).changes > 0;
    });
  }

  due(now: number, max: number): Promise<Schedule[]> {
    return this.#select(`WHERE next_at <= ? AND ${NOT_HELD} ORDER BY next_at, made LIMIT ?`, now, max);
  }

  async nextAt(): Promise<number | undefined> {
    const [row] = await this.#db.all<{ next: number | null }>("SELECT MIN(next_at) AS next FROM schedules");
    return row?.next ?? undefined;
  }

  async begin(schedule: Schedule, run: ScheduleRun, max: number): Promise<boolean> {
    return this.#db.transaction(async (tx) => {
      if (!(await replace(tx, schedule))) return false;
      const { scheduleId, number, state } = run;
      await tx.run(`DELETE FROM schedules_runs WHERE schedule_id = ? AND number <= ? AND NOT (${OPEN})`, [
        scheduleId,
        number - max,
      ]);
      await runs.insert(tx, { scheduleId, number, state, owner: this.#owners.id, run });
      return true;
    });
  }

  async end(run: ScheduleRun): Promise<boolean> {
    const { changes } = await this.#db.run(
      `UPDATE schedules_runs SET state = ?, run = ? WHERE schedule_id = ? AND number = ? AND ${OPEN}`,
      [run.state, runs.toSql("run", run), run.scheduleId, run.number],
    );
    return changes > 0;
  }

  runs(id: string, { limit, before = Number.MAX_SAFE_INTEGER }: RunQuery): Promise<ScheduleRun[]> {
    return this.#selectRuns("WHERE schedule_id = ? AND number < ? ORDER BY number DESC LIMIT ?", id, before, limit);
  }

  open(id: string): Promise<ScheduleRun[]> {
    return this.#selectRuns(`WHERE schedule_id = ? AND ${OPEN} ORDER BY number`, id);
  }

  async takeLost(): Promise<ScheduleRun[]> {
    const holders = await this.#db.all<{ owner: string }>(
      `SELECT DISTINCT owner FROM schedules_runs WHERE state = 'running' AND ${NOT_HELD}`,
    );
    const lost: ScheduleRun[] = [];
    for (const { owner } of holders) {
      if (owner === this.#owners.id || (await this.#owners.isAlive(owner))) continue;
      // If two processes find it, the one that changes the row gets it.
      const rows = await this.#db.all(
        "UPDATE schedules_runs SET owner = ? WHERE owner = ? AND state = 'running' RETURNING run",
        [this.#owners.id, owner],
      );
      lost.push(...runs.read(["run"], rows).map(({ run }) => run));
    }
    return lost;
  }

  async heartbeat(now: number): Promise<void> {
    await heartbeats.upsert(this.#db, { one: 1, seenAt: now }, ["one"]);
  }

  async lastBeat(): Promise<number | undefined> {
    return (await heartbeats.select(this.#db, ["seenAt"]))[0]?.seenAt;
  }

  async #select(clause: string, ...params: readonly SqlValue[]): Promise<Schedule[]> {
    const rows = await schedules.select(this.#db, ["schedule"], clause, params);
    return rows.map(({ schedule }) => schedule);
  }

  async #selectRuns(clause: string, ...params: readonly SqlValue[]): Promise<ScheduleRun[]> {
    const rows = await runs.select(this.#db, ["run"], clause, params);
    return rows.map(({ run }) => run);
  }
}

function dueAt({ isPaused, nextAt }: Schedule): number | undefined {
  return isPaused ? undefined : nextAt;
}

/** False if somebody else has replaced it since it was read. */
async function replace(db: SqlRunner, schedule: Schedule): Promise<boolean> {
  const { id, revision } = schedule;
  const { changes } = await db.run(
    "UPDATE schedules SET next_at = ?, revision = ?, schedule = ? WHERE id = ? AND revision = ?",
    [schedules.toSql("nextAt", dueAt(schedule)), revision, schedules.toSql("schedule", schedule), id, revision - 1],
  );
  return changes > 0;
}
