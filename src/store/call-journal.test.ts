import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import type { ToolResult } from "../core/result.ts";
import { createFakeClock, type FakeClock } from "../testing/fake-clock.ts";
import { SqlJournal } from "./call-journal.ts";
import { openStore, type Store } from "./store.ts";
import { Owners } from "./process-owners.ts";

const DAY = 24 * 60 * 60 * 1000;
let folder: string;
let clock: FakeClock;
let store: Store;

beforeEach(async () => {
  folder = temporaryFolder("haft-journal-");
  clock = createFakeClock();
  store = await openStore({ stateFolder: folder }, { clock });
});

afterEach(async () => {
  await store.close();
});

const result = (details: unknown, text = "done"): ToolResult => ({
  callId: "c",
  toolName: "t",
  status: "completed",
  success: true,
  content: [{ type: "text", text }],
  display: "done",
  details,
  metadata: { spill: { ref: "spill-1", bytes: 5 } },
  startedAt: 1,
});

async function open(limits: ConstructorParameters<typeof SqlJournal>[1]): Promise<SqlJournal> {
  const owners = await Owners.enter(store.database, clock);
  return new SqlJournal({ database: store.database, clock, owners, warn: () => undefined }, limits);
}

describe("a journal that outlives the process", () => {
  test("keeps neither key nor input in readable form", async () => {
    await store.journal.begin("the-secret-key", "the-secret-input");
    expect(JSON.stringify(await store.database.all("SELECT * FROM journal"))).not.toContain("secret");
  });

  test("keeps large results without what makes them large, and says so", async () => {
    const journal = await open({ maxResultBytes: 1000 });
    await journal.begin("details", "f");
    await journal.end("details", result("x".repeat(5000)));
    const short = await journal.find("details", "f");
    expect(short).toMatchObject({
      state: "done",
      result: { content: [{ text: "done" }], metadata: { warnings: [/too large/] } },
    });
    expect(short).not.toHaveProperty("result.details");
    await journal.begin("content", "f");
    await journal.end("content", result(1, "y".repeat(5000)));
    expect(await journal.find("content", "f")).toMatchObject({
      result: {
        status: "completed",
        content: [{ text: expect.stringContaining("too large") }],
        metadata: { spill: { ref: "spill-1" } },
      },
    });
  });

  test("forgets old results and those beyond its capacity, never what began and did not end", async () => {
    const journal = await open({ retentionMs: DAY, maxEntries: 3 });
    await journal.begin("stuck", "f");
    for (const key of ["old", "a", "b", "c", "d"]) {
      await journal.begin(key, "f");
      await journal.end(key, result(key));
      await clock.advance(key === "old" ? 2 * DAY : 1);
    }
    await journal.prune();
    const states: (string | undefined)[] = [];
    for (const key of ["stuck", "old", "a", "b", "c", "d"]) states.push((await journal.find(key, "f"))?.state);
    expect(states).toEqual(["running", undefined, undefined, "done", "done", "done"]);
  });

  test("tells a call whose end could not be written from one that runs", async () => {
    const journal = await open({});
    await journal.begin("k", "f");
    expect(await journal.find("k", "f")).toEqual({ state: "running", elsewhere: true });
    await store.database.run("ALTER TABLE journal RENAME TO hidden");
    await expect(journal.end("k", result(1))).rejects.toThrow(/lacks a table/);
    await store.database.run("ALTER TABLE hidden RENAME TO journal");
    expect(await journal.find("k", "f")).toEqual({ state: "running" });
  });
});

describe("owners", () => {
  test("on another host are dead when they were not seen for a minute, and alive while they are", async () => {
    const elsewhere = { host: "another machine", pid: 1, started: "1" };
    const other = await Owners.enter(store.database, clock, elsewhere);
    const mine = await Owners.enter(store.database, clock);
    for (let i = 0; i < 10; i++) {
      await clock.advance(15_000);
      expect(await mine.isAlive(other.id)).toBe(true);
    }
    await store.database.run("DELETE FROM owners WHERE id = ?", [other.id]);
    expect(await mine.isAlive(other.id)).toBe(false);
    const stale = { ...elsewhere };
    const gone = await Owners.enter(store.database, { ...clock, after: () => ({ cancel() {}, setRef() {} }) }, stale);
    await clock.advance(59_000);
    expect(await mine.isAlive(gone.id)).toBe(true);
    await clock.advance(2000);
    expect(await mine.isAlive(gone.id)).toBe(false);
    await other.leave();
    await mine.leave();
  });

  test("are not taken for another process that has their number now", async () => {
    const { thisProcess, isRunning } = await import("./process-owners.ts");
    const me = thisProcess();
    expect(isRunning(me)).toBe(true);
    // Where the system does not say when a process started, its number must do.
    expect(isRunning({ ...me, started: "1" })).toBe(me.started === "");
    expect(isRunning({ ...me, pid: 2 ** 22 - 3 })).toBe(false);
    expect(isRunning({ ...me, host: "another machine" })).toBeUndefined();
  });
});
