import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { aQuestion } from "../calls/approval.fixture.ts";
import { end } from "../calls/stored-call.ts";
import type { ToolResult } from "../core/result.ts";
import { createFakeClock, type FakeClock } from "../testing/fake-clock.ts";
import { Owners } from "./process-owners.ts";
import { openStore, type Store } from "./store.ts";

let clock: FakeClock;
let store: Store;

beforeEach(async () => {
  clock = createFakeClock();
  const opened = await openStore({ stateFolder: temporaryFolder() }, { clock });
  store = opened;
  onTestFinished(() => opened.close());
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

async function run(key: string, ended: ToolResult, endedAt = 1): Promise<void> {
  const { calls } = store;
  const row = aQuestion({ id: key, key, question: undefined, state: "running", owner: "me", epoch: 1 });
  await calls.insert(row);
  const transition = end("me", 1, { outcome: "completed", result: ended, releasesKey: false });
  await calls.change(key, (now) => transition(now, endedAt));
}

describe("calls in a database", () => {
  test("contain neither keys nor inputs in readable form", () => {
    const digest = store.calls.digest("the-secret-key");
    expect(digest).not.toContain("secret");
    expect(store.calls.digest("the-secret-key")).toBe(digest);
    expect(store.calls.digest("another")).not.toBe(digest);
  });

  test("keep large results without their large parts, and say so", async () => {
    const large = 2 * 1024 * 1024;
    await run("details", result("x".repeat(large)));
    const short = await store.calls.find("details");
    expect(short).toMatchObject({ result: { content: [{ text: "done" }], metadata: { warnings: [/too large/] } } });
    expect(short?.result).not.toHaveProperty("details");
    await run("content", result(1, "y".repeat(large)));
    expect(await store.calls.find("content")).toMatchObject({
      result: {
        status: "completed",
        content: [{ text: expect.stringContaining("too large") }],
        metadata: { spill: { ref: "spill-1" } },
      },
    });
  });

  test("are deleted by age, never before they have ended", async () => {
    await store.calls.insert(aQuestion({ id: "stuck", key: "stuck", question: undefined, state: "running", epoch: 1 }));
    await run("old", result(1), 1000);
    await run("new", result(1), 3000);
    await store.calls.prune({ questions: 0, keys: 2000 });
    const left = await Promise.all(["stuck", "old", "new"].map(async (key) => (await store.calls.find(key))?.state));
    expect(left).toEqual(["running", undefined, "ended"]);
  });

  test("write questions and answers to the audit log in the same transaction", async () => {
    const row = aQuestion();
    await store.calls.insert(row, { limits: { maxOpenPerSession: 9, maxOpenPerUser: 9 } });
    await store.database.run("ALTER TABLE audit RENAME TO hidden");
    const answered = async () =>
      store.calls.change(row.id, () => ({ state: "approved", answer: { approved: true, by: "ada" } }));
    await expect(answered()).rejects.toThrow(/table/);
    expect(await store.calls.get(row.id)).toMatchObject({ state: "waiting" });
    await store.database.run("ALTER TABLE hidden RENAME TO audit");
    await answered();
    const { entries } = await store.audit.query({ kind: ["approval_asked", "approval_answered"] });
    expect(entries.map(({ kind }) => kind)).toEqual(["approval_answered", "approval_asked"]);
  });
});

test("a store that an earlier version has open is refused, and its process is named", async () => {
  const stateFolder = temporaryFolder();
  const earlier = await openStore({ stateFolder });
  onTestFinished(() => earlier.close());
  // As an earlier version leaves it: its table is there, and its process lives.
  await earlier.database.run("CREATE TABLE approvals (id TEXT)");
  await expect(openStore({ stateFolder })).rejects.toThrow(new RegExp(`earlier version.*process ${process.pid}`));
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
