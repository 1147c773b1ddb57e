import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { openStore } from "../../store/store.ts";
import { createTool } from "../../core/create-tool.ts";
import { RuleSet } from "../../gate/permit/rules/rule-set.ts";
import { createHaft, type Haft, type HaftOptions } from "../../runtime.ts";
import { createTestHaft } from "../../testing/test-haft.ts";
import { createConversationTools } from "../../tools/tool-families.ts";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { MAX_PREPARED_MS } from "./framework-calls.ts";
import { type AdapterOptions, bridgeToolkit, resultText, waitsForPerson } from "./toolkit-bridge.ts";

const PROFILE = { via: "Framework", adapter: "toFrameworkTools", versions: "" };

/** A tool that asks above 10, and what it was run with. */
function createPay(show: () => string = () => "Pay") {
  const paid: number[] = [];
  const pay = createTool({
    name: "pay",
    description: "Pays an amount",
    parameters: z.object({ amount: z.number() }),
    permission: ({ amount }) => (amount > 10 ? "confirm" : "auto"),
    preview: async () => ({ title: show(), content: [] }),
    run({ amount }, { update }) {
      update({ content: [{ type: "text", text: "paying" }] });
      paid.push(amount);
      return `paid ${amount}`;
    },
  });
  return { pay, paid };
}

function bridgePay(haft: Haft, options: AdapterOptions = {}) {
  const [tool] = bridgeToolkit(haft.tools.toolkit("agent", ["pay"]), options, PROFILE);
  return tool!;
}

function createWorld(options: HaftOptions = {}) {
  const { pay, paid } = createPay();
  const haft = createTestHaft({ tools: [pay], ...options });
  return { haft, paid, tool: bridgePay(haft) };
}

test("a checked call is one call of the gate, which goes on when the framework runs it", async () => {
  const { haft, paid, tool } = createWorld();
  const call = { id: "c1", run: "r1" };
  expect(await tool.check({ amount: 5 }, call)).toBeUndefined();
  expect(paid).toEqual([]);
  expect(haft.recorded.types("c1")).toEqual(["tool_call_requested"]);
  const updates: unknown[] = [];
  const result = await tool.run({ amount: 5 }, { ...call, onUpdate: (update) => updates.push(update) });
  expect(result).toMatchObject({ status: "completed", callId: "c1" });
  expect(paid).toEqual([5]);
  expect(updates).toHaveLength(1);
  expect(haft.recorded.of("tool_call_requested")).toHaveLength(1);
  expect(await haft.calls.log.recent()).toMatchObject([
    { callId: "c1", status: "completed", caller: { session: "r1" } },
  ]);
});

test("a plain yes of a framework leaves a cut question open, and its second step runs the call once", async () => {
  const { haft, paid, tool } = createWorld({ approvals: { maxShownBytes: 4 } });
  const call = { id: "c1", run: "r1" };
  const asked = await tool.check({ amount: 50 }, call);
  expect(asked?.unseen).toMatch(/^Not shown/);
  for (const approvalId of [undefined, asked?.id]) {
    const answer = { approved: true, approvalId };
    expect(await tool.run({ amount: 50 }, { ...call, answer })).toMatchObject({ status: "pending" });
  }
  expect(paid).toEqual([]);
  expect(await haft.approvals.list("pending")).toHaveLength(1);
  const answer = { approved: true, confirmUnshown: true };
  expect(await tool.run({ amount: 50 }, { ...call, answer })).toMatchObject({ status: "completed" });
  expect(await tool.run({ amount: 50 }, { ...call, answer })).toMatchObject({ status: "completed" });
  expect(paid).toEqual([50]);
});

test("a checked call with other input is another call", async () => {
  const { haft, paid, tool } = createWorld();
  const call = { id: "c1", run: "r1" };
  await tool.check({ amount: 5 }, call);
  expect(await tool.run({ amount: 50 }, call)).toMatchObject({ status: "pending" });
  expect(paid).toEqual([]);
  await expect
    .poll(async () => (await haft.calls.log.recent()).map(({ status }) => status).sort())
    .toEqual(["failed", "pending"]);
});

test.each([
  ["deny", { status: "failed", error: { code: "denied" } }],
  ["ask", { status: "pending" }],
] as const)(
  "a rule that was added after the check applies when the framework runs the call: %s",
  async (list, result) => {
    const rules = new RuleSet([{ origin: "test" }]);
    const { paid, tool } = createWorld({ rules });
    const call = { id: "c1", run: "r1" };
    expect(await tool.check({ amount: 5 }, call)).toBeUndefined();
    rules.add("pay", list, "test");
    expect(await tool.run({ amount: 5 }, call)).toMatchObject(result);
    expect(paid).toEqual([]);
  },
);

