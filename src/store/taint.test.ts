import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeTaintStore } from "../gate/permit/taint-store.suite.ts";
import { migrate } from "./migrations.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { SqlDatabase } from "./database.ts";
import { SqlTaintStore, taintModule } from "./taint.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "haft-taint-"));
let server: TestPostgres;
const databases: { sqlite?: SqlDatabase; postgres?: SqlDatabase } = {};

beforeAll(async () => {
  server = await startPostgres();
  databases.postgres = await openPostgres(await server.createDatabase());
  databases.sqlite = await openSqlite(join(folder, "haft.db"));
  for (const database of Object.values(databases)) await migrate(database, [taintModule.migrations], 1);
}, 60_000);

afterAll(async () => {
  for (const database of Object.values(databases)) await database.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

for (const name of ["sqlite", "postgres"] as const) {
  describeTaintStore(name, async () => {
    await databases[name]!.run("DELETE FROM taint_marks");
    return new SqlTaintStore(databases[name]!);
  });
}

test("taint in a file is seen by the next process that opens the file", async () => {
  const file = join(folder, "shared.db");
  const first = await openSqlite(file);
  await migrate(first, [taintModule.migrations], 1);
  const mark = { label: "sensitive_data", callId: "c\0", toolName: "read", at: 1 } as const;
  await new SqlTaintStore(first).add("s", [mark], 5);
  const second = await openSqlite(file);
  expect(await new SqlTaintStore(second).marks("s")).toEqual([mark]);
  await first.close();
  await second.close();
});
