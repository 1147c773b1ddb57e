import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import type { Caller } from "../../src/core/call.ts";
import { createTool } from "../../src/core/create-tool.ts";
import { type ToolError, toolError } from "../../src/core/error.ts";
import type { ToolEvent } from "../../src/core/events.ts";
import { createHaft, createRuntime, type Haft, type RuntimeOptions } from "../../src/runtime.ts";
import { createFakeClock } from "../../src/testing/fake-clock.ts";
import { readCommand } from "../../src/io/shell/command-signature.ts";
import { openStore } from "../../src/store/store.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const pushConfig = {
  name: "push",
  description: "Pushes",
  kind: "execute",
  permission: "confirm",
  parameters: [],
  run: () => "pushed",
} as const;
const push = createTool(pushConfig);

async function askAndGrant(scope: "session" | "always") {
  const haft = createHaft({ tools: [push] });
  const call = (caller: { session?: string; user?: string }) => haft.execute("push", {}, { caller });
  await call({ session: "s", user: "ann" });
  const [question] = await haft.approvals.list("pending");
  await haft.approvals.approve(question!.id, { scope, rule: "push", by: "ann" });
  return { haft, call };
}

test("a grant for a session applies only in that session and to that caller", async () => {
  const { haft, call } = await askAndGrant("session");
  expect(await call({ session: "s", user: "ann" })).toMatchObject({ status: "completed" });
  expect(await call({ session: "other", user: "ann" })).toMatchObject({ status: "pending" });
  // Any caller may claim a session's name.
  expect(await call({ session: "s", user: "bob" })).toMatchObject({ status: "pending" });
  const [grant] = await haft.policy.grants.list();
  const { verdict } = await haft.policy.explain("push", {}, { caller: { session: "s", user: "ann" } });
  expect(verdict).toMatchObject({ decision: "allow", by: "grant", grants: [grant!.id] });
  expect(grant).toMatchObject({ by: "ann", rules: ["push"], why: "this session" });
  expect(haft.policy.rules.rules()).toEqual([]);
});

test("a grant for always applies to all callers, and is passed to the store of rules", async () => {
  const { haft, call } = await askAndGrant("always");
  expect(await call({ session: "other", user: "bob" })).toMatchObject({ status: "completed" });
  expect(haft.policy.rules.rules()).toMatchObject([{ text: "push", list: "allow", origin: "local" }]);
});

test("a grant from a question covers the tool as it was shown: defined otherwise it asks, and says why", async () => {
  const { haft, call } = await askAndGrant("session");
  const caller = { session: "s", user: "ann" };
  const [grant] = await haft.policy.grants.list();
  expect(Object.keys(grant!.tools)).toEqual(["push@1.0.0"]);
  const define = (config: object) => {
    haft.tools.registry.unregister("push");
    haft.register(createTool({ ...pushConfig, ...config }));
  };
  define({ description: "Pushes everything, also secrets" });
  const asked = await call(caller);
  expect(asked).toMatchObject({ status: "pending" });
  const [question] = await haft.approvals.list("pending");
  expect(question).toMatchObject({
    verdict: { key: "verdict.otherDefinition", by: "tool", values: { tool: "push", grant: grant!.id } },
  });
  const explained = await haft.policy.explain("push", {}, { caller });
  expect(explained.verdict).toMatchObject({ decision: "ask", key: "verdict.otherDefinition" });
  expect(explained.text).toContain("grants: decides: ask.");
  // A denial says nothing about grants.
  expect((await haft.policy.explain("push", {}, { caller, mode: "dontAsk" })).verdict.decision).toBe("deny");
  // The same definition again, with other code: only what was shown counts.
  define({ run: () => "pushed again" });
  expect(await call(caller)).toMatchObject({ status: "completed", display: "pushed again" });
  // What was saved before grants knew definitions covers any.
  await haft.policy.grants.revoke(grant!.id);
  await haft.policy.grants.give({ holder: caller, rules: ["push"], why: "of an earlier version" });
  define({ description: "Pushes something" });
  expect(await call(caller)).toMatchObject({ status: "completed" });
});

