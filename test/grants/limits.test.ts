import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../src/capabilities/create-agent.ts";
import { createTool } from "../../src/core/create-tool.ts";
import { toolError } from "../../src/core/error.ts";
import type { Limit } from "../../src/gate/permit/rules/rule.ts";
import { createHaft, createRuntime, type RuntimeOptions } from "../../src/runtime.ts";
import { openStore } from "../../src/store/store.ts";
import { createFakeClock } from "../../src/testing/fake-clock.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const HOUR = 3_600_000;

function world(limits: readonly Limit[], options: Partial<RuntimeOptions> = {}) {
  const clock = createFakeClock();
  const ran: unknown[] = [];
  const fetch = createTool({
    name: "fetch",
    description: "Fetches",
    kind: "readonly",
    parameters: [{ name: "n", type: "number" }],
    run: ({ n }) => (ran.push(n), `fetched ${n}`),
  });
  const pay = createTool({
    name: "pay",
    description: "Pays",
    kind: "execute",
    permission: "auto",
    amount: { parameter: "cost", unit: { parameter: "unit" } },
    parameters: [
      { name: "cost", type: "number" },
      { name: "unit", type: "string", required: false },
    ],
    run: ({ cost }) => (ran.push(cost), "paid"),
  });
  const haft = createRuntime({ clock, tools: [fetch, pay], rules: { limits }, ...options });
  onTestFinished(() => haft.shutdown());
  let count = 0;
  const call = (caller = {}, more = {}) => haft.execute("fetch", { n: ++count }, { caller, ...more });
  const spend = (cost: number, unit = "EUR", caller = {}) => haft.execute("pay", { cost, unit }, { caller });
  return { haft, clock, ran, call, spend };
}

test("calls beyond a limit are denied, with when it frees up, and run again from then on", async () => {
  const { haft, clock, call, ran } = world([{ tools: "fetch", calls: 2, per: "hour" }]);
  expect([await call(), await call()]).toMatchObject([{ status: "completed" }, { status: "completed" }]);
  const denied = await call();
  expect(denied).toMatchObject({ status: "failed", error: { code: "denied" } });
  const { message } = denied.status === "failed" ? denied.error : { message: "" };
  expect(message).toContain("The limit of fetch: 2 calls per hour is reached: 2 calls of 2 calls are used");
  expect(message).toMatch(/It frees up at \d\d:\d\d:\d\d UTC/);
  const [view] = await haft.policy.limits.list();
  expect(view).toMatchObject({ limit: "fetch: 2 calls per hour", used: 2, max: 2, left: 0 });
  const { verdict, text } = await haft.policy.explain("fetch", { n: 1 });
  expect(verdict).toMatchObject({ decision: "deny", by: "limit", key: "verdict.limitReached" });
  expect(text).toContain("limits: decides: deny.");
  await clock.advance(HOUR - 1);
  expect(await call()).toMatchObject({ status: "failed" });
  await clock.advance(HOUR / 60 + 1);
  expect(await call()).toMatchObject({ status: "completed" });
  expect(ran).toHaveLength(3);
  expect(await haft.policy.limits.list()).toMatchObject([{ used: 1 }]);
});

test.each([
  ["user", { user: "ann" }, { user: "bob" }],
  ["session", { session: "one" }, { session: "two" }],
  ["agent", { agent: "one" }, { agent: "two" }],
] as const)("each %s is counted apart", async (each, one, other) => {
  const { call } = world([{ tools: "fetch", calls: 1, per: "day", each }]);
  expect(await call(one)).toMatchObject({ status: "completed" });
  expect(await call(one)).toMatchObject({ status: "failed" });
  expect(await call(other)).toMatchObject({ status: "completed" });
  expect(await call({})).toMatchObject({ status: "completed" });
  expect(await call({})).toMatchObject({ status: "failed" });
});

