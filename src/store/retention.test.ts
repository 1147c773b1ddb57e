import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../core/clock.ts";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { ENGINES, useEngine } from "./engines.fixture.ts";
import type { Session } from "../models/agent/session-store.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import type { SqlDatabase } from "./database.ts";
import { Retention, retentionOf } from "./retention.ts";
import { prepareChildren } from "./start-child.fixture.ts";
import { openStore, type Store } from "./store.ts";

const DAY_MS = 24 * 60 * 60_000;
const folder = temporaryFolder("haft-retention-");
const limits = retentionOf({ auditDays: 30 });

/** The system's clock, set to a later time. Its timers stay as they are. */
function createSetClock() {
  let ahead = 0;
  return { ...systemClock, now: () => systemClock.now() + ahead, advance: (ms: number) => void (ahead += ms) };
}

async function write(store: Store, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1000) {
    const some = Array.from({ length: Math.min(left, 1000) }, (_, i) =>
      store.audit.append({ kind: "note", data: { i } }),
    );
    await Promise.all(some);
  }
}

describe.each(ENGINES)("pruning on $name", (engine) => {
  const { createLocation } = useEngine(engine);

  test("deletes whole segments that are too old, and the rest can be verified", async () => {
    const clock = createSetClock();
    const store = await openStore(await createLocation(), { clock });
    await write(store, 20_500);
    const noted = await store.audit.head();
    expect(await store.retention.prune(limits)).toMatchObject({ auditEntries: 0 });
    clock.advance(31 * DAY_MS);
    await write(store, 10);
    expect(await store.retention.prune(limits, { isDryRun: true })).toMatchObject({ auditEntries: 20_000 });
    expect(await store.audit.verify()).toMatchObject({ ok: true, count: 20_510 });
    expect(await store.retention.prune(limits)).toMatchObject({ auditEntries: 20_000, archives: [] });
    // What is left, and the entry about the pruning.
    const pruned = { upTo: 20_000, seq: 20_511, at: expect.any(Number), rule: { auditDays: 30 } };
    expect(await store.audit.verify(noted)).toMatchObject({ ok: true, count: 511, pruned });
    const { entries } = await store.audit.query({ limit: 1 });
    expect(entries).toMatchObject([{ seq: 20_511, kind: "log_pruned", data: { first: 1, upTo: 20_000 } }]);
    await store.database.run("UPDATE audit SET at = at + 1 WHERE seq = 20001");
    expect(await store.audit.verify()).toMatchObject({ ok: false, problems: [{ seq: 20_001 }] });
    await store.close();
  });

  test("deletes the oldest segments of a store that is too large, and its free space is used again", async () => {
    const store = await openStore(await createLocation());
    await write(store, 30_500);
    const { bytesBefore } = await store.retention.prune(limits);
    const maxMb = bytesBefore / 2 / 1024 / 1024;
    const pruned = await store.retention.prune({ ...limits, maxMb });
    expect([10_000, 20_000]).toContain(pruned.auditEntries);
    expect(await store.audit.verify()).toMatchObject({ ok: true });
    const { bytesAfter } = await store.retention.vacuum();
    // A server keeps the space for itself.
    expect(store.database.isShared || bytesAfter < bytesBefore).toBe(true);
    await store.close();
  });

  test("deletes sessions that nobody used, with all that belongs to them", async () => {
    const clock = createSetClock();
    const store = await openStore(await createLocation(), { clock });
    const session = (key: string, root = key, parent?: string) =>
      store.sessions.add({ key, root, parent, state: "idle", updatedAt: clock.now() } as Session);
    await session("old");
    await session("parent");
    clock.advance(200 * DAY_MS);
    await session("child", "parent", "parent");
    expect(await store.retention.prune(limits)).toMatchObject({ sessions: 1 });
    const left = await store.database.all<{ key: string }>("SELECT key FROM sessions ORDER BY key");
    expect(left.map(({ key }) => JSON.parse(key) as string)).toEqual(["child", "parent"]);
    await store.close();
  });
});

test("the use of tools is deleted if it is older than 180 days", async () => {
  const clock = createSetClock();
  const store = await openStore(
    { stateFolder: mkdtempSync(join(folder, "s-")) },
    { clock, secretNames: ["ledger id"] },
  );
  const uses = await store.toolUse("/w");
  const use = (tool: string) => ({
    ...{ user: "ada", tool, uses: 1 },
    ...{ lastUsedAt: clock.now(), questions: ["post with ledger_id=4711-ab"] },
  });
  await uses.add([use("old")]);
  clock.advance(181 * DAY_MS);
  await uses.add([use("new")]);
  await store.retention.prune(limits);
  // The host's names of secrets are masked too.
  expect(await (await store.toolUse("/w")).load("ada")).toMatchObject([
    { tool: "new", questions: ["post with ledger_id=[hidden]"] },
  ]);
  expect(await (await store.toolUse("/other")).load("ada")).toEqual([]);
  const plan = await store.database.all<{ detail: string }>(
    "EXPLAIN QUERY PLAN SELECT * FROM tool_use WHERE workspace = ? ORDER BY last_used_at DESC LIMIT 500",
    ["/w"],
  );
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringContaining("USING INDEX tool_use_recent")]);
  await store.close();
});