test("a grant never beats a deny, an ask rule or a mode that denies, also a later one", async () => {
  const haft = createHaft({ tools: [push] });
  await haft.policy.grants.add("push", { session: "s" });
  const call = (mode?: "plan" | "dontAsk") => haft.execute("push", {}, { caller: { session: "s" }, mode });
  expect(await call()).toMatchObject({ status: "completed" });
  expect(await call("dontAsk")).toMatchObject({ status: "completed" });
  expect(await call("plan")).toMatchObject({ status: "failed" });
  haft.policy.rules.add("push", "ask", "user");
  expect(await call()).toMatchObject({ status: "pending" });
  haft.policy.rules.add("push", "deny", "user");
  expect(await call()).toMatchObject({ error: { code: "denied" } });
});

test("refuses what is no rule, and bounds beyond the caps, instead of less than was asked for", async () => {
  const { grants } = createHaft({ grants: { maxMinutes: 60, maxUses: 5, maxBudget: { EUR: 50 } } }).policy;
  const draft = { holder: {}, rules: ["push"], why: "x", minutes: 60, maxUses: 5 };
  await expect(grants.add("Bash(", { session: "s" })).rejects.toThrow(TypeError);
  await expect(grants.give({ ...draft, rules: [] })).rejects.toThrow("at least one rule");
  // Misspelt, it would be no bound, and a holder of one property less.
  await expect(grants.give({ ...draft, maxUse: 1 } as never)).rejects.toThrow('"maxUse"');
  await expect(grants.give({ ...draft, holder: { sesion: "s" } } as never)).rejects.toThrow('"sesion"');
  await expect(grants.extend("grt_1", { minutes: 1, uses: 1 } as never)).rejects.toThrow('"uses"');
  await expect(grants.give({ ...draft, minutes: 61 })).rejects.toThrow(
    "61 minutes is more than a grant may have: at most 60",
  );
  await expect(grants.give({ ...draft, maxUses: 6 })).rejects.toThrow("at most 5");
  await expect(grants.give({ ...draft, maxUses: 1.5 })).rejects.toThrow("not a number of uses");
  await expect(grants.give({ ...draft, budget: { unit: "EUR", max: 50.01 } })).rejects.toThrow("at most 50");
  for (const minutes of [0, -1, Number.NaN, Infinity])
    await expect(grants.give({ ...draft, minutes })).rejects.toThrow("minutes is no bound");
  for (const unit of ["", "__proto__ x", "E\nR"])
    await expect(grants.give({ ...draft, budget: { unit, max: 1 } })).rejects.toThrow("unit");
  await expect(grants.give({ ...draft, budget: { unit: "eur", max: 1 } })).rejects.toThrow("may be in EUR, not in eur");
  // Without a bound it would have more than the cap.
  await expect(grants.give({ ...draft, minutes: undefined })).rejects.toThrow("how many minutes it has: at most 60");
  await expect(grants.give({ ...draft, maxUses: undefined })).rejects.toThrow("how many uses it has: at most 5");
  const given = await grants.give(draft);
  await expect(grants.extend(given.id, { maxUses: 6 })).rejects.toThrow("at most 5");
  expect(await grants.list()).toHaveLength(1);
});

test("where sums are capped, a grant without a budget covers no call that names an amount, and a session's yes has all caps", async () => {
  const { call, give, haft } = openBank({ grants: { maxUses: 1, maxBudget: { EUR: 10 } } });
  haft.register(push);
  await give({ rules: ["pay"], maxUses: 1 });
  expect(await call(1)).toMatchObject({ status: "pending" });
  await give({ rules: ["pay"], maxUses: 1, budget: { unit: "EUR", max: 10 } });
  expect(await call(1)).toMatchObject({ status: "completed" });
  expect(await haft.policy.grants.add("push", { session: "s" })).toMatchObject({ maxUses: 1 });
});

