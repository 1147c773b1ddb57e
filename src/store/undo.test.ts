import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileOf, hashOf } from "../io/files/undo-store.ts";
import { undoStoreSuite } from "../io/files/undo-store.suite.ts";
import { migrate } from "./migrations.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { SqlDatabase } from "./database.ts";
import { SqlUndo, undoModule } from "./undo.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

let folder: string;
let server: TestPostgres;
const open: { sqlite?: SqlDatabase; postgres?: SqlDatabase } = {};
let reopenSqlite: () => Promise<SqlDatabase>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "haft-sql-undo-"));
  server = await startPostgres();
  reopenSqlite = () => openSqlite(join(folder, "haft.db"));
  open.sqlite = await reopenSqlite();
  open.postgres = await openPostgres(await server.createDatabase());
  for (const database of [open.sqlite, open.postgres]) await migrate(database, [undoModule.migrations], 0);
}, 60_000);

afterAll(async () => {
  await open.sqlite?.close();
  await open.postgres?.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

for (const kind of ["sqlite", "postgres"] as const) {
  undoStoreSuite(
    `on ${kind}`,
    async ({ maxBytes, clock }) => new SqlUndo(open[kind]!, { workspace: randomUUID(), clock, limits: { maxBytes } }),
  );

  describe(`beyond the suite, on ${kind}`, () => {
    const change = (path: string, old: string, next: string, callId: string) =>
      ({
        kind: "write",
        path,
        was: "file",
        old: Buffer.from(old),
        next: fileOf(Buffer.from(next)),
        callId,
        session: "s",
      }) as const;

    it("keeps one content once, compressed, however often it is used", async () => {
      const workspace = randomUUID();
      const store = new SqlUndo(open[kind]!, { workspace, clock: () => 1 });
      for (let index = 0; index < 5; index += 1) {
        await store.before(change(`/w/${index}`, "a".repeat(50_000), "b", `c${index}`));
      }
      const rows = await open[kind]!.all<{ uses: number; stored: number }>(
        "SELECT uses, stored FROM undo_contents WHERE workspace = ? ORDER BY size",
        [workspace],
      );
      expect(rows.map(({ uses }) => uses)).toEqual([5, 5]);
      expect(rows[1]!.stored).toBeLessThan(1_000);
    });

    it("gives up what is older than its limit", async () => {
      let now = 1_000;
      const store = new SqlUndo(open[kind]!, {
        workspace: randomUUID(),
        clock: () => now,
        limits: { maxAgeMs: 10_000 },
      });
      await store.before(change("/w/a", "1", "2", "c0"));
      now = 100_000;
      for (let index = 1; index <= 260; index += 1) await store.before(change("/w/b", "3", "4", `c${index}`));
      expect(await store.discardedChanges()).toEqual({ changes: 1, newest: 1_000 });
      expect(await store.list({ callId: "c0" })).toEqual([]);
      expect(await store.content(hashOf(Buffer.from("1")))).toBeUndefined();
    }, 60_000);

    it("shows one workspace nothing of another", async () => {
      const [one, two] = [randomUUID(), randomUUID()].map(
        (workspace) => new SqlUndo(open[kind]!, { workspace, clock: () => 1 }),
      );
      await one!.before(change("/w/a", "mine", "x", "c1"));
      expect(await two!.list()).toEqual([]);
      expect(await two!.content(hashOf(Buffer.from("mine")))).toBeUndefined();
    });

    it("numbers the changes of many writers without a gap or a double", async () => {
      const workspace = randomUUID();
      const other = kind === "sqlite" ? await reopenSqlite() : open.postgres!;
      const stores = [open[kind]!, other].map((database) => new SqlUndo(database, { workspace, clock: () => 1 }));
      await Promise.all(
        Array.from({ length: 40 }, (_, index) => stores[index % 2]!.before(change("/w/a", "1", "2", `c${index}`))),
      );
      expect((await stores[0]!.list()).map(({ order }) => order)).toEqual(Array.from({ length: 40 }, (_, i) => 40 - i));
      if (kind === "sqlite") await other.close();
    });
  });
}
