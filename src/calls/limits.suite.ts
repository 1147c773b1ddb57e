import { describe, expect, test } from "vitest";
import { aQuestion } from "./approval.fixture.ts";
import type { CallStore } from "./call-store.ts";
import { type LimitCharge, limitId, type LimitUse, slotOf } from "./limits.ts";
import { end } from "./stored-call.ts";
import type { ToolResult } from "../core/result.ts";

const HOUR = 3_600_000;

/** How every store counts what calls take from limits. `open` returns the same store again, as another process would have it. */
export function describeLimits(name: string, open: () => Promise<CallStore> | CallStore): void {
  let count = 0;
  const newId = (): string => limitId([name, ++count, Date.now()]);
  const charge = (grant: string, limit: Partial<LimitUse> = {}, more: Partial<LimitCharge> = {}): LimitCharge => ({
    grant,
    amount: 1,
    ...more,
    limit: { text: "pay", max: 2, perMs: HOUR, then: "deny", at: slotOf(HOUR, Date.now()), ...limit },
  });
  const start = async (store: CallStore, charges: readonly LimitCharge[]): Promise<string> => {
    const id = `apr_limited${++count}`;
    const keyed = { id, callId: id, key: `${id}-key`, question: undefined, deadline: undefined };
    const running = { state: "running", owner: "me", epoch: 1, charges } as const;
    await store.insert(aQuestion({ ...keyed, ...running }));
    return id;
  };
  const used = async (store: CallStore, id: string): Promise<number | undefined> =>
    (await store.grants.limits.get([id]))[0]?.slots.reduce((sum, [, part]) => sum + part, 0);

  describe(`limits in ${name}`, () => {
    test("refuse what they have no room for, with the row, and are the same for all", async () => {
      const [store, other, id] = [await open(), await open(), newId()];
      await start(store, [charge(id)]);
      await start(other, [charge(id)]);
      const before = `apr_limited${count + 1}`;
      await expect(start(store, [charge(id)])).rejects.toThrow("is reached");
      expect(await store.get(before)).toBeUndefined();
      expect(await used(other, id)).toBe(2);
    });

    test("take all of a call's charges, or none", async () => {
      const [store, one, full] = [await open(), newId(), newId()];
      await start(store, [charge(full), charge(one)]);
      await start(store, [charge(full)]);
      await expect(start(store, [charge(one), charge(full)])).rejects.toThrow("is reached");
      expect(await used(store, one)).toBe(1);
      expect(await used(store, full)).toBe(2);
    });

    test("count calls that start at the same time one after the other", async () => {
      const [stores, id] = [[await open(), await open()] as const, newId()];
      const starts = Array.from({ length: 20 }, (_, at) =>
        start(stores[at % 2 === 0 ? 0 : 1], [charge(id, { max: 7 })]),
      );
      const done = await Promise.allSettled(starts);
      expect(done.filter(({ status }) => status === "fulfilled")).toHaveLength(7);
      expect(await used(stores[0], id)).toBe(7);
    });

    test("give back what did not begin, and keep what failed or is unknown", async () => {
      const [store, id] = [await open(), newId()];
      const take = () => start(store, [charge(id, { max: 10 })]);
      const ended = (outcome: "failed" | "unknown", began: boolean) =>
        end("me", 1, { outcome, result: {} as ToolResult, releasesKey: false, began });
      const rows = [await take(), await take(), await take(), await take(), await take()] as const;
      await store.remove(rows[0]);
      await store.remove(rows[1], true);
      for (const [at, outcome, began] of [
        [2, "failed", false],
        [3, "failed", true],
        [4, "unknown", true],
      ] as const)
        await store.change(rows[at], (row) => ended(outcome, began)(row, Date.now()));
      expect(await used(await open(), id)).toBe(3);
    });

    test("forget a use one slot after its period, and never one of a clock that was set back", async () => {
      const [store, id, now] = [await open(), newId(), Date.now()];
      await start(store, [charge(id, { at: slotOf(HOUR, now - HOUR - HOUR / 60 - 1) })]);
      await start(store, [charge(id, { at: slotOf(HOUR, now - HOUR + 1000) })]);
      await start(store, [charge(id, { at: slotOf(HOUR, now + 5 * HOUR) })]);
      await expect(start(store, [charge(id)])).rejects.toThrow("is reached");
    });

    test("hold the lowest that is said now, and count beyond it what a person allowed", async () => {
      const [store, id] = [await open(), newId()];
      await start(store, [charge(id, { max: 5 })]);
      await start(store, [charge(id, { max: 5 })]);
      await expect(start(store, [charge(id, { max: 2 })])).rejects.toThrow("is reached");
      await start(store, [charge(id, { max: 2, isBeyond: true })]);
      expect(await used(store, id)).toBe(3);
    });

    test("are extended, and count what has happened", async () => {
      const [store, id] = [await open(), newId()];
      expect(await store.grants.limits.extend(id, 1, "ann")).toBeUndefined();
      await store.grants.limits.add([charge(id, { max: 10 }, { amount: 12, unit: "tokens" })]);
      expect(await used(store, id)).toBe(12);
      expect(await store.grants.limits.extend(id, 3, "ann")).toMatchObject({ id, unit: "tokens" });
      await start(store, [charge(id, { max: 10 }, { unit: "tokens" })]);
      expect((await store.grants.limits.list(100)).map((counter) => counter.id)).toContain(id);
    });
  });
}