test("a refused call is not asked, and fails once", async () => {
  const { haft, paid, tool } = createWorld({ policy: { deny: ["pay"] } });
  expect(await tool.check({ amount: 50 }, { id: "c1", run: "r1" })).toBeUndefined();
  expect(await tool.run({ amount: 50 }, { id: "c1", run: "r1" })).toMatchObject({ status: "failed" });
  expect(paid).toEqual([]);
  expect(await haft.calls.log.recent()).toHaveLength(1);
});

test("an answer in the framework is the answer in Haft, and the call runs once", async () => {
  const { haft, paid, tool } = createWorld();
  const call = { id: "c1", run: "r1" };
  const asked = await tool.check({ amount: 50 }, call);
  expect(asked).toMatchObject({ state: "pending" });
  // Checked again: the same question.
  expect(await tool.check({ amount: 50 }, call)).toMatchObject({ id: asked!.id });
  expect(await haft.approvals.list("pending")).toHaveLength(1);
  const answer = { approved: true, by: "ada" };
  expect(await tool.run({ amount: 50 }, { ...call, answer })).toMatchObject({ status: "completed" });
  expect(await tool.run({ amount: 50 }, { ...call, answer })).toMatchObject({ metadata: { known: "replay" } });
  expect(paid).toEqual([50]);
  expect(await haft.approvals.get(asked!.id)).toMatchObject({
    state: "approved",
    answeredBy: "ada",
    answeredVia: "Framework",
    call: { outcome: "completed" },
  });
});

test("running a call is no answer to its question", async () => {
  const { haft, paid, tool } = createWorld();
  const call = { id: "c1", run: "r1" };
  await tool.check({ amount: 50 }, call);
  expect(await tool.run({ amount: 50 }, call)).toMatchObject({ status: "pending", pending: { kind: "approval" } });
  expect(paid).toEqual([]);
  expect(await haft.approvals.list("pending")).toHaveLength(1);
});

test("a yes counts for the input that was shown only", async () => {
  const { haft, paid, tool } = createWorld();
  const call = { id: "c1", run: "r1" };
  await tool.check({ amount: 50 }, call);
  expect(await tool.run({ amount: 5000 }, { ...call, answer: { approved: true } })).toMatchObject({
    status: "pending",
  });
  expect(paid).toEqual([]);
  expect(await haft.approvals.list("pending")).toHaveLength(2);
});

test.each(["never asked", "expired", "changed"])(
  "a yes to a question that was %s runs nothing, however often it is given",
  async (how) => {
    let shown = "first";
    const { pay, paid } = createPay(() => shown);
    const haft = createTestHaft({ tools: [pay], approvals: { lifetimeMs: 1000 } });
    const tool = bridgePay(haft);
    const call = { id: "c1", run: "r1" };
    if (how !== "never asked") await tool.check({ amount: 50 }, call);
    if (how === "expired") await haft.clock.advance(2000);
    shown = how === "changed" ? "second" : "first";
    for (const _request of [1, 2, 3]) {
      const result = await tool.run({ amount: 50 }, { ...call, answer: { approved: true } });
      expect(result).toMatchObject({ status: "failed" });
    }
    expect(paid).toEqual([]);
    expect(await haft.approvals.list("pending")).toEqual([]);
  },
);

test("a yes that the policy does not need lets the call run", async () => {
  const { paid, tool } = createWorld();
  const result = await tool.run({ amount: 5 }, { id: "c1", run: "r1", answer: { approved: true } });
  expect(result).toMatchObject({ status: "completed" });
  expect(paid).toEqual([5]);
});

test("an id that two tools use is two calls", async () => {
  const ran: string[] = [];
  const tools = ["a", "b"].map((name) =>
    createTool({
      name,
      description: name,
      parameters: z.object({}),
      needsApproval: false,
      run: () => (ran.push(name), `ran ${name}`),
    }),
  );
  const haft = createTestHaft({ tools });
  const [a, b] = bridgeToolkit(haft.tools.toolkit("agent", ["a", "b"]), {}, PROFILE);
  const call = { id: "0", run: "r1" };
  await a!.check({}, call);
  expect(await b!.run({}, call)).toMatchObject({ status: "completed", toolName: "b" });
  expect(ran).toEqual(["b"]);
  expect(await a!.run({}, call)).toMatchObject({ status: "completed", toolName: "a" });
  expect(ran).toEqual(["b", "a"]);
});