test("a pruning that fails is made again an hour later, and none after the store is closed", async () => {
  const clock = createFakeClock();
  const warnings: string[] = [];
  let prunings = 0;
  const retention = new Retention({
    database: {} as SqlDatabase,
    clock,
    owner: "test",
    outputs: { pruneOutputs: () => undefined },
    folder: undefined,
    warn: (warning) => void warnings.push(warning),
  });
  retention.prune = () => Promise.reject(new Error(`locked ${++prunings}`));
  retention.start(() => limits);
  await clock.advance(60_000);
  await clock.advance(60 * 60_000);
  expect(warnings).toEqual([expect.stringContaining("locked 1"), expect.stringContaining("locked 2")]);
  await retention.close();
  await clock.advance(3 * 60 * 60_000);
  expect([prunings, clock.pendingTimers]).toEqual([2, 0]);
});

test("archives are whole, are written once, and continue each other", async () => {
  const stateFolder = mkdtempSync(join(folder, "s-"));
  const clock = createSetClock();
  const store = await openStore({ stateFolder }, { clock });
  await write(store, 20_010);
  const [first = "", second = ""] = await store.retention.archive();
  const [head, ...lines] = gunzipSync(readFileSync(first)).toString().trim().split("\n");
  const read = (line = "{}") => JSON.parse(line) as Record<string, unknown>;
  expect([lines.length, read(lines[0])["seq"], read(lines.at(-1))["seq"]]).toEqual([10_000, 1, 10_000]);
  expect(read(head)).toMatchObject({ firstSeq: 1, lastSeq: 10_000, previous: "", hash: read(lines.at(-1))["hash"] });
  const [next] = gunzipSync(readFileSync(second)).toString().split("\n");
  expect(read(next)["previous"]).toBe(read(head)["hash"]);
  expect(statSync(first).mode & 0o777).toBe(0o600);
  expect(await store.retention.archive()).toEqual([]);
  clock.advance(31 * DAY_MS);
  const pruned = await store.retention.prune({ ...limits, archives: true });
  expect(pruned).toMatchObject({ auditEntries: 20_000, archives: [first, second] });
  await store.close();
});

/** Entries of long ago, without their hashes: pruning reads only the last one of a segment. */
async function fillWithOld(store: Store, count: number): Promise<void> {
  await store.database.run(
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) " +
      "INSERT INTO audit (seq, at, kind, owner, data, previous, hash) " +
      "SELECT i, 1, 'note', 'o', hex(randomblob(100)), '', 'h' || i FROM n",
    [count],
  );
  await store.database.run("UPDATE audit_head SET count = ?, hash = ?", [count, `h${count}`]);
  await store.database.run("UPDATE audit_index SET seq = ?", [count]);
}

test("a pruning that was killed goes on where it stopped, and deletes no more than it was to", async () => {
  const children = await prepareChildren();
  onTestFinished(() => children.remove());
  const stateFolder = mkdtempSync(join(folder, "s-"));
  const filled = await openStore({ stateFolder });
  await fillWithOld(filled, 50_000);
  const { used } = await filled.database.size();
  const maxMb = used / 2 / 1024 / 1024;
  await filled.close();
  const source = `
    const store = await openStore({ stateFolder: process.argv[2] });
    void store.retention.prune({ ...JSON.parse(process.argv[3]) });
    for (;;) {
      const [{ n }] = await store.database.all("SELECT MIN(seq) AS n FROM audit");
      if (n > 5000) say("begun");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }`;
  const tooMuch = { ...limits, auditDays: 1_000_000, maxMb };
  const child = children.start(source, [stateFolder, JSON.stringify(tooMuch)]);
  await child.waitForOutput("begun");
  child.process.kill("SIGKILL");
  await child.ended;
  const store = await openStore({ stateFolder });
  const first = async () => (await store.database.all<{ n: number }>("SELECT MIN(seq) AS n FROM audit"))[0]?.n;
  const [begun] = await store.database.all<{ seq: number }>("SELECT MAX(last_seq) AS seq FROM audit_segments");
  expect(await first()).toBeLessThan(begun!.seq);
  const { auditEntries } = await store.retention.prune(tooMuch);
  expect([await first(), auditEntries]).toEqual([begun!.seq + 1, expect.any(Number)]);
  expect(auditEntries).toBeGreaterThan(0);
  await store.close();
}, 120_000);
