import { describe, expect, test } from "vitest";
import type { AuditFact } from "../../gate/audit-log.ts";
import { ENGINES, useEngine } from "../engines.fixture.ts";
import type { Store } from "../store.ts";
import { deleteUpTo } from "./audit-segments.ts";
import { ALL, auditCounts, DAY, HOUR, MINUTE } from "./index-tables.ts";

type Log = Store["audit"];

async function addEnded(log: Log, count: number, fact: (at: number) => Partial<AuditFact> = () => ({})): Promise<void> {
  const entry = (at: number): AuditFact => ({
    ...{ kind: "call_ended", status: "completed", toolName: "read", data: { durationMs: at + 1, contentBytes: 2 } },
    ...fact(at),
  });
  await Promise.all(Array.from({ length: count }, (_, at) => log.append(entry(at))));
}

async function seqsOf(log: Log, text: string): Promise<number[]> {
  return (await log.query({ text })).entries.map(({ seq }) => seq);
}

describe.each(ENGINES)("the index of the log on $name", (engine) => {
  const { openStore, createLocation } = useEngine(engine);

  test("finds all words of a text by their beginnings, in every value and in no name", async () => {
    const { audit } = await openStore();
    await audit.append({ kind: "note", data: { path: "src/Index.ts", list: ["Über Straße", 4711] } });
    await audit.append({ kind: "note", toolName: "read_file", callId: "c-9", data: { said: "你好，世界 и Привет" } });
    await audit.append({ kind: "note", data: { path: "index of src", odd: "a\u0000b\ud800c" } });
    expect(await seqsOf(audit, "ind src")).toEqual([3, 1]);
    expect(await seqsOf(audit, "src/index")).toEqual([1]);
    expect(await seqsOf(audit, "STRASS")).toEqual([]);
    expect(await seqsOf(audit, "straß 47")).toEqual([1]);
    expect(await seqsOf(audit, "界")).toEqual([2]);
    expect(await seqsOf(audit, "世 好")).toEqual([2]);
    expect(await seqsOf(audit, "прив")).toEqual([2]);
    expect(await seqsOf(audit, "read file c 9")).toEqual([2]);
    expect(await seqsOf(audit, "path")).toEqual([]);
    expect(await seqsOf(audit, "，")).toEqual([2]);
    expect(await seqsOf(audit, "'; DROP TABLE audit; --")).toEqual([]);
    expect(await seqsOf(audit, '" OR * NEAR(')).toEqual([]);
  });

  test("counts each entry once while several processes index, and so do facets of a time", async () => {
    const location = await createLocation();
    const stores = await Promise.all([1, 2, 3].map(() => openStore(location)));
    const [first, second, third] = stores as [Store, Store, Store];
    const begin = Date.now();
    await addEnded(first.audit, 700, (at) => (at % 10 === 0 ? { status: "failed", toolName: "exec" } : {}));
    await Promise.all(stores.map(({ audit }) => audit.index.reach(700)));
    await addEnded(second.audit, 300);
    const { count: head } = await third.audit.head();
    await Promise.all(stores.map(({ audit }) => audit.index.reach(head)));
    const counters = await auditCounts.select(third.database, auditCounts.keys);
    for (const span of [MINUTE, HOUR, DAY, ALL]) {
      const sum = counters.filter((row) => row.span === span).reduce((all, { count }) => all + count, 0);
      expect(sum).toBe(1000);
    }
    expect(counters.find(({ span, tool }) => span === DAY && tool === "exec")).toMatchObject({ bytes: 140 });
    const expected = [
      { value: "read", count: 930 },
      { value: "exec", count: 70 },
    ];
    expect((await third.audit.facets()).tool).toEqual(expected);
    expect((await third.audit.facets({ since: begin, until: Date.now() })).tool).toEqual(expected);
    expect((await third.audit.facets({ since: Date.now() + HOUR })).tool).toEqual([]);
    expect((await third.audit.facets({ until: begin - HOUR })).tool).toEqual([]);
    expect((await third.audit.facets({ status: "failed" })).tool).toEqual([{ value: "exec", count: 70 }]);
    expect((await third.audit.query({ status: "failed", limit: 100 })).entries).toHaveLength(70);
    expect((await third.audit.query({ status: "unknown" })).entries).toEqual([]);
  });

  test("forgets the words of old entries and keeps their counters", async () => {
    const { audit, database } = await openStore();
    for (let at = 0; at < 3; at++)
      await audit.append({ kind: "call_ended", status: "completed", data: { w: "needle" } });
    expect(await seqsOf(audit, "needle")).toEqual([3, 2, 1]);
    await deleteUpTo(database, 2);
    expect(await seqsOf(audit, "needle")).toEqual([3]);
    const [counted] = await database.all<{ count: number }>(
      `SELECT SUM(count) AS count FROM audit_counts WHERE span = ${HOUR}`,
    );
    expect(counted).toEqual({ count: 3 });
  });

  test("has what was appended just now, also after the data of an entry was destroyed", async () => {
    const { audit, database } = await openStore();
    await audit.append({ kind: "note", data: { said: "before" } });
    await database.run("UPDATE audit SET data = '{broken' WHERE seq = 1");
    await audit.append({ kind: "note", data: { said: "after" } });
    expect(await seqsOf(audit, "after")).toEqual([2]);
    expect(await seqsOf(audit, "broken")).toEqual([1]);
  });

  test("continues a check of the chain behind the entries that were found sound", async () => {
    const { audit, database } = await openStore();
    const odd = ["a\u0001\u001f\u007f\u0080", "😀\u2028\u2029", '\\ " /\b\f\n\r\t', "é世界", "\ud800"];
    for (const text of odd) await audit.append({ kind: "note", toolName: text, callId: text, data: { text, n: 1e-7 } });
    const progress: number[][] = [];
    const onProgress = (checked: number, of: number) => progress.push([checked, of]);
    expect(await audit.verify(undefined, { onProgress })).toMatchObject({ ok: true, count: 5 });
    expect(progress).toEqual([[5, 5]]);
    await addEnded(audit, 10);
    const checked = await audit.verify(undefined, { sinceCheckpoint: true });
    expect(checked).toMatchObject({ ok: true, count: 10, checkpoint: { seq: 5 } });
    await database.run("UPDATE audit SET tool = 'x' WHERE seq = 2");
    expect(await audit.verify(undefined, { sinceCheckpoint: true })).toMatchObject({ ok: true, count: 0 });
    expect(await audit.verify()).toMatchObject({ ok: false, problems: [{ seq: 2, problem: "altered" }] });
    await database.run("UPDATE audit SET hash = 'x' WHERE seq = 15");
    expect(await audit.verify(undefined, { sinceCheckpoint: true })).toMatchObject({ ok: false });
  });
});