test("a checked call that is not run ends after ten minutes", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { haft, paid, tool } = createWorld();
  await tool.check({ amount: 5 }, { id: "c1", run: "r1" });
  vi.advanceTimersByTime(MAX_PREPARED_MS - 1);
  expect(haft.recorded.types("c1")).toEqual(["tool_call_requested"]);
  vi.advanceTimersByTime(2);
  await haft.recorded.next("tool_call_failed");
  expect(haft.recorded.types("c1")).toEqual(["tool_call_requested", "tool_call_failed"]);
  expect(paid).toEqual([]);
});

test("a no in the framework closes the question, whether or not the framework makes the call", async () => {
  const { haft, paid, tool } = createWorld();
  const first = await tool.check({ amount: 50 }, { id: "c1", run: "r1" });
  await tool.deny({ id: "c1", run: "r1" }, { by: "ada", reason: "too much" });
  expect(await haft.approvals.get(first!.id)).toMatchObject({ state: "denied", answeredBy: "ada", note: "too much" });

  const second = await tool.check({ amount: 50 }, { id: "c2", run: "r1" });
  const result = await tool.run({ amount: 50 }, { id: "c2", run: "r1", answer: { approved: false, reason: "no" } });
  expect(result).toMatchObject({ status: "failed", error: { code: "approval_denied" } });
  expect(await haft.approvals.get(second!.id)).toMatchObject({ state: "denied" });

  // A call that needs no question in Haft is not made either.
  await tool.check({ amount: 5 }, { id: "c3", run: "r1" });
  const third = await tool.run({ amount: 5 }, { id: "c3", run: "r1", answer: { approved: false } });
  expect(third).toMatchObject({ status: "failed", error: { code: "approval_denied" } });
  expect(paid).toEqual([]);
});

test("an answer in Haft ends the wait, and the framework gets the result of that one run", async () => {
  const { haft, paid, tool } = createWorld();
  const call = { id: "c1", run: "r1" };
  const asked = await tool.check({ amount: 50 }, call);
  const waiting = tool.wait(call);
  await haft.approvals.approve(asked!.id, "grace");
  expect(await waiting).toMatchObject({ state: "approved", answeredBy: "grace" });
  expect(await tool.check({ amount: 50 }, call)).toBeUndefined();
  const result = await tool.run({ amount: 50 }, { ...call, answer: { approved: true } });
  expect(result).toMatchObject({ status: "completed", metadata: { known: "replay" } });
  expect(paid).toEqual([50]);
});

test("a denial in Haft wins over a later yes in the framework", async () => {
  const { haft, paid, tool } = createWorld();
  const call = { id: "c1", run: "r1" };
  const asked = await tool.check({ amount: 50 }, call);
  await haft.approvals.deny(asked!.id, "not today", "grace");
  const result = await tool.run({ amount: 50 }, { ...call, answer: { approved: true } });
  expect(result).toMatchObject({ status: "failed", error: { code: "approval_denied" } });
  expect(JSON.stringify(result.content)).toContain("not today");
  expect(paid).toEqual([]);
});

test("a repeated id returns the first result, and is refused in words with other input", async () => {
  const { paid, tool } = createWorld();
  const call = { id: "c1", run: "r1" };
  await tool.run({ amount: 5 }, call);
  expect(await tool.run({ amount: 5 }, call)).toMatchObject({ status: "completed", display: "paid 5" });
  for (const amount of [6, 60]) {
    await tool.check({ amount }, call);
    const result = await tool.run({ amount }, call);
    expect(result).toMatchObject({ status: "failed", error: { code: "conflict" } });
    expect(resultText(result)).toContain('The call id "c1" was used before with another tool or other input');
  }
  expect(paid).toEqual([5]);
});

test("ids count within a run", async () => {
  const { haft, paid } = createWorld();
  const call = { id: "functions.pay:0" };
  // Two runs of one adapter, two sessions, two adapters without a session.
  for (const run of ["r1", "r2"]) await bridgePay(haft).run({ amount: 1 }, { ...call, run });
  for (const session of ["s1", "s2"]) await bridgePay(haft, { call: { caller: { session } } }).run({ amount: 2 }, call);
  for (let at = 0; at < 2; at++) await bridgePay(haft).run({ amount: 3 }, call);
  const inSession = bridgePay(haft, { call: { caller: { session: "s1" } } });
  for (const run of ["r1", "r2", "r2"]) await inSession.run({ amount: 4 }, { ...call, run });
  expect(paid).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
});

