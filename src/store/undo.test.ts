import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { fileOf, hashOf } from "../io/files/undo-store.ts";
import type { SqlDatabase } from "./database.ts";
import { ENGINES, useEngine } from "./engines.fixture.ts";
import { migrate } from "./migrations.ts";
import { SqlUndo, undoModule } from "./undo.ts";

describe.each(ENGINES)("on $name", (engine) => {
  const { sharedDatabase, createDatabase } = useEngine(engine);
  let database: SqlDatabase;
  beforeAll(async () => void (database = await sharedDatabase([undoModule.migrations])), 120_000);

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
    const store = new SqlUndo(database, { workspace, clock: () => 1 });
    for (let index = 0; index < 5; index += 1) {
      await store.before(change(`/w/${index}`, "a".repeat(50_000), "b", `c${index}`));
    }
    const rows = await database.all<{ uses: number; stored: number }>(
      "SELECT uses, stored FROM undo_contents WHERE workspace = ? ORDER BY size",
      [workspace],
    );
    expect(rows.map(({ uses }) => uses)).toEqual([5, 5]);
    expect(rows[1]!.stored).toBeLessThan(1_000);
  });

  it("gives up what is older than its limit", async () => {
    let now = 1_000;
    const store = new SqlUndo(database, {
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
      (workspace) => new SqlUndo(database, { workspace, clock: () => 1 }),
    );
    await one!.before(change("/w/a", "mine", "x", "c1"));
    expect(await two!.list()).toEqual([]);
    expect(await two!.content(hashOf(Buffer.from("mine")))).toBeUndefined();
  });

  it("numbers the changes of many writers without a gap or a double", async () => {
    const workspace = randomUUID();
    const open = await createDatabase();
    const connections = [await open(), await open()];
    await migrate(connections[0]!, [undoModule.migrations], 1);
    const stores = connections.map((connection) => new SqlUndo(connection, { workspace, clock: () => 1 }));
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => stores[index % 2]!.before(change("/w/a", "1", "2", `c${index}`))),
    );
    expect((await stores[0]!.list()).map(({ order }) => order)).toEqual(Array.from({ length: 40 }, (_, i) => 40 - i));
  });
});
