import { Agent, Runner, RunState } from "@openai/agents-core";
import { resolveOpenAIAgentsApprovals, toOpenAIAgentsTools } from "haft/formats";
import { describe, expect, test } from "vitest";
import { createAgentsModel, type ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import { describeFramework } from "./framework.suite.ts";
import { openRig } from "./openai-agents.rig.ts";
import { createWorld, openQuestion } from "./pay-world.ts";
import { versionOf } from "./versions.ts";

describeFramework({
  name: "OpenAI Agents",
  rig: "openai-agents",
  version: versionOf("@openai/agents-core"),
  openRig,
  cannot: {
    streaming: "the framework has no partial results of tools",
    "one id, two tools": "the framework refuses a second call with the same id in a run",
    "one id, two turns": "the framework gives tools no earlier messages, so each run needs its own session",
  },
});

const PAY: ScriptedCall = { id: "functions.pay:0", name: "pay", input: { amount: 50 } };
const inChat = { call: { caller: { session: "chat-1", user: "ada" } } };

type Tools = ReturnType<typeof toOpenAIAgentsTools>;
const runner = new Runner({ tracingDisabled: true });

function createAgent(tools: Tools, calls: readonly ScriptedCall[] = [PAY]) {
  const model = createAgentsModel(calls);
  return { agent: new Agent({ name: "agent", model, tools }), model };
}

type AnyAgent = ReturnType<typeof createAgent>["agent"];
type State = RunState<undefined, AnyAgent>;

async function run(agent: AnyAgent, input: string | State) {
  return runner.run(agent, input);
}

async function runStreamed(agent: AnyAgent, input: string | State) {
  const result = await runner.run(agent, input, { stream: true });
  await result.completed;
  return result;
}

describe.each([
  ["a run", run],
  ["a streamed run", runStreamed],
] as const)("%s", (_name, play) => {
  test("is interrupted, and a yes in its state runs the call once and is Haft's answer", async () => {
    const { haft, effects, toolkit } = createWorld();
    const { agent } = createAgent(toOpenAIAgentsTools(toolkit, inChat));
    const { state, interruptions } = await play(agent, "go");
    expect(interruptions).toHaveLength(1);
    const question = await openQuestion(haft);
    expect(question).toMatchObject({ toolName: "pay", callId: PAY.id, caller: { session: "chat-1" } });
    expect(effects).toEqual([]);

    state.approve(interruptions[0]!);
    const second = await play(agent, state);
    expect(second.finalOutput).toBe("done");
    expect(effects).toEqual(["paid 50 to ann"]);
    expect(await haft.approvals.get(question.id)).toMatchObject({
      state: "approved",
      answeredBy: "ada",
      answeredVia: "OpenAI Agents",
      call: { outcome: "completed" },
    });
    expect(await haft.approvals.list()).toHaveLength(1);
  });

  test("resumes after a yes in Haft, without a session too", async () => {
    const { haft, effects, toolkit } = createWorld();
    const { agent } = createAgent(toOpenAIAgentsTools(toolkit));
    const { state } = await play(agent, "go");
    const resolved = resolveOpenAIAgentsApprovals(state);
    await haft.approvals.approve((await openQuestion(haft)).id, "grace");
    await resolved;
    const { finalOutput, newItems } = await play(agent, state);
    expect(finalOutput).toBe("done");
    expect(JSON.stringify(newItems)).toContain("r-50");
    expect(effects).toEqual(["paid 50 to ann"]);
  });

  test("closes the question after a no in its state, and tells the model after a no in Haft", async () => {
    const { haft, effects, toolkit } = createWorld();
    const { agent, model } = createAgent(toOpenAIAgentsTools(toolkit, inChat));
    const { state, interruptions } = await play(agent, "go");
    const { id } = await openQuestion(haft);
    state.reject(interruptions[0]!, { message: "too much" });
    expect((await play(agent, state)).finalOutput).toBe("done");
    expect(await haft.approvals.get(id)).toMatchObject({ state: "denied", answeredBy: "ada", note: "too much" });

    const other = createAgent(toOpenAIAgentsTools(toolkit, { call: { caller: { session: "chat-2" } } }));
    const asked = await play(other.agent, "go");
    await haft.approvals.deny((await openQuestion(haft)).id, "not today", "grace");
    await resolveOpenAIAgentsApprovals(asked.state);
    expect((await play(other.agent, asked.state)).finalOutput).toBe("done");
    expect(JSON.stringify(other.model.requests.at(-1)!.input)).toContain("not today");
    expect(JSON.stringify(model.requests.at(-1)!.input)).toContain("too much");
    expect(effects).toEqual([]);
  });

  test("fails with the tool's error, also of a denied tool, and has the complete result", async () => {
    const { haft, effects, toolkit } = createWorld({ policy: { deny: ["pay"] } });
    const calls = [PAY, { id: "c2", name: "fail", input: {} }, { id: "c3", name: "count", input: { to: "x" } }];
    const { agent, model } = createAgent(toOpenAIAgentsTools(toolkit), calls);
    const { finalOutput, newItems } = await play(agent, "go");
    expect(finalOutput).toBe("done");
    const outputs = newItems.flatMap((item) => (item.type === "tool_call_output_item" ? [item.customData] : []));
    expect(outputs).toHaveLength(3);
    for (const output of outputs) expect(output).toMatchObject({ status: "failed" });
    expect(JSON.stringify(model.requests.at(-1)!.input)).toContain("Error: out of paper");
    expect(effects).toEqual([]);
    expect(await haft.calls.log.recent()).toHaveLength(3);
  });
});

test("a tool that the person always approves asks no more, and every call is an approved one in Haft", async () => {
  const { haft, effects, toolkit } = createWorld();
  const calls = [PAY, { id: "functions.pay:1", name: "pay", input: { amount: 60 } }];
  const { agent } = createAgent(toOpenAIAgentsTools(toolkit, inChat), calls);
  const { state, interruptions } = await run(agent, "go");
  expect(interruptions).toHaveLength(2);
  state.approve(interruptions[0]!, { alwaysApprove: true });
  const { finalOutput } = await run(agent, state);
  expect(finalOutput).toBe("done");
  expect(effects.toSorted()).toEqual(["paid 50 to ann", "paid 60 to ann"]);
  expect((await haft.approvals.list()).map((approval) => approval.state)).toEqual(["approved", "approved"]);
});

test("in one session a repeated id returns the first result, and fails in words with other input", async () => {
  const { effects, toolkit } = createWorld();
  const tools = toOpenAIAgentsTools(toolkit, inChat);
  const play = async (amount: number): Promise<string> => {
    const { newItems } = await run(createAgent(tools, [{ ...PAY, input: { amount } }]).agent, "go");
    return JSON.stringify(newItems.find(({ type }) => type === "tool_call_output_item"));
  };
  expect(await play(5)).toContain("r-5");
  expect(await play(5)).toContain("r-5");
  expect(await play(7)).toMatch(/Error: The call id .*functions\.pay:0.* was used before/);
  expect(effects).toEqual(["paid 5 to ann"]);
});

test("equal call ids of two runs are two calls", async () => {
  const { haft, effects, toolkit } = createWorld();
  const tools = toOpenAIAgentsTools(toolkit);
  const { agent } = createAgent(tools, [{ ...PAY, input: { amount: 5 } }]);
  for (const _run of [1, 2]) await run(agent, "go");
  expect(effects).toEqual(["paid 5 to ann", "paid 5 to ann"]);
  const asking = createAgent(tools).agent;
  const one = await run(asking, "go");
  const other = await run(asking, "go");
  expect(await haft.approvals.list("pending")).toHaveLength(2);
  one.state.approve(one.interruptions[0]!);
  await run(asking, one.state);
  expect(effects).toHaveLength(3);
  other.state.approve(other.interruptions[0]!);
  await run(asking, other.state);
  expect(effects).toHaveLength(4);
});

test("an approved state whose question is not known runs nothing, however often it is resumed", async () => {
  const first = await run(createAgent(toOpenAIAgentsTools(createWorld().toolkit, inChat)).agent, "go");
  first.state.approve(first.interruptions[0]!);
  const { haft, effects, toolkit } = createWorld();
  const { agent } = createAgent(toOpenAIAgentsTools(toolkit, inChat));
  for (const _resume of [1, 2]) {
    await run(agent, await RunState.fromString<undefined, AnyAgent>(agent, first.state.toString()));
  }
  expect(effects).toEqual([]);
  expect(await haft.approvals.list("pending")).toEqual([]);
});

test("without a session a stored run is not resumed with other tools, and says what to set", async () => {
  const { effects, toolkit } = createWorld();
  const first = await run(createAgent(toOpenAIAgentsTools(toolkit)).agent, "go");
  const { agent, model } = createAgent(toOpenAIAgentsTools(toolkit));
  const state = await RunState.fromString<undefined, AnyAgent>(agent, first.state.toString());
  state.approve(state.getInterruptions()[0]!);
  await run(agent, state);
  expect(effects).toEqual([]);
  expect(JSON.stringify(model.requests.at(-1)!.input)).toContain("caller.session");
});