test("an abort of the framework stops a checked call, and a call that was never run ends with the runtime", async () => {
  const haft = createTestHaft();
  haft.register({
    name: "pay",
    description: "Waits until it is stopped",
    parameters: [],
    needsApproval: false,
    run: (_input, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", reject)),
  });
  const tool = bridgePay(haft);
  const stop = new AbortController();
  await tool.check({}, { id: "c1" });
  const running = tool.run({}, { id: "c1", signal: stop.signal });
  await haft.recorded.next("tool_call_started");
  stop.abort();
  await haft.clock.advance(60_000);
  expect(await running).toMatchObject({ status: "failed" });
  await tool.check({}, { id: "c2" });
  await haft.shutdown();
  expect(haft.recorded.types("c2")).toEqual(["tool_call_requested", "tool_call_failed"]);
});

test("a runtime that asks by itself answers before the framework", async () => {
  const { paid, tool } = createWorld({ approver: async () => ({ approved: true, by: "ada" }) });
  expect(await tool.check({ amount: 50 }, { id: "c1" })).toBeUndefined();
  expect(paid).toEqual([]);
  expect(await tool.run({ amount: 50 }, { id: "c1" })).toMatchObject({ status: "completed" });
  expect(paid).toEqual([50]);
});

test("tools by name need no toolkit, and have the names that models get", async () => {
  const { pay, paid } = createPay();
  const haft = createTestHaft({ tools: [pay] });
  const [tool] = bridgeToolkit({ transfer: pay }, {}, PROFILE);
  expect(tool).toMatchObject({ name: "transfer", tool: { name: "pay" } });
  const asked = await tool!.check({ amount: 50 }, { id: "c1" });
  expect(await tool!.run({ amount: 50 }, { id: "c1", answer: { approved: true } })).toMatchObject({
    status: "completed",
  });
  expect(await haft.approvals.get(asked!.id)).toMatchObject({ toolName: "pay", state: "approved" });
  expect(paid).toEqual([50]);
});

test("a misspelt option is an error that names the nearest one", () => {
  const { haft } = createWorld();
  const options = { cal: {} } as AdapterOptions;
  expect(() => bridgeToolkit(haft.tools.toolkit("agent", ["pay"]), options, PROFILE)).toThrow(
    /toFrameworkTools.*"cal".*call/s,
  );
});

test("a question is answered after a restart, from the framework and from Haft", async () => {
  const stateFolder = temporaryFolder();
  const { pay, paid } = createPay();
  const open = async () => {
    const store = await openStore({ stateFolder });
    const { calls, jobs, audit } = store;
    const haft = createHaft({ tools: [pay], calls, jobs, log: audit });
    const close = async () => {
      await haft.shutdown();
      await store.close();
    };
    onTestFinished(close);
    return { haft, close, tool: bridgePay(haft) };
  };
  const first = await open();
  const there = await first.tool.check({ amount: 50 }, { id: "c1", run: "r1" });
  const here = await first.tool.check({ amount: 60 }, { id: "c2", run: "r1" });
  await first.close();
  const second = await open();
  const answer = { approved: true, by: "ada" };
  expect(await second.tool.check({ amount: 50 }, { id: "c1", run: "r1" })).toMatchObject({ id: there!.id });
  expect(await second.tool.run({ amount: 50 }, { id: "c1", run: "r1", answer })).toMatchObject({ status: "completed" });
  await second.haft.approvals.approve(here!.id, "grace");
  expect(await second.tool.wait({ id: "c2", run: "r1" })).toMatchObject({ state: "approved", answeredBy: "grace" });
  expect(await second.tool.run({ amount: 60 }, { id: "c2", run: "r1", answer })).toMatchObject({ status: "completed" });
  expect(paid).toEqual([50, 60]);
});

test("the yes of a framework's person is no answer to a question of ask_user", async () => {
  const haft = createTestHaft({ tools: createConversationTools() });
  const [tool] = bridgeToolkit(haft.tools.toolkit("agent", ["ask_user"]), {}, PROFILE);
  const call = { id: "c1", run: "r1" };
  const input = { questions: [{ question: "Which one?", options: [{ label: "a" }, { label: "b" }] }] };
  expect(await tool!.check(input, call)).toBeUndefined();
  const waiting = await tool!.run(input, call);
  expect(waiting).toMatchObject({ status: "pending", pending: { kind: "question" } });
  expect(resultText(waiting)).toContain("waits for the user");
  expect(waitsForPerson(waiting)).toBe(false);
  const id = waiting.status === "pending" ? waiting.pending.id : "";
  for (const answer of [{ approved: true }, { approved: true, approvalId: id }]) {
    expect(await tool!.run(input, { ...call, answer })).toMatchObject({ status: "pending", pending: { id } });
  }
  await haft.approvals.answer(id, [{ choices: ["b"] }], "ada");
  expect(await tool!.run(input, call)).toMatchObject({ status: "completed", display: "b" });
});