/** A tool that pays, and counts what it paid. */
function openBank(options: RuntimeOptions = {}, config: object = {}) {
  const paid: number[] = [];
  const pay = createTool({
    name: "pay",
    description: "Pays",
    kind: "execute",
    inputSchema: z.object({ amount: z.number(), currency: z.string().default("EUR") }),
    amount: { parameter: "amount", unit: { parameter: "currency" } },
    execute: ({ amount }) => void paid.push(amount),
    ...config,
  });
  const haft = createRuntime({ tools: [pay], ...options });
  onTestFinished(() => haft.shutdown());
  const call = (amount: number, caller: Partial<Caller> = {}, more: object = {}) =>
    haft.execute("pay", { amount }, { caller: { session: "s", user: "ann", ...caller }, ...more });
  const give = (bounds: object = {}) =>
    haft.policy.grants.give({ holder: { user: "ann" }, rules: ["pay"], why: "refunds", ...bounds });
  return { haft, paid, call, give };
}

async function openFile(clock?: Clock) {
  const store = await openStore({ stateFolder: temporaryFolder() }, { clock });
  onTestFinished(() => store.close());
  return store;
}

describe.each(["memory", "a store"])("a grant in %s", (where) => {
  const open = async (options: RuntimeOptions = {}, config: object = {}) => {
    if (where === "memory") return openBank(options, config);
    const store = await openFile(options.clock);
    return openBank({ calls: store.calls, log: store.audit, ...options }, config);
  };

  test("covers as many calls as it has uses, and the next one asks", async () => {
    const { call, give, haft, paid } = await open();
    const { id } = await give({ maxUses: 2 });
    expect(await call(1)).toMatchObject({ status: "completed" });
    expect(await call(2)).toMatchObject({ status: "completed" });
    expect(await call(3)).toMatchObject({ status: "pending" });
    expect(paid).toEqual([1, 2]);
    const grant = await haft.policy.grants.get(id);
    expect(grant).toMatchObject({ used: 2, unknown: 0 });
    expect(haft.policy.grants.stateOf(grant!)).toBe("used_up");
    await haft.policy.grants.extend(id, { maxUses: 3 }, "bob");
    expect(await call(4)).toMatchObject({ status: "completed" });
  });

  test("covers calls without a session and a key, and counts them too", async () => {
    const { haft, give, paid } = await open();
    const { id } = await give({ holder: {}, maxUses: 2 });
    const calls = [1, 2, 3, 4].map((amount) => haft.execute("pay", { amount }));
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    // All four were permitted. Those whose charge is refused are judged again, without the grant.
    expect(statuses.sort()).toEqual(["completed", "completed", "pending", "pending"]);
    expect(paid).toHaveLength(2);
    expect(await haft.execute("pay", { amount: 5 })).toMatchObject({ status: "pending" });
    expect(await haft.policy.grants.get(id)).toMatchObject({ used: 2 });
  });

  describe("that does not cover a permitted call any more when it starts", () => {
    /** `between`: after the verdict, before the charge. */
    const openRace = async (between: (haft: Haft, id: string) => Promise<unknown>, options: RuntimeOptions = {}) => {
      let id = "";
      const race = {
        name: "race",
        after: "permit",
        enter: () => between(bank.haft, id).then(() => undefined),
      } as const;
      const bank = await open({ middleware: [race], ...options });
      ({ id } = await bank.give({ maxUses: 5 }));
      return { ...bank, id };
    };
    const revoke = ({ policy }: Haft, id: string) => policy.grants.revoke(id, "bob").catch(() => undefined);

    test("the call asks as without it, and is charged nothing", async () => {
      const { call, haft, paid, id } = await openRace(revoke);
      expect(await call(1, {}, { id: "c1" })).toMatchObject({ status: "pending" });
      expect(paid).toEqual([]);
      const [question] = await haft.approvals.list("pending");
      expect(question).toMatchObject({ callId: "c1", verdict: { by: "tool", decision: "ask" } });
      await haft.approvals.approve(question!.id, { by: "ann" });
      expect(await call(1, {}, { id: "c1" })).toMatchObject({ status: "completed" });
      expect(paid).toEqual([1]);
      expect(await haft.policy.grants.get(id)).toMatchObject({ used: 0, ended: "revoked" });
    });

    test("the caller waits for the person, whose yes runs it once", async () => {
      const approver = () => Promise.resolve({ approved: true, by: "ann" });
      const { call, paid } = await openRace(revoke, { approver });
      expect(await call(1)).toMatchObject({ status: "completed" });
      expect(paid).toEqual([1]);
    });

    test("the call is denied where nobody is asked", async () => {
      const { call, paid } = await openRace(revoke);
      expect(await call(1, {}, { mode: "dontAsk" })).toMatchObject({ status: "failed", error: { code: "denied" } });
      expect(paid).toEqual([]);
    });

    test("another grant that covers it is charged", async () => {
      const next = async ({ policy }: Haft, id: string) => {
        if ((await policy.grants.get(id))?.ended) return;
        await policy.grants.give({ holder: { user: "ann" }, rules: ["pay"], why: "more", maxUses: 1 });
        await policy.grants.revoke(id);
      };
      const { call, haft, paid, id } = await openRace(next);
      expect(await call(1)).toMatchObject({ status: "completed" });
      expect(paid).toEqual([1]);
      const used = (await haft.policy.grants.list()).map((grant) => [grant.id === id, grant.used]);
      expect(used).toEqual(
        expect.arrayContaining([
          [true, 0],
          [false, 1],
        ]),
      );
    });
  });

  test("sums up the amount that the tool names, in its unit, exactly", async () => {
    const { call, give, haft, paid } = await open();
    const { id } = await give({ budget: { unit: "EUR", max: 0.3 } });
    expect(await call(0.1)).toMatchObject({ status: "completed" });
    expect(await call(0.2)).toMatchObject({ status: "completed" });
    expect(await call(0.000001)).toMatchObject({ status: "pending" });
    expect(paid).toEqual([0.1, 0.2]);
    expect(await haft.policy.grants.get(id)).toMatchObject({ spent: 300_000 });
  });

  test("gives back what the call took that is meant: ids are unique in one session only", async () => {
    const { call, give, haft } = await open();
    const { id } = await give({ budget: { unit: "EUR", max: 100 } });
    const { grants } = haft.policy;
    for (const [amount, session] of [
      [1, "a"],
      [2, "b"],
      [4, undefined],
      [8, undefined],
    ] as const) {
      expect(await call(amount, { session }, { id: "c1" })).toMatchObject({ status: "completed" });
      // Two calls without a session are told apart by the millisecond in which they began.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const refused: unknown = await grants.giveBack(id, "c1").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "conflict", message: expect.stringContaining("4 calls") });
    const { choices } = (refused as ToolError).data as { choices: { session: string | null; begunAt: number }[] };
    expect(choices.map(({ session }) => String(session)).toSorted()).toEqual(["a", "b", "null", "null"]);
    expect(await grants.giveBack(id, { callId: "c1", session: "a" })).toMatchObject({ spent: 14_000_000, used: 3 });
    await expect(grants.giveBack(id, { callId: "c1", session: "a" })).rejects.toThrow("has taken anything");
    await expect(grants.giveBack(id, { callId: "c1", session: null })).rejects.toThrow("2 calls");
    const { begunAt } = choices.find(({ session }) => session === null)!;
    expect(await grants.giveBack(id, { callId: "c1", session: null, begunAt })).toMatchObject({ used: 2 });
    await expect(grants.giveBack(id, { callId: "c1", session: "other" })).rejects.toThrow("has taken anything");
  });

  test.each([[-5], [0.0000001], [1e300], [101]])("does not cover the amount %d", async (amount) => {
    const { call, give, paid } = await open();
    await give({ budget: { unit: "EUR", max: 100 } });
    expect(await call(amount)).toMatchObject({ status: "pending" });
    expect(paid).toEqual([]);
  });

  test("does not cover another currency, and no tool without an amount", async () => {
    const { haft, give } = await open();
    await give({ budget: { unit: "EUR", max: 100 }, rules: ["pay", "push"] });
    haft.register(push);
    const caller = { session: "s", user: "ann" };
    expect(await haft.execute("pay", { amount: 1, currency: "USD" }, { caller })).toMatchObject({ status: "pending" });
    expect(await haft.execute("push", {}, { caller })).toMatchObject({ status: "pending" });
    expect(await haft.execute("pay", { amount: 1 }, { caller })).toMatchObject({ status: "completed" });
  });

  test("charges a call once, however often it is repeated", async () => {
    const { call, give, haft, paid } = await open();
    const { id } = await give({ maxUses: 5 });
    const results = await Promise.all([1, 2, 3].map(() => call(7, {}, { id: "same" })));
    expect(results.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    expect(await call(7, {}, { id: "same" })).toMatchObject({ metadata: { known: "replay" } });
    expect(paid).toEqual([7]);
    expect(await haft.policy.grants.get(id)).toMatchObject({ used: 1 });
  });

  test("is not used by a subagent, another user, another task or after its end", async () => {
    const { call, give, haft } = await open();
    const { id } = await give({ holder: { user: "ann", task: "t", depth: 0 } });
    expect(await call(1, { task: "t" })).toMatchObject({ status: "completed" });
    for (const other of [{ task: "u" }, { task: "t", user: "bob" }, { task: "t", depth: 1 }, {}])
      expect(await call(1, other)).toMatchObject({ status: "pending" });
    await haft.policy.grants.revoke(id, "bob");
    expect(await call(1, { task: "t" })).toMatchObject({ status: "pending" });
    await expect(haft.policy.grants.revoke(id)).rejects.toThrow("has ended");
    await expect(haft.policy.grants.extend(id, { minutes: 5 })).rejects.toThrow("has ended");
  });

  test("ends with its time, and setting the clock back does not revive it", async () => {
    const fake = createFakeClock();
    let backMs = 0;
    const clock = { ...fake, now: () => fake.now() - backMs };
    const { call, give, haft } = await open({ clock });
    const { id } = await give({ minutes: 10 });
    expect(await call(1)).toMatchObject({ status: "completed" });
    backMs = 60 * 60_000;
    await fake.advance(11 * 60_000);
    expect(await call(1)).toMatchObject({ status: "pending" });
    expect(await haft.policy.grants.get(id)).toMatchObject({ ended: "expired" });
  });

  test("has an event at its end, also if nobody looks at it, and not before a later end", async () => {
    const clock = createFakeClock();
    const { give, haft } = await open({ clock });
    const { id } = await give({ minutes: 10 });
    const ends: string[] = [];
    haft.on("grant_changed", ({ change }) => void ends.push(change));
    await haft.policy.grants.extend(id, { minutes: 20 });
    await clock.advance(11 * 60_000);
    await haft.policy.grants.get(id);
    expect(ends).toEqual(["extended"]);
    await clock.advance(10 * 60_000);
    await expect.poll(() => ends, { timeout: 60_000 }).toEqual(["extended", "expired"]);
  });

  test("covers only the definition of the tool that was shown", async () => {
    const { call, give } = await open();
    await give({ tools: { pay: "sha256:another" } });
    expect(await call(1)).toMatchObject({ status: "pending" });
  });

  test("is charged for a call whose tool failed after it began, and not for one that could not begin", async () => {
    const { call, give, haft } = await open({}, { execute: () => Promise.reject(new Error("declined")) });
    const { id } = await give({ budget: { unit: "EUR", max: 100 } });
    expect(await call(5, {}, { id: "failed" })).toMatchObject({ status: "failed" });
    expect(await haft.policy.grants.get(id)).toMatchObject({ used: 1, spent: 5_000_000, unknown: 0 });
    await haft.policy.grants.giveBack(id, "failed", "bob");
    expect(await haft.policy.grants.get(id)).toMatchObject({ used: 0, spent: 0 });
    await expect(haft.policy.grants.giveBack(id, "failed")).rejects.toThrow("No call");
    const stopped = new AbortController();
    stopped.abort();
    await call(5, {}, { signal: stopped.signal });
    expect(await haft.policy.grants.get(id)).toMatchObject({ used: 0 });
  });

  test("stays charged for each try of a call that began and failed for a passing reason", async () => {
    const paid: number[] = [];
    const execute = ({ amount }: { amount: number }) => {
      paid.push(amount);
      return Promise.reject(toolError("unavailable", "try again"));
    };
    const { call, give, haft } = await open({}, { idempotent: true, execute });
    const { id } = await give({ budget: { unit: "EUR", max: 20 } });
    for (const status of ["failed", "failed", "pending"])
      expect(await call(9, {}, { id: "same" })).toMatchObject({ status });
    expect(paid).toEqual([9, 9]);
    expect(await haft.policy.grants.get(id)).toMatchObject({ used: 2, spent: 18_000_000 });
  });

  test("loses each of its rules that are removed at the same time, and ends with the last", async () => {
    const { haft, call } = await open();
    haft.register(push);
    const { grants } = haft.policy;
    const { id } = await grants.add(["pay", "push"], { session: "s", user: "ann" });
    const changes: string[] = [];
    haft.on("grant_changed", ({ change }) => void changes.push(change));
    expect(
      await Promise.all([grants.remove("pay", "s"), grants.remove("push", "s"), grants.remove("other", "s")]),
    ).toEqual([true, true, false]);
    expect(await call(1)).toMatchObject({ status: "pending" });
    expect(await grants.get(id)).toMatchObject({ ended: "revoked" });
    expect(changes).toEqual(["extended", "revoked"]);
  });

  test("is charged for a background call when a worker starts it", async () => {
    const { call, give, haft, paid } = await open();
    const { id } = await give({ maxUses: 1 });
    const pending = await call(1, {}, { background: true });
    expect(pending).toMatchObject({ status: "pending", pending: { kind: "job" } });
    if (pending.status !== "pending") return;
    await expect.poll(() => paid.length, { timeout: 60_000 }).toBe(1);
    expect(await haft.policy.grants.get(id)).toMatchObject({ used: 1 });
    expect(await call(2)).toMatchObject({ status: "pending", pending: { kind: "approval" } });
  });
});

test("a store whose clock is ahead refuses the charge of a grant that this process takes for open: the call asks, once", async () => {
  const store = await openFile({ ...systemClock, now: () => systemClock.now() + 3_600_000 });
  const { call, give, paid, haft } = openBank({ calls: store.calls, log: store.audit });
  await give({ minutes: 30 });
  expect(await call(1)).toMatchObject({ status: "pending" });
  expect(await haft.approvals.list("pending")).toHaveLength(1);
  expect(paid).toEqual([]);
});

test("the record of a call has its grant, and what becomes of a grant is in the log and an event", async () => {
  const store = await openFile();
  const { call, give, haft } = openBank({ calls: store.calls, log: store.audit });
  const events: ToolEvent[] = [];
  haft.on("grant_changed", (event) => events.push(event));
  const { id } = await give({ maxUses: 1, by: "bob" });
  await call(1, {}, { id: "c1" });
  await haft.policy.grants.extend(id, { maxUses: 2 }, "bob");
  await haft.policy.grants.revoke(id, "bob");
  expect(events).toMatchObject(
    ["granted", "used_up", "extended", "revoked"].map((change) => ({ type: "grant_changed", grantId: id, change })),
  );
  const { entries } = await store.audit.query({ kind: "grant" });
  expect(entries.map(({ data }) => data["change"]).reverse()).toEqual(["granted", "used_up", "extended", "revoked"]);
  const { entries: begun } = await store.audit.query({ callId: "c1", kind: "call_begun" });
  expect(begun).toMatchObject([{ data: { verdict: { by: "grant", grants: [id] } } }]);
});

test("several grants cover the parts of a command together, and each is charged", async () => {
  const exec = createTool({
    name: "exec",
    description: "Runs",
    kind: "execute",
    inputSchema: z.object({ command: z.string() }),
    signature: ({ command }) => ({ text: command, command: readCommand(command) }),
    execute: () => "done",
  });
  const haft = createHaft({ tools: [exec] });
  const caller = { session: "s" };
  const one = await haft.policy.grants.add("Bash(npm test)", caller);
  const two = await haft.policy.grants.add("Bash(npm ci)", caller);
  await haft.policy.grants.add("Bash(npm run lint)", caller);
  const { verdict } = await haft.policy.explain("exec", { command: "npm ci && npm test" }, { caller });
  expect(verdict).toMatchObject({ decision: "allow", by: "grant" });
  expect([...verdict.grants!].sort()).toEqual([one.id, two.id].sort());
});
