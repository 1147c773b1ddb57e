import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { describeSessionStore } from "../models/agent/session-store.suite.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { migrate } from "./migrations.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { SqlDatabase } from "./database.ts";
import { sessionsModule, SqlSessions } from "./sessions.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "haft-sessions-"));
let server: TestPostgres;
const databases: { sqlite?: SqlDatabase; postgres?: SqlDatabase } = {};

beforeAll(async () => {
  server = await startPostgres();
  databases.postgres = await openPostgres(await server.createDatabase());
  databases.sqlite = await openSqlite(join(folder, "haft.db"));
  for (const database of Object.values(databases)) await migrate(database, [sessionsModule.migrations], 1);
}, 60_000);

afterAll(async () => {
  for (const database of Object.values(databases)) await database.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

for (const name of ["sqlite", "postgres"] as const) {
  describeSessionStore(
    name,
    async () => {
      const database = databases[name]!;
      for (const table of ["sessions", "session_entries", "session_inbox"]) await database.run(`DELETE FROM ${table}`);
      const alive = new Set(["one", "two"]);
      const open = (id: string): SqlSessions =>
        new SqlSessions({
          database,
          clock: createFakeClock(),
          owners: { id, isAlive: (other) => alive.has(other) },
        });
      return { store: open("one"), another: open("two"), die: () => alive.delete("one") };
    },
    { isShared: true },
  );
}
