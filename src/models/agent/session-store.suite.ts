import { describe, expect, test } from "vitest";
import type { EntryDraft, Incoming, Lease, Session, SessionStore } from "./session-store.ts";

const USAGE = { inputTokens: 1, outputTokens: 2 };
const END = { stop: "done", text: "bye", steps: 1, usage: USAGE } as const;

const sessionOf = (key: string, more: Partial<Session> = {}): Session => ({
  key,
  root: key,
  caller: { session: key, depth: 0 },
  policy: [],
  environment: {},
  state: "idle",
  turns: 0,
  pending: [],
  usage: { inputTokens: 0, outputTokens: 0 },
  createdAt: 1,
  updatedAt: 1,
  ...more,
});

const incoming = (id: string, text = id): Incoming => ({ id, kind: "message", text, at: 1 });

const toEntry = ({ text, at: _at, ...incoming }: Incoming): EntryDraft => ({
  message: { role: "user", content: text },
  incoming,
});

/** The behaviour of every session store. `open` returns an empty one; `another`, for shared stores, is a second process. */
export function describeSessionStore(
  name: string,
  open: () => Promise<{ store: SessionStore; another?: SessionStore; die?: () => void }>,
  { isShared }: { isShared: boolean },
): void {
  const begin = async (): Promise<{ store: SessionStore; lease: Lease }> => {
    const { store } = await open();
    await store.add(sessionOf("a"));
    const lease = await store.claim("a");
    return { store, lease: lease! };
  };

  describe(`sessions in ${name}`, () => {
    test("are stored completely, and a key is accepted once", async () => {
      const { store } = await open();
      const session = sessionOf("s\0'; DROP TABLE sessions; -- 会话", { label: "l", environment: { A: "1" } });
      expect([await store.add(session), await store.add(session)]).toEqual([true, false]);
      expect(await store.get(session.key)).toEqual(session);
      expect(await store.get("nobody")).toBeUndefined();
    });

    test("are listed by query, the last changed first", async () => {
      const { store } = await open();
      await store.add(sessionOf("a", { updatedAt: 1, label: "x" }));
      await store.add(sessionOf("b", { updatedAt: 3, parent: "a", root: "a", state: "waiting" }));
      await store.add(sessionOf("c", { updatedAt: 2, parent: "b", root: "a" }));
      const keys = async (query?: Parameters<SessionStore["list"]>[0]) =>
        (await store.list(query)).map(({ key }) => key);
      expect(await keys()).toEqual(["b", "c", "a"]);
      expect(await keys({ limit: 2 })).toEqual(["b", "c"]);
      expect(await keys({ parent: "a" })).toEqual(["b"]);
      expect(await keys({ root: "a", state: "idle" })).toEqual(["c", "a"]);
      expect(await keys({ label: "x" })).toEqual(["a"]);
    });

    test("take messages in order, once per id, as one turn", async () => {
      const { store, lease } = await begin();
      expect([await store.push("a", incoming("1"), 9), await store.push("a", incoming("2"), 9)]).toEqual([
        "added",
        "added",
      ]);
      expect(await store.push("a", incoming("1", "again"), 9)).toBe("known");
      expect(await store.waiting("a")).toBe(2);
      const entries = await store.take(lease, toEntry);
      expect(entries?.map(({ seq, turn, message }) => [seq, turn, message])).toEqual([
        [1, 1, { role: "user", content: "1" }],
        [2, 1, { role: "user", content: "2" }],
      ]);
      expect(await store.push("a", incoming("2", "after it was taken"), 9)).toBe("known");
      expect(await store.take(lease, toEntry)).toEqual([]);
      expect(await store.get("a")).toMatchObject({ turns: 1, state: "running" });
    });

    test("reject messages above the maximum, and for unknown sessions", async () => {
      const { store } = await begin();
      await store.push("a", incoming("1"), 1);
      expect([await store.push("a", incoming("2"), 1), await store.push("b", incoming("2"), 1)]).toEqual([
        "full",
        "missing",
      ]);
      await store.drop("a", "1");
      expect([await store.waiting("a"), await store.push("a", incoming("2"), 1)]).toEqual([0, "added"]);
    });

    test("have one lease at a time, which is released when the inbox is empty", async () => {
      const { store, lease } = await begin();
      expect(await store.claim("a")).toBeUndefined();
      await store.push("a", incoming("1"), 9);
      expect(await store.release(lease)).toBe(false);
      expect(await store.claim("a")).toBeUndefined();
      await store.take(lease, toEntry);
      expect(await store.release(lease)).toBe(true);
      const next = await store.claim("a");
      expect(next).toMatchObject({ key: "a" });
      expect(await store.append(lease, [{ end: END }])).toBeUndefined();
      expect(await store.take(lease, toEntry)).toBeUndefined();
      await store.release(lease, true);
      expect(await store.claim("a")).toBeUndefined();
    });

    test("know the end of the turn that took a message, and the interrupted turns", async () => {
      const { store, lease } = await begin();
      await store.push("a", incoming("1"), 9);
      await store.take(lease, toEntry);
      expect(await store.endOf("a", "1")).toBeUndefined();
      await store.release(lease, true);
      expect(await store.due()).toEqual(["a"]);
      const again = (await store.claim("a"))!;
      await store.push("a", incoming("2"), 9);
      expect((await store.take(again, toEntry))?.[0]).toMatchObject({ seq: 2, turn: 1 });
      await store.append(again, [{ end: END }], { changes: { state: "idle", lastText: "bye", error: undefined } });
      expect([await store.endOf("a", "1"), await store.endOf("a", "2"), await store.endOf("a", "3")]).toEqual([
        END,
        END,
        undefined,
      ]);
      await store.release(again);
      expect(await store.due()).toEqual([]);
      expect(await store.get("a")).toMatchObject({ state: "idle", lastText: "bye", turns: 1 });
      await store.push("a", incoming("3"), 9);
      expect(await store.due()).toEqual(["a"]);
      const third = (await store.claim("a"))!;
      expect(await store.due()).toEqual([]);
      expect((await store.take(third, toEntry))?.[0]).toMatchObject({ seq: 4, turn: 2 });
    });

    test("add a message for another session in the same write, once", async () => {
      const { store, lease } = await begin();
      await store.add(sessionOf("parent"));
      const announce = { to: "parent", item: incoming("a is done") };
      await store.append(lease, [{ end: END }], { announce });
      await store.append(lease, [{ end: END }], { announce });
      await store.append(lease, [{ end: END }], { announce: { to: "nobody", item: incoming("x") } });
      expect([await store.waiting("parent"), await store.waiting("nobody")]).toEqual([1, 0]);
      expect(await store.due()).toEqual(["parent"]);
    });

    test("remove messages from the inbox that were written to the history", async () => {
      const { store, lease } = await begin();
      await store.push("a", incoming("1"), 9);
      await store.append(lease, [{ incoming: { id: "1", kind: "result" } }]);
      expect([await store.waiting("a"), await store.push("a", incoming("1"), 9)]).toEqual([0, "known"]);
    });

    test("have a history that is read from any position, and from the end", async () => {
      const { store, lease } = await begin();
      const drafts = Array.from({ length: 5 }, (_, i): EntryDraft => ({ message: { role: "user", content: `${i}` } }));
      await store.append(lease, drafts);
      const seqs = async (query: Parameters<SessionStore["history"]>[1]) =>
        (await store.history("a", query)).map(({ seq }) => seq);
      expect(await seqs({})).toEqual([1, 2, 3, 4, 5]);
      expect(await seqs({ after: 1, limit: 2 })).toEqual([2, 3]);
      expect(await seqs({ last: 2 })).toEqual([4, 5]);
      expect(await seqs({ after: 4, last: 3 })).toEqual([5]);
    });

    test("have a stop request until the lease is released", async () => {
      const { store, lease } = await begin();
      expect([await store.requestStop("a"), await store.requestStop("b")]).toEqual([true, false]);
      expect([await store.isStopRequested("a"), await store.isStopRequested("b")]).toEqual([true, false]);
      await store.release(lease);
      expect(await store.isStopRequested("a")).toBe(false);
    });

    test.runIf(isShared)("of a process that died are taken over by another, and no earlier", async () => {
      const { store, another, die } = (await open()) as Required<Awaited<ReturnType<typeof open>>>;
      await store.add(sessionOf("a"), incoming("1"));
      const lost = (await store.claim("a"))!;
      await store.take(lost, toEntry);
      expect([await another.claim("a"), await another.due()]).toEqual([undefined, []]);
      die();
      expect(await another.due()).toEqual(["a"]);
      const lease = (await another.claim("a"))!;
      await another.append(lease, [{ end: END }]);
      expect(await store.append(lost, [{ end: END }])).toBeUndefined();
    });
  });
}
