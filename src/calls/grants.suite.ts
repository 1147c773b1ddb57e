import { describe, expect, test } from "vitest";
import { aQuestion } from "./approval.fixture.ts";
import type { CallStore } from "./call-store.ts";
import { type Charge, type Grant, newGrant } from "./grants.ts";
import { cancel, claim, end, giveBack, giveBackCharges, lose, restart, type Transition } from "./stored-call.ts";
import type { ToolResult } from "../core/result.ts";

const RESULT = {
  callId: "c",
  toolName: "pay",
  status: "completed",
  success: true,
  content: [],
} as unknown as ToolResult;

/** How every store counts what calls take from grants. `open` returns the same store again, as another process would have it. */
export function describeGrants(name: string, open: () => Promise<CallStore> | CallStore): void {
  let count = 0;
  const never = (): boolean => false;

  async function grant(store: CallStore, more: Partial<Grant> = {}): Promise<Grant> {
    const made = { ...newGrant({ holder: {}, rules: ["pay"], why: "test" }, {}, Date.now()), ...more };
    await store.grants.insert(made);
    return made;
  }

  const running = (charges: readonly Charge[], more = {}) => {
    const id = `apr_granted${++count}`;
    const keyed = { id, callId: id, key: `${id}-key`, question: undefined, deadline: undefined };
    return aQuestion({ ...keyed, state: "running", owner: "me", epoch: 1, charges, ...more });
  };
  const start = async (store: CallStore, charges: readonly Charge[], more = {}) => {
    const row = running(charges, more);
    return { row, inserted: await store.insert(row) };
  };
  const change = async (store: CallStore, id: string, transition: Transition) =>
    store.change(id, (row) => transition(row, Date.now()));
  const left = async (store: CallStore, { id }: Grant) => {
    const { used, spent, unknown } = (await store.grants.get(id)) ?? {};
    return { used, spent, unknown };
  };
  const ended = (outcome: "completed" | "failed" | "cancelled" | "unknown", began = true) =>
    end("me", 1, { outcome, result: RESULT, releasesKey: false, began });

  describe(`grants in ${name}`, () => {
    test("are returned as they were stored, the newest first", async () => {
      const store = await open();
      const holder = { user: "ann", session: "s 1", agent: null, depth: 0 };
      const bounds = { until: Date.now() + 60_000, maxUses: 3, budget: { unit: "EUR", max: 5_000_000 } };
      const one = await grant(store, { holder, ...bounds, tools: { pay: "sha256:1" }, by: "bob", via: "cli" });
      const two = await grant(store, { holder: { session: "other" }, createdAt: one.createdAt + 1 });
      expect(await (await open()).grants.get(one.id)).toEqual(one);
      const listed = await store.grants.list({ isOpen: true, max: 1000 });
      expect(listed.map(({ id }) => id).filter((id) => id === one.id || id === two.id)).toEqual([two.id, one.id]);
      const ofSession = await store.grants.list({ isOpen: true, of: { session: "s 1" }, max: 1000 });
      expect(ofSession.map(({ id }) => id)).toContain(one.id);
      expect(ofSession.map(({ id }) => id)).not.toContain(two.id);
      expect(await store.grants.get("grt_none")).toBeUndefined();
    });

    test("are charged with the row of the call, and once for each key", async () => {
      const store = await open();
      const one = await grant(store, { maxUses: 2 });
      const { row } = await start(store, [{ grant: one.id }]);
      expect(await store.insert({ ...row, id: `${row.id}-again` })).toMatchObject({ outcome: "known" });
      expect(await left(store, one)).toEqual({ used: 1, spent: 0, unknown: 0 });
      await start(store, [{ grant: one.id }]);
      const third = running([{ grant: one.id }]);
      await expect(async () => store.insert(third)).rejects.toThrow("2 of 2 calls");
      expect(await store.get(third.id)).toBeUndefined();
      expect(await left(await open(), one)).toEqual({ used: 2, spent: 0, unknown: 0 });
    });

    test("have a budget of one unit, and refuse what is beyond it", async () => {
      const store = await open();
      const budget = { unit: "EUR", max: 100_000_000 };
      const one = await grant(store, { budget });
      const take = (amount: number, unit = "EUR") => start(store, [{ grant: one.id, amount, unit }]);
      await take(60_000_000);
      await expect(take(40_000_001)).rejects.toThrow("40 of 100 EUR left, and the call takes 40.000001");
      await expect(take(1, "USD")).rejects.toThrow("a budget in EUR");
      await expect(start(store, [{ grant: one.id }])).rejects.toThrow("a budget in EUR");
      await take(40_000_000);
      expect(await left(store, one)).toMatchObject({ used: 2, spent: 100_000_000 });
    });

    test("do not count after their end, whatever was read before", async () => {
      const store = await open();
      const [one, two] = [await grant(store), await grant(store, { until: Date.now() - 1 })];
      const future = await grant(store, { createdAt: Date.now() + 3_600_000, until: Date.now() + 7_200_000 });
      const revoke = { ended: "revoked", endedAt: 1, endedBy: "bob" } as const;
      const fact = { change: "revoked", by: "bob" } as const;
      expect(await (await open()).grants.change(one.id, () => revoke, fact)).toMatchObject(revoke);
      expect(await store.grants.change(one.id, () => revoke, fact)).toBeUndefined();
      await expect(start(store, [{ grant: one.id }])).rejects.toThrow("was revoked");
      await expect(start(store, [{ grant: two.id }])).rejects.toThrow("has expired");
      await expect(start(store, [{ grant: future.id }])).rejects.toThrow("has expired");
      await expect(start(store, [{ grant: "grt_none" }])).rejects.toThrow("does not exist");
    });

    test("get back what calls that did not begin have taken, and nothing else", async () => {
      const store = await open();
      const one = await grant(store, { budget: { unit: "EUR", max: 100_000_000 } });
      const take = async () => (await start(store, [{ grant: one.id, amount: 1_000_000, unit: "EUR" }])).row.id;
      const [removed, cancelled, refused, done, failed] = [
        await take(),
        await take(),
        await take(),
        await take(),
        await take(),
      ];
      expect(await left(store, one)).toEqual({ used: 5, spent: 5_000_000, unknown: 0 });
      await store.remove(removed);
      await change(store, cancelled, ended("cancelled"));
      await change(store, refused, ended("failed", false));
      await change(store, done, ended("completed"));
      await change(store, failed, ended("failed"));
      expect(await left(store, one)).toEqual({ used: 2, spent: 2_000_000, unknown: 0 });
    });

    test("stay charged for an unknown outcome, until a late result or a person clears it", async () => {
      const store = await open();
      const one = await grant(store, { maxUses: 10 });
      const [late, person, again] = [
        (await start(store, [{ grant: one.id }])).row.id,
        (await start(store, [{ grant: one.id }])).row.id,
        (await start(store, [{ grant: one.id }], { repeatable: true })).row.id,
      ];
      await change(store, late, ended("unknown"));
      await change(store, person, lose("me"));
      await change(store, again, ended("unknown"));
      expect(await left(store, one)).toEqual({ used: 3, spent: 0, unknown: 3 });
      await change(store, late, ended("completed"));
      await change(store, again, restart("me", [{ grant: one.id }]));
      expect(await left(store, one)).toEqual({ used: 3, spent: 0, unknown: 1 });
      expect(await store.findCharged(person, one.id)).toMatchObject([{ id: person }]);
      expect(await change(store, person, giveBackCharges(one.id))).toMatchObject({ charges: [] });
      expect(await change(store, person, giveBackCharges(one.id))).toBeUndefined();
      expect(await left(store, one)).toEqual({ used: 2, spent: 0, unknown: 0 });
    });

    test("are charged when a stored call is claimed, and once if it is started again", async () => {
      const store = await open();
      const one = await grant(store, { maxUses: 1 });
      const row = running([], { state: "approved", owner: undefined, epoch: 0, charges: undefined });
      await store.insert(row);
      expect(await left(store, one)).toMatchObject({ used: 0 });
      const start = claim("me", never, undefined, [{ grant: one.id }]);
      await change(store, row.id, start);
      expect(await left(store, one)).toMatchObject({ used: 1 });
      await change(store, row.id, giveBack("me", 1));
      expect(await left(store, one)).toMatchObject({ used: 0 });
      await change(store, row.id, start);
      const other = running([], { state: "approved", owner: undefined, epoch: 0, charges: undefined });
      await store.insert(other);
      await expect(change(store, other.id, start)).rejects.toThrow("is used up");
      expect(await store.get(other.id)).toMatchObject({ state: "approved", epoch: 0 });
      expect(await change(store, other.id, cancel("no"))).toMatchObject({ outcome: "cancelled" });
      expect(await left(store, one)).toMatchObject({ used: 1 });
    });

    test("give all of many calls at once exactly what they have", async () => {
      const store = await open();
      const one = await grant(store, { maxUses: 20 });
      const usedUp: string[] = [];
      store.grants.onUsedUp(({ id }) => usedUp.push(id));
      const starts = Array.from({ length: 60 }, () => start(store, [{ grant: one.id }]));
      const settled = await Promise.allSettled(starts);
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(20);
      expect(await left(store, one)).toEqual({ used: 20, spent: 0, unknown: 0 });
      expect(usedUp.filter((id) => id === one.id)).toHaveLength(1);
    });
  });
}
