import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeScheduleStore, scheduleFor } from "../jobs/schedule-store.suite.ts";
import { migrate } from "./migrations.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { SqlDatabase } from "./database.ts";
import { SqlScheduleStore, schedulesModule } from "./schedules.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "haft-schedules-"));
let server: TestPostgres;
const databases: { sqlite?: SqlDatabase; postgres?: SqlDatabase } = {};

beforeAll(async () => {
  server = await startPostgres();
  databases.postgres = await openPostgres(await server.createDatabase());
  databases.sqlite = await openSqlite(join(folder, "haft.db"));
  for (const database of Object.values(databases)) await migrate(database, [schedulesModule.migrations], 1);
}, 60_000);

afterAll(async () => {
  for (const database of Object.values(databases)) await database.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const empty = async (name: "sqlite" | "postgres"): Promise<SqlDatabase> => {
  const database = databases[name]!;
  for (const table of ["schedules", "schedules_runs", "schedules_beat"]) await database.run(`DELETE FROM ${table}`);
  return database;
};

describe.each(["sqlite", "postgres"] as const)("in %s", (name) => {
  describeScheduleStore(
    name,
    async () => new SqlScheduleStore(await empty(name), { id: "me", isAlive: (id) => id === "me" }),
  );

  test("running ones of a process that is gone are taken by one of those who look", async () => {
    const database = await empty(name);
    const store = (id: string) => new SqlScheduleStore(database, { id, isAlive: (owner) => owner !== "gone" });
    const run = { scheduleId: "s", number: 1, trigger: "time", dueAt: 1, state: "running", missed: 0 } as const;
    await store("gone").add(scheduleFor("s"), 5);
    await store("gone").begin(scheduleFor("s", { revision: 2, runCount: 1 }), run, 5);
    const taken = await Promise.all([store("a").takeLost(), store("b").takeLost(), store("c").takeLost()]);
    expect(taken.flat()).toEqual([run]);
    expect(await store("d").takeLost()).toEqual([]);
  });
});
