import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import type { AuditProblem } from "../../gate/audit-log.ts";
import { hafted } from "../../gate/audit-log.suite.ts";
import { createHaft } from "../../runtime.ts";
import { audit, auditSegments } from "./audit-chain.ts";
import { pruneSegments } from "./audit-segments.ts";
import { openStore, type Store, type StoreLocation } from "../store.ts";
import type { SqlValue } from "../database.ts";
import { ENGINES, useEngine } from "../engines.fixture.ts";

const folder = temporaryFolder("haft-audit-");
const opened: Store[] = [];

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

async function open(place: StoreLocation = { stateFolder: mkdtempSync(join(folder, "s-")) }): Promise<Store> {
  const store = await openStore(place);
  opened.push(store);
  return store;
}

/** A store with the entries of a few calls. */
async function filled(place?: StoreLocation): Promise<Store> {
  const store = await open(place);
  const haft = hafted(store.audit);
  await haft.execute("put", { path: "a" }, { id: "1", caller: { session: "s", agent: "a", user: "u" }, taskId: "t" });
  await haft.execute("look", { at: "b" }, { id: "2" });
  await store.audit.append(
    { kind: "approval_answered", verdict: "allow", parentId: "p", callId: "3" },
    { synced: true },
  );
  await store.audit.flush();
  return store;
}

const COUNT = 4;

type RawRow = Record<string, SqlValue> & { seq: number; hash: string };
const AUDIT_COLUMNS = audit.list().split(", ");

test("hides what further names call a secret, as a key and in text", async () => {
  const store = await openStore(
    { stateFolder: mkdtempSync(join(folder, "s-")) },
    { secretNames: ["customer_number", ""] },
  );
  opened.push(store);
  await store.audit.append({
    kind: "note",
    data: { customerNumber: "KD-47-11", text: "customer-number=KD-47-11 of 12" },
  });
  const haft = hafted(store.audit);
  await haft.execute("put", { path: "a?customer_number=KD-47-11" }, { id: "1" });
  const kept = JSON.stringify((await store.audit.query()).entries.map(({ data }) => data));
  expect(kept).not.toContain("KD-47-11");
  expect(kept).toContain("of 12");
});