test("a person is asked beyond a limit, and a yes is for this call alone", async () => {
  const { haft, call, ran } = world([{ tools: "fetch", calls: 1, then: "ask" }]);
  await call({ session: "s" });
  expect(await call({ session: "s" })).toMatchObject({ status: "pending" });
  const [question] = await haft.approvals.list("pending");
  expect(question).toMatchObject({ reason: expect.stringContaining("A person can extend it.") as string });
  expect(await haft.approvals.approve(question!.id)).toMatchObject({ status: "completed" });
  expect(ran).toEqual([1, 2]);
  expect(await call({ session: "s" })).toMatchObject({ status: "pending" });
  expect(await haft.policy.limits.list()).toMatchObject([{ used: 2, max: 1, left: 0 }]);
  expect(await call({ session: "s" }, { mode: "dontAsk" })).toMatchObject({ status: "failed" });
  expect(await call({ session: "s" }, { mode: "bypassPermissions" })).toMatchObject({ status: "pending" });
});

test("no grant and no allow rule goes beyond a limit", async () => {
  const { haft, spend } = world([{ tools: "pay", sum: { EUR: 10 }, then: "ask" }]);
  haft.policy.rules.add("pay", "allow", "user");
  await haft.policy.grants.give({ holder: {}, rules: ["pay"], why: "test" });
  expect(await spend(10)).toMatchObject({ status: "completed" });
  expect(await spend(1)).toMatchObject({ status: "pending" });
});

test("sums are exact by unit, and nothing is clamped", async () => {
  const { spend, haft } = world([{ tools: "pay", sum: { EUR: 0.3, USD: 5 }, per: "day" }]);
  expect(await spend(0.1)).toMatchObject({ status: "completed" });
  expect(await spend(0.2)).toMatchObject({ status: "completed" });
  expect(await spend(0.000001)).toMatchObject({ status: "failed" });
  expect(await spend(5, "USD")).toMatchObject({ status: "completed" });
  const tooMuch = await spend(6, "USD");
  expect(tooMuch.display).toContain("The call takes 6 USD, more than the limit of pay: 5 USD per day has: 5 USD.");
  expect((await spend(1, "GBP")).display).toContain("has no amount that the limit");
  expect((await spend(-1)).display).toContain("has no amount that the limit");
  expect(await haft.policy.limits.list()).toMatchObject([
    { used: 5, unit: "USD" },
    { used: 0.3, unit: "EUR" },
  ]);
});

test("a call without a readable amount runs if a person says yes, and counts nothing", async () => {
  const { haft, spend } = world([{ tools: "pay", sum: { EUR: 5 }, then: "ask" }]);
  expect(await spend(1, "GBP")).toMatchObject({ status: "pending" });
  const [question] = await haft.approvals.list("pending");
  expect(await haft.approvals.approve(question!.id)).toMatchObject({ status: "completed" });
  expect(await spend(5)).toMatchObject({ status: "completed" });
});

test("what did not begin is given back, and what failed is not", async () => {
  const { haft, call, clock } = world([{ tools: "*", calls: 2, per: "hour" }], {
    middleware: [{ name: "stop", after: "begin", enter: () => Promise.reject(new Error("stopped")) }],
  });
  await call();
  await call();
  expect(await haft.policy.limits.list()).toMatchObject([{ used: 0 }]);
  expect(clock.now()).toBeGreaterThan(0);
});

/** Calls that were all judged before the first of them starts. */
function raced(limit: Limit, count: number, options: Partial<RuntimeOptions> = {}) {
  let arrived = 0;
  let go = (): void => undefined;
  const all = new Promise<void>((resolve) => (go = resolve));
  const barrier = {
    name: "barrier",
    after: "admit",
    enter: () => (++arrived === count ? go() : undefined, all),
  } as const;
  const made = world([limit], { middleware: [barrier], ...options });
  return { ...made, results: Promise.all(Array.from({ length: count }, () => made.call({ session: "s" }))) };
}

