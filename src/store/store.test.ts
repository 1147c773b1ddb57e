import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import { describeAuditLog } from "../gate/audit-log.suite.ts";
import { describeCallJournal } from "../calls/call-journal.suite.ts";
import { openStore, type Store, type StoreLocation } from "./store.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

let server: TestPostgres;
const folder = mkdtempSync(join(tmpdir(), "haft-store-"));
const opened: Store[] = [];

beforeAll(async () => {
  server = await startPostgres();
}, 120_000);

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const places: Record<string, () => Promise<StoreLocation>> = {
  SQLite: () => Promise.resolve({ stateFolder: mkdtempSync(join(folder, "s-")) }),
  PostgreSQL: async () => ({ url: await server.createDatabase() }),
};

for (const [name, place] of Object.entries(places)) {
  const open = async (): Promise<Store> => {
    const store = await openStore(await place());
    opened.push(store);
    return store;
  };
  describeAuditLog(name, async () => (await open()).audit);
  describeCallJournal(name, async () => (await open()).journal);
}