describe.each(ENGINES)("a change of the log on $name", (engine) => {
  const { createLocation: newLocation } = useEngine(engine);

  test("is found, whichever value of whichever entry was changed", async () => {
    const store = await filled(await newLocation());
    const rows = await store.database.all<RawRow>("SELECT * FROM audit ORDER BY seq");
    expect(rows).toHaveLength(COUNT);
    for (const row of rows) {
      for (const column of AUDIT_COLUMNS) {
        const was = row[column] ?? null;
        for (const value of changesOf(was, column)) {
          await store.database.run(`UPDATE audit SET ${column} = ? WHERE seq = ?`, [value, row.seq]);
          const { ok, problems } = await store.audit.verify();
          const what = `${column} of entry ${row.seq} became ${JSON.stringify(value)}`;
          expect({ what, ok }).toEqual({ what, ok: false });
          const named = problems.map(({ seq }) => seq);
          expect(named, what).toContain(row.seq);
          await store.database.run(`UPDATE audit SET ${column} = ? WHERE seq = ?`, [
            was,
            column === "seq" ? (value as number) : row.seq,
          ]);
        }
      }
    }
    expect(await store.audit.verify()).toMatchObject({ ok: true });
  });

  test("is found when entries were removed, put in, swapped or cut off, and named", async () => {
    const cases: [string, (store: Store) => Promise<unknown>, Partial<AuditProblem>[]][] = [
      [
        "removed",
        async ({ database }) => await database.run("DELETE FROM audit WHERE seq = 2"),
        [{ seq: 2, problem: "missing" }],
      ],
      [
        "several removed",
        async ({ database }) => await database.run("DELETE FROM audit WHERE seq IN (2, 3)"),
        [{ seq: 2, problem: "missing", message: "Entries 2 to 3 are missing." }],
      ],
      [
        "the first removed",
        async ({ database }) => await database.run("DELETE FROM audit WHERE seq = 1"),
        [{ seq: 1, problem: "missing" }],
      ],
      [
        "cut off",
        async ({ database }) => await database.run("DELETE FROM audit WHERE seq > 3"),
        [{ seq: 4, problem: "missing" }],
      ],
      ["emptied", async ({ database }) => await database.run("DELETE FROM audit"), [{ seq: 1, problem: "missing" }]],
      [
        "swapped",
        async ({ database }) => {
          for (const [from, to] of [
            [2, 99],
            [3, 2],
            [99, 3],
          ] as const) {
            await database.run("UPDATE audit SET seq = ? WHERE seq = ?", [to, from]);
          }
        },
        [
          { seq: 2, problem: "altered" },
          { seq: 3, problem: "altered" },
          { seq: 4, problem: "altered", message: expect.stringContaining("entry 3") },
        ],
      ],
      ["put in at the end", (store) => forge(store, COUNT + 1), [{ seq: COUNT + 1, problem: "inserted" }]],
      [
        "replaced with its own hash right",
        async (store) => {
          await store.database.run("DELETE FROM audit WHERE seq = 3");
          await forge(store, 3);
        },
        [{ seq: 4, problem: "altered", message: expect.stringContaining("entry 3") }],
      ],
      [
        "put in at the end, and more written since",
        async (store) => {
          await forge(store, COUNT + 1);
          await store.audit.append({ kind: "note" });
        },
        [{ seq: COUNT + 2, problem: "altered" }],
      ],
      [
        "cut off, and more written since",
        async (store) => {
          await store.database.run("DELETE FROM audit WHERE seq > 3");
          await store.audit.append({ kind: "note" });
        },
        [{ seq: 4, problem: "missing", message: "Entry 4 is missing." }],
      ],
      ["without its head", async ({ database }) => await database.run("DELETE FROM audit_head"), [{ problem: "head" }]],
      [
        "with another head",
        async ({ database }) => await database.run("UPDATE audit_head SET hash = ?", ["0".repeat(64)]),
        [{ seq: COUNT, problem: "head" }],
      ],
    ];
    for (const [what, change, expected] of cases) {
      const store = await filled(await newLocation());
      await change(store);
      const { ok, problems } = await store.audit.verify();
      expect({ what, ok, problems }).toMatchObject({ what, ok: false, problems: expected });
      await opened.pop()!.close();
    }
  });

  test("stays in the log when the head was removed and the log goes on", async () => {
    const store = await filled(await newLocation());
    await store.database.run("DELETE FROM audit_head");
    await store.audit.append({ kind: "note" });
    expect(await store.audit.verify()).toMatchObject({ ok: true });
    expect((await store.audit.query({ limit: 2 })).entries).toMatchObject([
      { kind: "note" },
      { kind: "gap", data: { reason: expect.stringContaining(`entries after ${COUNT}`) } },
    ]);
  });

  test("shows against a head that was noted elsewhere, also where all was rewritten", async () => {
    const store = await filled(await newLocation());
    const noted = await store.audit.head();
    await store.database.run("DELETE FROM audit");
    await store.database.run("UPDATE audit_head SET count = 0, hash = ''");
    for (let i = 0; i < 7; i++) await store.audit.append({ kind: "note" });
    expect(await store.audit.verify()).toMatchObject({ ok: true });
    expect(await store.audit.verify(noted)).toMatchObject({
      ok: false,
      problems: [{ seq: noted.count, problem: "altered" }],
    });
  });
});