describe("a limit that is reached between the verdict and the start", () => {
  test("asks a person about the others, whose yes runs each once", async () => {
    const { haft, results, ran } = raced({ tools: "fetch", calls: 1, then: "ask" }, 3);
    const statuses = (await results).map(({ status }) => status).toSorted();
    expect(statuses).toEqual(["completed", "pending", "pending"]);
    expect(ran).toHaveLength(1);
    for (const { id } of await haft.approvals.list("pending"))
      expect(await haft.approvals.approve(id)).toMatchObject({ status: "completed" });
    expect(ran.map(String).toSorted()).toEqual(["1", "2", "3"]);
    expect(await haft.policy.limits.list()).toMatchObject([{ used: 3, max: 1 }]);
  });

  test("denies the others", async () => {
    const { results, ran } = raced({ tools: "fetch", calls: 2 }, 3);
    const done = await results;
    expect(done.filter(({ status }) => status === "completed")).toHaveLength(2);
    for (const each of done.filter(({ status }) => status === "failed"))
      expect(each).toMatchObject({ error: { code: "denied" } });
    expect(ran).toHaveLength(2);
  });

  test.each<[Limit["then"], string]>([
    ["ask", "pending"],
    ["deny", "failed"],
    ["wait", "failed"],
  ])("after a person said yes to another question: %s", async (then, status) => {
    const { haft, call, ran } = world([{ tools: "fetch", calls: 1, per: "hour", then }], {
      rules: { ask: ["fetch(n==2)"], limits: [{ tools: "fetch", calls: 1, per: "hour", then }] },
    });
    const { limits } = haft.policy;
    const asked = haft.execute("fetch", { n: 2 }, { caller: { session: "s" } });
    expect(await asked).toMatchObject({ status: "pending" });
    expect(await call({ session: "s" })).toMatchObject({ status: "completed" });
    const [question] = await haft.approvals.list("pending");
    expect(await haft.approvals.approve(question!.id)).toMatchObject({ status });
    expect(ran).toEqual([1]);
    expect(await limits.list()).toMatchObject([{ used: 1 }]);
    const open = await haft.approvals.list("pending");
    expect(open).toHaveLength(then === "ask" ? 1 : 0);
    // A yes that only waits for room stays one.
    expect((await haft.approvals.get(question!.id))?.state).toBe(then === "wait" ? "approved" : "changed");
    if (then !== "ask") return;
    expect(await haft.approvals.approve(open[0]!.id)).toMatchObject({ status: "completed" });
    expect(ran).toEqual([1, 2]);
  });
});

test("the same limit with another action holds beside it", async () => {
  const { haft, call } = world([
    { tools: "fetch", calls: 1, then: "ask" },
    { tools: "fetch", calls: 2, then: "deny" },
  ]);
  await call();
  expect(await call()).toMatchObject({ status: "pending" });
  const [question] = await haft.approvals.list("pending");
  expect(await haft.approvals.approve(question!.id)).toMatchObject({ status: "completed" });
  expect(await call()).toMatchObject({ status: "failed", error: { code: "denied" } });
});

test("a job that is tried again is counted once, and is not beyond its own limit", async () => {
  let tries = 0;
  const { haft, clock } = world([{ tools: "work", calls: 1, per: "day" }]);
  haft.register({
    name: "work",
    description: "Works",
    kind: "write",
    permission: "auto",
    idempotent: true,
    parameters: [],
    run: () => {
      if (++tries === 1) throw toolError("unavailable", "Not now");
      return "worked";
    },
  });
  const made = await haft.execute("work", {}, { background: true });
  const done = haft.jobs.wait(made.status === "pending" ? made.pending.id : "");
  for (let turns = 0; turns < 50; turns++) {
    await clock.advance(10_000);
    await settled();
  }
  expect(await done).toMatchObject({ status: "completed" });
  expect(tries).toBe(2);
  expect(await haft.policy.limits.list()).toMatchObject([{ used: 1, max: 1 }]);
  expect(await haft.execute("work", {}, { background: true })).toMatchObject({ status: "failed" });
});

test("a job that reaches a limit that asks fails, also when it is retried, and says that a new call asks", async () => {
  const { haft, call, ran } = world([{ tools: "fetch", calls: 1, then: "ask" }]);
  const made = await Promise.all([call({}, { background: true }), call({}, { background: true })]);
  const [one, other] = made.map((result) => (result.status === "pending" ? result.pending.id : ""));
  expect(await haft.jobs.wait(one!)).toMatchObject({ status: "completed" });
  const next = expect.stringContaining("Make a new call: a person is asked");
  expect(await haft.jobs.wait(other!)).toMatchObject({ status: "failed", error: { code: "conflict", next } });
  await haft.jobs.retry(other!);
  expect(await haft.jobs.wait(other!)).toMatchObject({ status: "failed", error: { next } });
  expect(await call({}, { background: true })).toMatchObject({ status: "pending", pending: { kind: "approval" } });
  expect(ran).toHaveLength(1);
});

