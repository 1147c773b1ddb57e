import { describe, expect, test } from "vitest";
import type { ToolResult } from "../core/result.ts";
import { aQuestion } from "./approval.fixture.ts";
import type { CallStore } from "./call-store.ts";
import {
  approve,
  cancel,
  change,
  claim,
  deny,
  end,
  expire,
  hold,
  lose,
  release,
  restart,
  type StoredCall,
  type Transition,
} from "./stored-call.ts";

const LIMITS = { maxOpenPerSession: 1000, maxOpenPerUser: 1000 };
const RESULT: ToolResult = {
  callId: "c",
  toolName: "rm",
  status: "completed",
  success: true,
  content: [],
  display: "",
  metadata: {},
  startedAt: 1,
};

/** The behaviour of every store of calls. `open` returns the same store again, as another process would have it. */
export function describeCallStore(name: string, open: () => Promise<CallStore> | CallStore): void {
  const never = (): boolean => false;
  const NOW = 5000;

  const changeIn = async (store: CallStore, id: string, transition: Transition, next?: StoredCall) =>
    store.change(id, (row) => transition(row, NOW), { next });

  async function add(store: CallStore, more: Partial<StoredCall> = {}): Promise<StoredCall> {
    const inserted = await store.insert(aQuestion(more), { limits: LIMITS });
    if (inserted.outcome !== "inserted") throw new Error(inserted.outcome);
    return inserted.row;
  }

  const keyed = (key: string, owner: string, more: Partial<StoredCall> = {}): StoredCall =>
    aQuestion({ question: undefined, deadline: undefined, key, state: "running", owner, epoch: 1, ...more });

  describe(`calls in ${name}`, () => {
    test("are returned as they were stored, with any characters", async () => {
      const store = await open();
      const row = aQuestion();
      expect(await store.insert(row, { limits: LIMITS })).toMatchObject({ outcome: "inserted" });
      expect(await (await open()).get(row.id)).toEqual(row);
      expect(await store.find(row.key ?? "")).toEqual(row);
      expect(await store.get("apr_none")).toBeUndefined();
      expect(await store.find("none")).toBeUndefined();
    });

    test("are copies: changing a returned row does not change the store", async () => {
      const store = await open();
      const row = await add(store);
      const read = await store.get(row.id);
      if (read) read.state = "approved";
      Object.assign(row.caller, { session: "other" });
      expect(await store.get(row.id)).toMatchObject({ state: "waiting", caller: { session: "s\0" } });
    });

    test("are copies: changing the row or the result of a change does not change the store", async () => {
      const store = await open();
      const { id } = await add(store);
      await changeIn(store, id, approve({ approved: true }, never));
      await changeIn(store, id, claim(store.processId, never));
      const result = { ...RESULT, content: [{ type: "text" as const, text: "done" }], details: { list: [1] } };
      const ended = await changeIn(
        store,
        id,
        end(store.processId, 1, { outcome: "completed", result, releasesKey: false }),
      );
      result.details.list.push(2);
      Object.assign(ended?.caller ?? {}, { session: "other" });
      Object.assign(ended?.question ?? {}, { reason: "other" });
      const stored = await store.get(id);
      expect(stored).toMatchObject({ caller: { session: "s\0" }, result: { details: { list: [1] } } });
      expect(stored?.question?.reason).not.toBe("other");
    });

    test("that ended meanwhile in another process are ended by what is stored", async () => {
      const [store, another] = [await open(), await open()];
      const row = keyed(`k_${crypto.randomUUID()}`, store.processId);
      await store.insert(row);
      await changeIn(another, row.id, lose(store.processId));
      const completed = end(store.processId, 1, { outcome: "completed", result: RESULT, releasesKey: false });
      expect(await changeIn(store, row.id, completed)).toMatchObject({ state: "ended", outcome: "completed" });
      expect(await changeIn(store, row.id, completed)).toBeUndefined();
      expect(await another.get(row.id)).toMatchObject({ outcome: "completed", result: { callId: RESULT.callId } });
    });

    test("with the same key are one call", async () => {
      const [store, another] = [await open(), await open()];
      const row = await add(store);
      expect(await another.insert(aQuestion({ key: row.key }), { limits: LIMITS })).toMatchObject({
        outcome: "known",
        row: { id: row.id },
      });
      const first = keyed(`k_${row.id}`, store.processId);
      const insert = async (one: CallStore) => one.insert({ ...first, id: crypto.randomUUID() });
      const begun = await Promise.all([insert(store), insert(another)]);
      expect(begun.map(({ outcome }) => outcome).sort()).toEqual(["inserted", "known"]);
    });

    test("that did not happen release their key; a denial keeps it", async () => {
      const store = await open();
      for (const [transition, isKept] of [
        [cancel("not wanted"), false],
        [expire(() => true), false],
        [change(store.processId, "the file"), false],
        [deny({ approved: false }, never), true],
      ] as const) {
        const { id, key = "" } = await add(store);
        expect(await changeIn(store, id, transition)).toMatchObject({ state: "ended" });
        expect((await store.find(key))?.id).toBe(isKept ? id : undefined);
      }
    });

    test("are answered once", async () => {
      const [store, another] = [await open(), await open()];
      const { id } = await add(store);
      const answers = await Promise.all(
        ["ada", "bob"].map((by, at) => changeIn(at ? store : another, id, approve({ approved: true, by }, never))),
      );
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect((await store.get(id))?.answer?.by).toBe(answers.find(Boolean)?.answer?.by);
      expect((await store.get(id))?.state).toBe("approved");
    });

    test("are started once, also if several processes try", async () => {
      const stores = [await open(), await open(), await open()];
      const { id } = await add(stores[0]!);
      await changeIn(stores[0]!, id, approve({ approved: true }, never));
      const claims = await Promise.all(stores.map((store) => changeIn(store, id, claim(store.processId, never))));
      expect(claims.filter(Boolean)).toHaveLength(1);
      expect(await stores[1]!.get(id)).toMatchObject({ state: "running", epoch: 1 });
    });

    test("cannot be started before they are approved, after they expired, or while another process holds them", async () => {
      const store = await open();
      const { id } = await add(store);
      const start = claim("me", never);
      expect(await changeIn(store, id, start)).toBeUndefined();
      expect(await changeIn(store, id, hold("holder", 2 ** 41))).toMatchObject({ holder: "holder" });
      await changeIn(store, id, approve({ approved: true }, never));
      expect(await changeIn(store, id, start)).toBeUndefined();
      expect(
        await changeIn(
          store,
          id,
          claim("holder", () => true),
        ),
      ).toBeUndefined();
      expect(await changeIn(store, id, claim("me", never, "holder"))).toMatchObject({ owner: "me", holder: undefined });
    });

    test("can be denied until they start, and not answered after the deadline", async () => {
      const store = await open();
      const late = (): boolean => true;
      const [one, two] = [await add(store), await add(store)];
      expect(await changeIn(store, one.id, approve({ approved: true }, late))).toBeUndefined();
      await changeIn(store, one.id, approve({ approved: true }, never));
      expect(await changeIn(store, one.id, deny({ approved: false }, never))).toMatchObject({ outcome: "denied" });
      await changeIn(store, two.id, approve({ approved: true }, never));
      await changeIn(store, two.id, claim("me", never));
      expect(await changeIn(store, two.id, deny({ approved: false }, never))).toBeUndefined();
      expect(await changeIn(store, two.id, cancel("no"))).toBeUndefined();
    });

    test("are ended by the start that runs them; a late end replaces an unknown outcome", async () => {
      const store = await open();
      const { id } = await add(store);
      await changeIn(store, id, approve({ approved: true }, never));
      await changeIn(store, id, claim("me", never));
      const ended = { outcome: "completed" as const, result: RESULT, releasesKey: false };
      expect(await changeIn(store, id, end("other", 1, ended))).toBeUndefined();
      expect(await changeIn(store, id, end("me", 2, ended))).toBeUndefined();
      expect(await changeIn(store, id, lose("me"))).toMatchObject({ state: "ended", outcome: "unknown" });
      expect(await changeIn(store, id, end("me", 1, ended))).toMatchObject({ outcome: "completed", result: RESULT });
      expect(await changeIn(store, id, end("me", 1, { ...ended, outcome: "failed" }))).toBeUndefined();
    });

    test("that may run twice are approved again if their process disappears, others are unknown", async () => {
      const store = await open();
      const { id } = await add(store, { repeatable: true });
      await changeIn(store, id, approve({ approved: true }, never));
      await changeIn(store, id, claim("me", never));
      expect(await changeIn(store, id, lose("another"))).toBeUndefined();
      expect(await changeIn(store, id, lose("me"))).toMatchObject({ state: "approved", lost: 1 });
      // The first start may have had its effect.
      expect(await changeIn(store, id, cancel("no"))).toMatchObject({ state: "ended", outcome: "unknown" });
      expect(await changeIn(store, id, restart("me"))).toMatchObject({ state: "running", epoch: 2 });
    });

    test("are released by the process that holds them only", async () => {
      const store = await open();
      const { id } = await add(store, { holder: "holder", holdUntil: 2 ** 41 });
      expect(await changeIn(store, id, release("me"))).toBeUndefined();
      expect(await changeIn(store, id, hold("me", 1))).toBeUndefined();
      expect(await changeIn(store, id, release("holder"))).not.toHaveProperty("holder", "holder");
    });

    test("are replaced together with their new question, or not at all", async () => {
      const store = await open();
      const row = await add(store);
      const next = aQuestion({ key: row.key });
      const changed: Transition = change("me", "the preview");
      expect(await changeIn(store, row.id, changed, next)).toMatchObject({ outcome: "changed" });
      expect(await store.find(row.key ?? "")).toMatchObject({ id: next.id, state: "waiting" });
      expect(await changeIn(store, row.id, changed, aQuestion())).toBeUndefined();
      // It was started before: nobody can say that it did not happen.
      const started = await add(store, { epoch: 1 });
      expect(await changeIn(store, started.id, changed, aQuestion({ key: started.key }))).toMatchObject({
        outcome: "unknown",
      });
      expect((await store.find(started.key ?? ""))?.id).toBe(started.id);
    });

    test("have limits per user and session, which do not affect other callers", async () => {
      const store = await open();
      const user = `user ${Math.random()}`;
      const limits = { maxOpenPerSession: 2, maxOpenPerUser: 3 };
      const insert = async (caller: { user?: string; session?: string }) =>
        (await store.insert(aQuestion({ caller: { depth: 0, ...caller } }), { limits })).outcome;
      expect(await insert({ user, session: "a" })).toBe("inserted");
      expect(await insert({ user, session: "a" })).toBe("inserted");
      expect(await insert({ user, session: "a" })).toBe("full");
      expect(await insert({ user, session: "b" })).toBe("inserted");
      expect(await insert({ user, session: "c" })).toBe("full");
      expect(await insert({ user: `${user} 2`, session: "a" })).toBe("inserted");
    });

    test("that wait for an answer are listed alone, without, or with the others, oldest first", async () => {
      const store = await open();
      const [one, two] = [await add(store), await add(store)];
      await changeIn(store, one.id, deny({ approved: false }, never));
      const open_ = (await store.questions({ isOpen: true, max: 10_000 })).map(({ id }) => id);
      expect(open_).toContain(two.id);
      expect(open_).not.toContain(one.id);
      const own = await store.questions({ isOpen: true, of: two.caller, max: 10_000 });
      expect(own.map(({ id }) => id)).toContain(two.id);
      expect(await store.questions({ isOpen: true, of: { user: "nobody else" }, max: 10_000 })).toEqual([]);
      const answered = (await store.questions({ isOpen: false, max: 10_000 })).map(({ id }) => id);
      expect(answered).toContain(one.id);
      expect(answered).not.toContain(two.id);
      const all = (await store.questions({ max: 10_000 })).map(({ id }) => id);
      const paged: string[] = [];
      for (let before: StoredCall | undefined; ;) {
        const [oldest] = await store.questions({ before, max: 1 });
        if (!oldest) break;
        paged.unshift(oldest.id);
        before = oldest;
      }
      expect(paged).toEqual(all);
      const count = (isOpen?: boolean) => store.countQuestions({ isOpen });
      expect([await count(), await count(true), await count(false)]).toEqual([
        all.length,
        open_.length,
        answered.length,
      ]);
      expect(all.indexOf(one.id)).toBeLessThan(all.indexOf(two.id));
      expect(all).toContain(one.id);
    });

    test("have a version that grows with each change", async () => {
      const store = await open();
      const { id } = await add(store);
      const before = (await store.versions([id])).get(id) ?? -1;
      await changeIn(store, id, approve({ approved: true }, never));
      expect((await store.versions([id])).get(id)).toBeGreaterThan(before);
    });

    test("that did not happen are removed, and their key is free", async () => {
      const store = await open();
      const row = keyed(`removed ${Math.random()}`, store.processId);
      await store.insert(row);
      await store.remove(row.id);
      expect(await store.find(row.key ?? "")).toBeUndefined();
    });
  });
}
