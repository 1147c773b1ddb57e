import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { systemClock } from "../core/clock.ts";
import type { ProgramStore } from "../code/program-store.ts";
import { programStoreSuite } from "../code/program-store.suite.ts";
import { migrate } from "./migrations.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import { OWNER_MIGRATIONS, Owners } from "./process-owners.ts";
import type { SqlDatabase } from "./database.ts";
import { SqlProgramStore, programsModule } from "./programs.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "haft-programs-"));
let server: TestPostgres;
const databases: { sqlite?: SqlDatabase; postgres?: SqlDatabase } = {};

beforeAll(async () => {
  server = await startPostgres();
  databases.postgres = await openPostgres(await server.createDatabase());
  databases.sqlite = await openSqlite(join(folder, "haft.db"));
  for (const database of Object.values(databases)) {
    await migrate(database, [OWNER_MIGRATIONS, programsModule.migrations], 1);
  }
}, 60_000);

afterAll(async () => {
  for (const database of Object.values(databases)) await database.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function open(database: SqlDatabase): Promise<{ store: ProgramStore; die: () => Promise<void> }> {
  const owners = await Owners.enter(database, systemClock);
  const store = new SqlProgramStore({ database, clock: systemClock, owners, warn: () => undefined });
  return { store, die: () => owners.leave() };
}

describe.each(["sqlite", "postgres"] as const)("programs on %s", (name) => {
  programStoreSuite({
    open: async () => {
      await databases[name]!.run("DELETE FROM programs");
      return (await open(databases[name]!)).store;
    },
    openAnother: () => open(databases[name]!),
  });
});