test("a person extends a limit for one more period", async () => {
  const { haft, call, clock } = world([{ tools: "fetch", calls: 1, per: "hour" }]);
  await call();
  expect(await call()).toMatchObject({ status: "failed" });
  const id = (await haft.policy.limits.list())[0]?.id ?? "";
  await expect(haft.policy.limits.extend(id, 0.5)).rejects.toThrow("0.5 calls is not more");
  await expect(haft.policy.limits.extend("lim_none", 1)).rejects.toThrow("There is no limit");
  expect(await haft.policy.limits.extend(id, 1, "ann")).toMatchObject({ used: 1, max: 2, left: 1 });
  expect(await call()).toMatchObject({ status: "completed" });
  expect(await call()).toMatchObject({ status: "failed" });
  await clock.advance(2 * HOUR);
  await call();
  expect(await call()).toMatchObject({ status: "failed" });
});

test("a program's calls are counted, and a call that repeats its id is not", async () => {
  const { haft } = world([{ tools: "fetch", calls: 2 }]);
  const again = () => haft.execute("fetch", { n: 1 }, { id: "same", caller: { session: "s" } });
  expect(await again()).toMatchObject({ status: "completed" });
  await again();
  expect((await haft.policy.limits.list())[0]?.used).toBeLessThanOrEqual(2);
});

describe("wait", () => {
  test("a call waits until the limit has room, first come first served, without a slot", async () => {
    const { clock, call, haft, ran } = world([{ tools: "fetch", calls: 1, per: "minute", then: "wait" }], {
      concurrency: { maxConcurrent: 1 },
      timeouts: { defaultMs: 600_000, networkMs: 600_000 },
    });
    await call();
    const waiting = [call(), call()];
    await settled();
    expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
    // Another tool uses the slot meanwhile.
    expect(await haft.execute("pay", { cost: 1, unit: "EUR" })).toMatchObject({ status: "completed" });
    for (let minutes = 0; minutes < 2; minutes++) {
      await clock.advance(61_001);
      await settled();
    }
    expect(await Promise.all(waiting)).toMatchObject([{ status: "completed" }, { status: "completed" }]);
    expect(ran).toEqual([1, 1, 2, 3]);
  });

  test("a call that cannot start within its own time limit fails at once", async () => {
    const { call } = world([{ tools: "fetch", calls: 1, per: "hour", then: "wait" }]);
    await call({}, { timeoutMs: 1000 });
    const result = await call({}, { timeoutMs: 1000 });
    expect(result).toMatchObject({ status: "failed", error: { code: "busy", retryable: true } });
    expect(result.display).toContain("It frees up at");
  });

  test("a waiting call is cancelled, and the next one takes its place", async () => {
    const { clock, call } = world([{ tools: "fetch", calls: 1, per: "minute", then: "wait" }], {
      timeouts: { defaultMs: 600_000, networkMs: 600_000 },
    });
    await call();
    const stopped = new AbortController();
    const first = call({}, { signal: stopped.signal });
    const second = call();
    await settled();
    stopped.abort();
    expect(await first).toMatchObject({ status: "failed", error: { code: "cancelled" } });
    await clock.advance(61_001);
    await settled();
    expect(await second).toMatchObject({ status: "completed" });
  });
});

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

test("lint finds names without a tool, and sums that count nothing", () => {
  const { haft } = world([
    { tools: "fetsh", calls: 1 },
    { tools: "fetch", sum: { EUR: 1 } },
    { tools: ["pay", "kind:readonly"], sum: { EUR: 1 }, calls: 5 },
  ]);
  expect(haft.policy.lint()).toMatchObject([
    { code: "unknown_tool", rule: "fetsh", list: "limits" },
    { level: "warning", key: "lint.limitAmount", rule: "fetch", list: "limits" },
  ]);
});