describe.each(ENGINES)("the oldest entries on $name", (engine) => {
  const { createLocation } = useEngine(engine);

  /** A log of ten entries, and the segment of its first `upTo`. */
  async function segmentOf(upTo: number) {
    const store = await open(await createLocation());
    for (let i = 0; i < 10; i++) await store.audit.append({ kind: "note", data: { i } });
    const noted = await store.audit.head();
    const [end] = await audit.select(store.database, ["at", "hash"], "WHERE seq = ?", [upTo]);
    const segment = { firstSeq: 1, lastSeq: upTo, previous: "", hash: end!.hash, lastAt: end!.at };
    const at = Date.now();
    /** What somebody does who can write the store. */
    const removeUpTo = async (seq: number, hash: string) => {
      await auditSegments.upsert(store.database, { ...segment, lastSeq: seq, hash, prunedAt: at }, ["lastSeq"]);
      await store.database.run("DELETE FROM audit WHERE seq <= ?", [seq]);
    };
    return { store, noted, segment, at, removeUpTo };
  }

  test("may be missing if an entry of the chain names them and the rule", async () => {
    const { store, noted, segment, at } = await segmentOf(4);
    const pruning = { segments: [segment], rule: { maxMb: 1 }, at, owner: "test" };
    expect(await pruneSegments(store.database, pruning)).toBe(4);
    const pruned = { upTo: 4, at, seq: 11, rule: { maxMb: 1 } };
    expect(await store.audit.verify(noted)).toMatchObject({ ok: true, count: 7, pruned });
    expect(await store.audit.verify(undefined, { sinceCheckpoint: true })).toMatchObject({ ok: true, pruned });
    const early = { count: 2, hash: noted.hash };
    const gone = { seq: 2, problem: "altered", message: expect.stringContaining("was pruned, as entry 11 says") };
    expect(await store.audit.verify(early)).toMatchObject({ ok: false, problems: [gone] });
  });

  test("may not be missing otherwise, whatever the tables say", async () => {
    const { store, noted, segment, at, removeUpTo } = await segmentOf(4);
    const missing = (upTo: number) => ({
      ...{ ok: false, pruned: undefined },
      problems: [{ seq: 1, problem: "missing", message: expect.stringContaining(`Entries 1 to ${upTo} are missing`) }],
    });
    await store.audit.verify();
    await removeUpTo(4, segment.hash);
    for (const options of [{}, { sinceCheckpoint: true }]) {
      expect(await store.audit.verify(noted, options)).toMatchObject(missing(4));
      expect(await store.audit.verify(undefined, options)).toMatchObject(missing(4));
    }
    // The entry about a real pruning names another range.
    await pruneSegments(store.database, { segments: [segment], rule: { auditDays: 1 }, at, owner: "test" });
    expect(await store.audit.verify(noted)).toMatchObject({ ok: true });
    const [sixth] = await audit.select(store.database, ["hash"], "WHERE seq = 6");
    await removeUpTo(6, sixth!.hash);
    expect(await store.audit.verify(noted)).toMatchObject(missing(6));
    await store.database.run("UPDATE audit SET data = REPLACE(data, '\"upTo\":4', '\"upTo\":6') WHERE seq = 11");
    const altered = { seq: 11, problem: "altered" };
    expect(await store.audit.verify(noted)).toMatchObject({ ok: false, problems: [{ seq: 1 }, altered] });
  });

  test("that an earlier version pruned are named as such, and not as a problem", async () => {
    const { store, noted, segment, removeUpTo } = await segmentOf(4);
    await removeUpTo(4, segment.hash);
    await store.audit.append({ kind: "note", data: { action: "audit_pruned", upTo: 4, hash: segment.hash } });
    const report = await store.audit.verify(noted);
    expect(report).toMatchObject({ ok: true, pruned: { upTo: 4, seq: 11 } });
    expect(report.pruned?.rule).toBeUndefined();
  });
});

/** An entry that nobody said, made by somebody who knows how hashes are made. */
async function forge(store: Store, seq: number): Promise<void> {
  const other = await open();
  const at = await store.database.all<RawRow>("SELECT * FROM audit WHERE seq = ?", [seq - 1]);
  await other.database.run("UPDATE audit_head SET count = ?, hash = ?", [seq - 1, at[0]!.hash]);
  await other.audit.append({ kind: "trust", data: { all: true } });
  const [row] = await other.database.all<RawRow>("SELECT * FROM audit WHERE seq = ?", [seq]);
  const values = AUDIT_COLUMNS.map((column): SqlValue => row?.[column] ?? null);
  await store.database.run(
    `INSERT INTO audit (${AUDIT_COLUMNS.join(", ")}) VALUES (${AUDIT_COLUMNS.map(() => "?").join(", ")})`,
    values,
  );
}

function changesOf(was: SqlValue, column: string): SqlValue[] {
  if (column === "seq") return [(was as number) + 1000];
  if (typeof was === "number") return [was + 1, 1].filter((value) => value !== was);
  if (was === null) return column === "depth" ? [0] : ["x", ""];
  const text = was as string;
  return [`${text} `, text.replace(/.$/s, (last) => (last === "x" ? "y" : "x"))].filter((value) => value !== was);
}

