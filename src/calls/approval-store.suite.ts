import { describe, expect, test } from "vitest";
import type { Approval, ApprovalStore } from "./approval.ts";

const LIMITS = { maxOpen: 1000, maxOpenOfSession: 1000 };
let made = 0;

export function anApproval(more: Partial<Approval> = {}): Approval {
  const n = ++made;
  const binding = { tool: "t", input: "i", preview: "p", cwd: "/w", environment: "e" };
  return {
    id: `apr_${n}_${Math.random().toString(36).slice(2)}`,
    callId: `call_${n}`,
    callKey: `key_${n}_${Math.random()}`,
    toolName: "rm",
    toolVersion: "1.0.0",
    input: { path: "a\0b", text: "é\u202e\ud800" },
    caller: { session: "s\0", depth: 0 },
    reason: "it asks",
    verdict: { decision: "ask", by: "tool", reason: "it asks" },
    suggestedRules: [],
    binding: { ...binding, caller: "c", paths: "[]", mode: "default", policy: "{}" },
    hash: "sha256:0",
    made: { name: "rm", options: { id: `call_${n}` }, isDirect: false },
    waits: false,
    askedAt: 1_000 + n,
    expiresAt: 2 ** 41,
    state: "pending",
    ...more,
  };
}

/** What every store of approvals does. `open` gives the same store again, as another process would have it. */
export function describeApprovalStore(name: string, open: () => Promise<ApprovalStore> | ApprovalStore): void {
  describe(`approvals in ${name}`, () => {
    async function kept(store: ApprovalStore, more: Partial<Approval> = {}): Promise<Approval> {
      const added = await store.add(anApproval(more), LIMITS);
      if (added.outcome !== "added") throw new Error(added.outcome);
      return added.approval;
    }

    test("are given back as they were asked, whatever characters are in them", async () => {
      const store = await open();
      const approval = anApproval();
      expect(await store.add(approval, LIMITS)).toEqual({ outcome: "added", approval });
      expect(await store.get(approval.id)).toEqual(approval);
      expect(await store.current(approval.callKey)).toEqual(approval);
      expect(await store.get("apr_none")).toBeUndefined();
      expect(await store.current("none")).toBeUndefined();
    });

    test("are copies: who changes what was given changes nothing that is kept", async () => {
      const store = await open();
      const approval = await kept(store);
      (approval.input as { path: string }).path = "else";
      approval.state = "approved";
      expect(await store.get(approval.id)).toMatchObject({ state: "pending", input: { path: "a\0b" } });
    });

    test("are one for a call, however often it is asked, until that one is over", async () => {
      const store = await open();
      const first = await kept(store);
      const second = anApproval({ callKey: first.callKey });
      expect(await store.add(second, LIMITS)).toMatchObject({ outcome: "known", approval: { id: first.id } });
      await store.change(first.id, "pending", { state: "denied" });
      expect(await store.add(second, LIMITS)).toMatchObject({ outcome: "known", approval: { id: first.id } });
      const other = await kept(store);
      await store.change(other.id, "pending", { state: "void" });
      expect(await store.current(other.callKey)).toBeUndefined();
      expect(await store.add(anApproval({ callKey: other.callKey }), LIMITS)).toMatchObject({ outcome: "added" });
    });

    test("asked many times at once are still one", async () => {
      const store = await open();
      const callKey = `same ${Math.random()}`;
      const added = await Promise.all(
        Array.from({ length: 20 }, async () => store.add(anApproval({ callKey }), LIMITS)),
      );
      expect(added.filter(({ outcome }) => outcome === "added")).toHaveLength(1);
      expect(new Set(added.map((one) => one.outcome !== "full" && one.approval.id)).size).toBe(1);
    });

    test("change only from the state that was seen, for one of many who try at once", async () => {
      const store = await open();
      const { id } = await kept(store);
      const states = ["approved", "denied"] as const;
      const changed = await Promise.all(
        Array.from({ length: 20 }, async (_, i) =>
          store.change(id, "pending", { state: states[i % 2]!, answeredBy: `person ${i}` }),
        ),
      );
      const won = changed.filter((approval) => approval !== undefined);
      expect(won).toHaveLength(1);
      expect(await store.get(id)).toEqual(won[0]);
      expect(await store.change(id, "pending", { state: "void" })).toBeUndefined();
      expect(await store.change("apr_none", "pending", { state: "void" })).toBeUndefined();
    });

    test("are used by one of many who try at once", async () => {
      const [one, two] = [await open(), await open()];
      const { id } = await kept(one);
      await one.change(id, "pending", { state: "approved" });
      const used = await Promise.all(
        Array.from({ length: 20 }, async (_, i) => (i % 2 ? one : two).change(id, "approved", { state: "used" })),
      );
      expect(used.filter((approval) => approval !== undefined)).toHaveLength(1);
    });

    test("are bounded, over all and for one session", async () => {
      const store = await open();
      const session = `busy ${Math.random()}`;
      const open2 = (await store.list("pending")).length;
      await kept(store, { caller: { session, depth: 0 } });
      await kept(store, { caller: { session, depth: 0 } });
      const limits = { maxOpen: open2 + 3, maxOpenOfSession: 2 };
      const of = (name: string) => anApproval({ caller: { session: name, depth: 0 } });
      expect(await store.add(of(session), limits)).toEqual({ outcome: "full", open: 2 });
      expect(await store.add(of("another"), limits)).toMatchObject({ outcome: "added" });
      expect(await store.add(of("a third"), limits)).toEqual({ outcome: "full", open: open2 + 3 });
    });

    test("are listed by state, oldest first", async () => {
      const store = await open();
      const [a, b] = [await kept(store), await kept(store)];
      const c = await kept(store);
      await store.change(b.id, "pending", { state: "denied" });
      const ours = new Set([a.id, b.id, c.id]);
      const ids = async (state?: Approval["state"]) =>
        (await store.list(state)).map(({ id }) => id).filter((id) => ours.has(id));
      expect(await ids()).toEqual([a.id, b.id, c.id]);
      expect(await ids("pending")).toEqual([a.id, c.id]);
      expect(await ids("denied")).toEqual([b.id]);
      expect((await store.list("pending", 1)).map(({ id }) => id)).toEqual([c.id]);
    });

    test("drop what is over and old, never what is open or waits to be used", async () => {
      const store = await open();
      const states = ["pending", "approved", "denied", "expired", "void", "used"] as const;
      const all: Approval[] = [];
      for (const state of states) {
        const approval = await kept(store, { askedAt: 10 });
        if (state !== "pending") await store.change(approval.id, "pending", { state });
        all.push(approval);
      }
      const young = await kept(store, { askedAt: 30 });
      await store.change(young.id, "pending", { state: "used" });
      await store.prune(20);
      const left = await Promise.all([...all, young].map(async ({ id }) => (await store.get(id))?.state));
      expect(left).toEqual(["pending", "approved", undefined, undefined, undefined, undefined, "used"]);
    });
  });
}