describe("models", () => {
  const usage = (tokens: number) => ({
    id: "test/one",
    respond: () =>
      Promise.resolve({
        parts: [{ type: "text" as const, text: "hello" }],
        usage: { inputTokens: tokens, outputTokens: 0 },
        finish: "ended" as const,
      }),
  });

  test("a session's budget of tokens and money ends its next request, over several runs, and a person extends it", async () => {
    const { haft } = world([{ models: "test/*", sum: { tokens: 100, USD: 0.001 }, each: "session" }]);
    const agent = createAgent({ haft, model: usage(60), prices: { input: 1, output: 1 } });
    const run = (session: string) => agent.run("hi", { caller: { session } });
    expect([(await run("a")).stop, (await run("a")).stop]).toEqual(["done", "done"]);
    const ended = await run("a");
    expect(ended).toMatchObject({ stop: "limit", steps: 0, error: { code: "too_large" } });
    expect(ended.error?.message).toContain('The budget of test/*: 100 tokens in all, session "a" is used up');
    expect((await run("b")).stop).toBe("done");
    const used = await haft.policy.limits.list();
    const [id] = used.flatMap((each) => (each.limit.includes('tokens in all, session "a"') ? [each.id] : []));
    expect(used).toContainEqual(expect.objectContaining({ unit: "USD", used: 0.00012, max: 0.001 }));
    await haft.policy.limits.extend(id ?? "", 50, "ann");
    expect((await run("a")).stop).toBe("done");
    expect((await run("a")).stop).toBe("limit");
  });

  test("money without prices, and tokens that are not reported, end the run", async () => {
    const { haft } = world([{ models: "*", sum: { USD: 1 } }]);
    const unpriced = await createAgent({ haft, model: usage(60) }).run("hi");
    expect(unpriced).toMatchObject({ stop: "limit", steps: 0 });
    expect(unpriced.error?.message).toContain("its prices are unknown");
    const silent = createAgent({ haft, model: usage(0), prices: { input: 1, output: 1 } });
    expect(await silent.run("hi")).toMatchObject({ stop: "error", error: { code: "unavailable" } });
  });
});

test("a restart keeps what was used, and the record names the limit", async () => {
  const stateFolder = temporaryFolder("haft-limits-");
  const limits = [{ tools: "fetch", calls: 1, per: "day" }] as const;
  for (const [at, status] of (["completed", "failed"] as const).entries()) {
    const store = await openStore({ stateFolder });
    const { call } = world(limits, { clock: undefined, log: store.audit, calls: store.calls });
    expect(await call()).toMatchObject({ status });
    const [entry] = (await store.audit.recent()).slice(-1);
    expect(entry).toMatchObject({ toolName: "fetch" });
    const data = await store.database.all<{ data: string }>("SELECT data FROM audit ORDER BY seq DESC LIMIT 2");
    expect(JSON.stringify(data)).toContain("fetch: 1 call per day");
    expect(at).toBeLessThan(2);
    await store.close();
  }
});

test.each<[Limit, string]>([
  [{ calls: 1 }, "write `tools` or `models`"],
  [{ tools: "fetch" }, "write `calls`, `sum` or both"],
  [{ tools: "fetch(x)", calls: 1 }, "names a part of the calls"],
  [{ tools: "fetch", calls: 0 }, "0 is not a number of calls"],
  [{ tools: "fetch", sum: { EUR: -1 } }, "-1 EUR is not an amount"],
  [{ tools: "fetch", calls: 1, then: "wait" }, "without `per` there is nothing to wait for"],
  [{ models: "*", sum: { EUR: 1 } }, "models use"],
  [{ models: "*", sum: { USD: 1 }, then: "ask" }, "remove `then`"],
  [{ tools: "fetch", calls: 1, pre: "hour" } as Limit, "pre"],
])("a limit that cannot be kept is refused: %j", (limit, problem) => {
  expect(() => createHaft({ rules: { limits: [limit] } })).toThrow(problem);
});