test("keeps few entries in memory while a caller lets no timer fire", async () => {
  const store = await open();
  const haft = hafted(store.audit);
  const calls = 3000;
  for (let i = 0; i < calls; i += 1) await haft.execute("look", { at: "a" });
  const [row] = await store.database.all<{ n: number }>("SELECT count(*) AS n FROM audit");
  expect(row!.n).toBeGreaterThan(calls - 300);
});

describe("a log that cannot be written", () => {
  const long = "z".repeat(1900);

  /** The disk is full, as far as SQLite can tell, and nothing of this length fits any more; until there is room again. */
  async function fill(store: Store): Promise<() => Promise<void>> {
    const [row] = await store.database.all<{ page_count: number }>("PRAGMA page_count");
    await store.database.all(`PRAGMA max_page_count = ${row!.page_count + 2}`);
    for (let isFull = false; !isFull;) {
      await store.audit.append({ kind: "note", data: { long } }).catch(() => (isFull = true));
    }
    return async () => void (await store.database.all("PRAGMA max_page_count = 100000"));
  }

  test("keeps what changes things from running, lets reading go on, and writes everything down once it can", async () => {
    const store = await open();
    const haft = hafted(store.audit);
    await haft.execute("put", { path: "before" }, { id: "before" });
    const evictOldest = await fill(store);
    expect(await haft.execute("put", { path: long }, { id: "w" })).toMatchObject({
      status: "failed",
      error: { code: "not_recorded", retryable: true, message: expect.stringMatching(/not run.*disk is full/) },
    });
    expect(await haft.execute("look", { at: long }, { id: "r" })).toMatchObject({
      status: "completed",
      metadata: { unrecorded: expect.stringContaining("kept in memory") },
    });
    await expect(store.audit.append({ kind: "approval_answered", data: { long } }, { synced: true })).rejects.toThrow(
      /full/,
    );
    await expect(store.audit.flush()).rejects.toThrow(/full/);
    await evictOldest();
    expect(await haft.execute("put", { path: "after" }, { id: "a" })).toMatchObject({ status: "completed" });
    const reported: string[] = [];
    for await (const { kind, callId } of store.audit.entries()) if (kind !== "note") reported.push(`${kind} ${callId}`);
    expect(reported).toEqual([
      "call_begun before",
      "call_ended before",
      "call_refused w",
      "call_ended r",
      "call_begun a",
      "call_ended a",
    ]);
    expect(await store.audit.verify()).toMatchObject({ ok: true });
  });

  test("lets a read-only call run that has an id", async () => {
    const store = await open();
    const haft = createHaft({ log: store.audit, calls: store.calls });
    let runs = 0;
    haft.register({
      name: "look",
      description: "Looks",
      kind: "readonly",
      parameters: [],
      run: () => `${++runs} ${long}`,
    });
    const evictOldest = await fill(store);
    const options = { id: "1", caller: { session: "s" } };
    expect(await haft.execute("look", {}, options)).toMatchObject({
      status: "completed",
      metadata: { unrecorded: expect.stringContaining("disk is full") },
    });
    expect(store.database.health()).toMatchObject({ state: "full" });
    await evictOldest();
    for (let again = 0; again < 2; again += 1) await haft.execute("look", {}, { ...options, id: "2" });
    // Reading again does no harm.
    expect(runs).toBe(3);
    await store.audit.flush();
    expect(store.database.health()).toEqual({ state: "ok" });
    await haft.shutdown();
  });

  test("says how many entries it could not even keep", async () => {
    const store = await open();
    const haft = hafted(store.audit);
    const evictOldest = await fill(store);
    const { count: before } = await store.audit.head();
    for (let i = 0; i < 10_100; i++) await haft.execute("look", { at: long });
    await evictOldest();
    await store.audit.flush();
    const { entries } = await store.audit.query({ kind: "gap" });
    const { count } = await store.audit.head();
    expect(entries).toMatchObject([{ data: { reason: expect.stringContaining("full") } }]);
    expect(count - before - 1 + (entries[0]!.data["count"] as number)).toBe(10_100);
    expect(await store.audit.verify()).toMatchObject({ ok: true });
  });

  test("says at closing that entries were not written", async () => {
    const store = await open();
    opened.pop();
    await store.audit.flush();
    const haft = hafted(store.audit);
    await fill(store);
    await haft.execute("look", { at: long });
    await expect(store.close()).rejects.toThrow(/full/);
  });
});
