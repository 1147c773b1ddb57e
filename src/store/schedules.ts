import type { Schedule, ScheduleRun } from "../core/schedule.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { ScheduleStore } from "../jobs/schedule-store.ts";
import { after, type StoreModule } from "./table.ts";
import type { Migrations } from "./migrations.ts";
import type { Owners } from "./process-owners.ts";
import type { SqlDatabase, SqlRunner } from "./database.ts";

const MIGRATIONS: Migrations = {
  name: "schedules",
  versions: [
    [
      // What is asked for by SQL has a column; the whole is JSON, because names and inputs may hold anything.
      `CREATE TABLE schedules (
         id TEXT NOT NULL PRIMARY KEY,
         made BIGINT NOT NULL,
         next_at BIGINT,
         revision BIGINT NOT NULL,
         schedule TEXT NOT NULL
       )`,
      "CREATE INDEX schedules_next ON schedules (next_at)",
      `CREATE TABLE schedules_runs (
         schedule_id TEXT NOT NULL,
         number BIGINT NOT NULL,
         state TEXT NOT NULL,
         owner TEXT NOT NULL,
         run TEXT NOT NULL,
         PRIMARY KEY (schedule_id, number)
       )`,
      "CREATE INDEX schedules_runs_state ON schedules_runs (state)",
      "CREATE TABLE schedules_beat (one BIGINT NOT NULL PRIMARY KEY, seen_at BIGINT NOT NULL)",
    ],
  ],
};

export const schedulesModule: StoreModule<ScheduleStore> = {
  migrations: MIGRATIONS,
  open: ({ database, owners }) => createSqlScheduleStore(database, owners),
};

const OPEN = "state IN ('running', 'waiting')";

/** Schedules in a database that several processes share. */
export function createSqlScheduleStore(
  database: SqlDatabase,
  owners: { readonly id: string } & Pick<Owners, "isAlive">,
): ScheduleStore {
  return {
    add: (schedule, max) =>
      database.transaction(async (tx) => {
        await tx.lock("schedules");
        const [kept] = await tx.all<{ count: number; last: number | null }>(
          "SELECT COUNT(*) AS count, MAX(made) AS last FROM schedules",
        );
        if ((kept?.count ?? 0) >= max) return false;
        await tx.run("INSERT INTO schedules (id, made, next_at, revision, schedule) VALUES (?, ?, ?, ?, ?)", [
          schedule.id,
          (kept?.last ?? 0) + 1,
          dueOf(schedule),
          schedule.revision,
          JSON.stringify(schedule),
        ]);
        return true;
      }),
    get: (id) => after(schedulesOf(database, "WHERE id = ?", id), ([schedule]) => schedule),
    list: () => schedulesOf(database, "ORDER BY made"),
    replace: (schedule) => replaceIn(database, schedule),
    remove: (id) =>
      database.transaction(async (tx) => {
        await tx.run("DELETE FROM schedules_runs WHERE schedule_id = ?", [id]);
        return (await tx.run("DELETE FROM schedules WHERE id = ?", [id])).changes > 0;
      }),
    due: (now, max) => schedulesOf(database, "WHERE next_at <= ? ORDER BY next_at, made LIMIT ?", now, max),
    nextAt: () =>
      after(
        database.all<{ next: number | null }>("SELECT MIN(next_at) AS next FROM schedules"),
        ([row]) => row?.next ?? undefined,
      ),
    begin: (schedule, run, max) =>
      database.transaction(async (tx) => {
        if (!(await replaceIn(tx, schedule))) return false;
        await tx.run(`DELETE FROM schedules_runs WHERE schedule_id = ? AND number <= ? AND NOT (${OPEN})`, [
          run.scheduleId,
          run.number - max,
        ]);
        await tx.run("INSERT INTO schedules_runs (schedule_id, number, state, owner, run) VALUES (?, ?, ?, ?, ?)", [
          run.scheduleId,
          run.number,
          run.state,
          owners.id,
          JSON.stringify(run),
        ]);
        return true;
      }),
    end: (run) =>
      after(
        database.run(`UPDATE schedules_runs SET state = ?, run = ? WHERE schedule_id = ? AND number = ? AND ${OPEN}`, [
          run.state,
          JSON.stringify(run),
          run.scheduleId,
          run.number,
        ]),
        ({ changes }) => changes > 0,
      ),
    runs: (id, { limit, before = Number.MAX_SAFE_INTEGER }) =>
      runsOf(database, "WHERE schedule_id = ? AND number < ? ORDER BY number DESC LIMIT ?", [id, before, limit]),
    open: (id) => runsOf(database, `WHERE schedule_id = ? AND ${OPEN} ORDER BY number`, [id]),
    takeLost,
    heartbeat: (now) =>
      after(
        database.run(
          "INSERT INTO schedules_beat (one, seen_at) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET seen_at = excluded.seen_at",
          [now],
        ),
        () => undefined,
      ),
    lastBeat: () =>
      after(database.all<{ seen_at: number }>("SELECT seen_at FROM schedules_beat"), ([row]) => row?.seen_at),
  };

  async function takeLost(): Promise<ScheduleRun[]> {
    const holders = await database.all<{ owner: string }>(
      "SELECT DISTINCT owner FROM schedules_runs WHERE state = 'running'",
    );
    const lost: ScheduleRun[] = [];
    for (const { owner } of holders) {
      if (owner === owners.id || (await owners.isAlive(owner))) continue;
      // Of two who find it, the one that changes the row has it.
      const rows = await database.all<{ run: string }>(
        "UPDATE schedules_runs SET owner = ? WHERE owner = ? AND state = 'running' RETURNING run",
        [owners.id, owner],
      );
      lost.push(...rows.map(({ run }) => JSON.parse(run) as ScheduleRun));
    }
    return lost;
  }
}

function dueOf({ isPaused, nextAt }: Schedule): number | null {
  return isPaused ? null : (nextAt ?? null);
}

function replaceIn(sql: SqlRunner, schedule: Schedule): MaybePromise<boolean> {
  return after(
    sql.run("UPDATE schedules SET next_at = ?, revision = ?, schedule = ? WHERE id = ? AND revision = ?", [
      dueOf(schedule),
      schedule.revision,
      JSON.stringify(schedule),
      schedule.id,
      schedule.revision - 1,
    ]),
    ({ changes }) => changes > 0,
  );
}

function schedulesOf(
  sql: SqlRunner,
  clause: string,
  ...values: readonly (string | number)[]
): MaybePromise<Schedule[]> {
  return after(sql.all<{ schedule: string }>(`SELECT schedule FROM schedules ${clause}`, values), (rows) =>
    rows.map(({ schedule }) => JSON.parse(schedule) as Schedule),
  );
}

function runsOf(sql: SqlRunner, clause: string, values: readonly (string | number)[]): MaybePromise<ScheduleRun[]> {
  return after(sql.all<{ run: string }>(`SELECT run FROM schedules_runs ${clause}`, values), (rows) =>
    rows.map(({ run }) => JSON.parse(run) as ScheduleRun),
  );
}
