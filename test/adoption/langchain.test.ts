import { AIMessage, type BaseMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";
import { Command, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { createHaft, createTool } from "haft";
import { expect, test } from "vitest";
import { z } from "zod";
import { toLangChainTools } from "../../src/models/frameworks/langchain.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "../setup/until.ts";
import { describeFramework } from "./framework.suite.ts";
import { openRig } from "./langchain.rig.ts";
import { versionOf } from "./versions.ts";
import { openWorld } from "./world.ts";

describeFramework({ name: "LangChain", rig: "langchain", version: versionOf("langchain"), openRig });

const USER = { role: "user", content: "go" };
const IN_THREAD = { configurable: { thread_id: "thread" } };

interface State {
  messages: BaseMessage[];
  __interrupt__?: { value: { approvalId: string; problem?: string; actionRequests: { args: { to: string } }[] } }[];
}

/** A graph whose only node for tools makes all calls of a message. Every message of a user starts the same calls. */
async function openGraph(people: readonly string[], checkpointer?: MemorySaver) {
  const world = await openWorld(temporaryFolder("haft-adoption-"));
  const tools = toLangChainTools(world.toolkit, { DynamicStructuredTool });
  return { ...world, tools, ...openPlainGraph(tools, checkpointer, people) };
}

function openPlainGraph(
  tools: DynamicStructuredTool[],
  checkpointer?: MemorySaver,
  people: readonly string[] = ["ada"],
): { play(input: unknown): Promise<State> } {
  const calls = people.map((to, at) => ({ id: `functions.pay:${at}`, name: "pay", args: { to } }));
  const speak = (last: BaseMessage | undefined): AIMessage =>
    last?.getType() === "tool" ? new AIMessage("done") : new AIMessage({ content: "", tool_calls: calls });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", ({ messages }) => ({ messages: [speak(messages.at(-1))] }))
    .addNode("tools", new ToolNode(tools))
    .addEdge("__start__", "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : "__end__",
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer });
  const play = async (input: unknown): Promise<State> => (await graph.invoke(input as never, IN_THREAD)) as State;
  return { play };
}

/** Questions that expire at once. */
function createExpiring() {
  const paid: string[] = [];
  const tool = createTool({
    name: "pay",
    description: "Pays somebody",
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    run: ({ to }) => void paid.push(to),
  });
  return { haft: createHaft({ tools: [tool], approvals: { lifetimeMs: 300 } }), paid, tool };
}

function asked({ __interrupt__: interrupts = [] }: State): string[] {
  return interrupts.map(({ value }) => value.actionRequests[0]!.args.to);
}

function statuses({ messages }: State): (string | undefined)[] {
  return messages.filter((message) => message.getType() === "tool").map((message) => (message as ToolMessage).status);
}

test("two calls of one node are asked about in turn, and each gets its own answer", async () => {
  const { play, payments, haft, close } = await openGraph(["ada", "bob"], new MemorySaver());
  expect(asked(await play({ messages: [USER] }))).toEqual(["ada"]);
  expect(asked(await play(new Command({ resume: true })))).toEqual(["bob"]);
  const ended = await play(new Command({ resume: { approved: false, reason: "not bob" } }));
  expect(statuses(ended)).toEqual(["success", "error"]);
  expect(payments()).toEqual(["ada"]);
  expect((await haft.approvals.list()).map(({ state }) => state)).toEqual(["approved", "denied"]);
  await close();
});

test("an answer to a question that has expired does not answer the one that was opened after it", async () => {
  const { haft, paid, tool } = createExpiring();
  const tools = toLangChainTools({ pay: tool }, { DynamicStructuredTool });
  const { play } = openPlainGraph(tools, new MemorySaver());
  const first = await play({ messages: [USER] });
  expect(first.__interrupt__).toHaveLength(1);
  await until(async () => (await haft.approvals.list("pending")).length === 0);
  const ended = await play(new Command({ resume: true }));
  expect(statuses(ended)).toEqual(["error"]);
  expect(paid).toEqual([]);
  expect((await haft.approvals.list()).map(({ state }) => state)).toEqual(["expired", "denied"]);
  await haft.shutdown();
});

test("an answer in Haft for the first call of a node does not answer the second", async () => {
  const { play, payments, haft, close } = await openGraph(["ada", "bob"], new MemorySaver());
  const first = await play({ messages: [USER] });
  const { approvalId } = first.__interrupt__![0]!.value;
  await haft.approvals.approve(approvalId, "grace");
  expect(asked(await play(new Command({ resume: { approvalId } })))).toEqual(["bob"]);
  expect(payments()).toEqual(["ada"]);
  expect(statuses(await play(new Command({ resume: true })))).toEqual(["success", "success"]);
  expect(payments()).toEqual(["ada", "bob"]);
  await close();
});

test.each([
  ["yes"],
  [{}],
  [{ approved: "true" }],
  [{ decisions: [{ type: "edit" }] }],
  [{ approvalId: "other", approved: true }],
])("%j is no approval, and the question stays open", async (resume) => {
  const { play, payments, close } = await openGraph(["ada"], new MemorySaver());
  const first = await play({ messages: [USER] });
  const again = await play(new Command({ resume }));
  expect(again.__interrupt__![0]!.value).toMatchObject({
    approvalId: first.__interrupt__![0]!.value.approvalId,
    problem: expect.any(String),
  });
  expect(payments()).toEqual([]);
  expect(statuses(await play(new Command({ resume: true })))).toEqual(["success"]);
  expect(payments()).toEqual(["ada"]);
  await close();
});

test("{ approved: false } is a no", async () => {
  const { play, payments, haft, close } = await openGraph(["ada"], new MemorySaver());
  await play({ messages: [USER] });
  expect(statuses(await play(new Command({ resume: { approved: false } })))).toEqual(["error"]);
  expect(payments()).toEqual([]);
  expect((await haft.approvals.list()).map(({ state }) => state)).toEqual(["denied"]);
  await close();
});

test("a graph without a checkpointer, and a tool without a graph, return the pending result", async () => {
  const { play, tools, payments, haft, close } = await openGraph(["ada"]);
  const { messages } = await play({ messages: [USER] });
  expect(messages.at(-2)).toMatchObject({ status: "error", artifact: { status: "pending" } });
  const pay = tools.find(({ name }) => name === "pay")!;
  const call = { type: "tool_call" as const, id: "functions.pay:0", name: "pay", args: { to: "ada" } };
  const first = (await pay.invoke(call)) as ToolMessage;
  expect(first).toMatchObject({ status: "error", artifact: { status: "pending" } });
  // Nothing says that this is the same conversation, so it is another call.
  const second = (await pay.invoke(call)) as ToolMessage;
  expect(second.artifact.pending.id).not.toBe(first.artifact.pending.id);
  expect(await haft.approvals.list("pending")).toHaveLength(3);
  expect(payments()).toEqual([]);
  await close();
});

test("a graph's messages say who named a value; a summary that LangChain wrote does not", async () => {
  const text = { type: "string" };
  const haft = createHaft({
    tools: [
      createTool({
        name: "read",
        description: "Reads",
        kind: "readonly",
        labels: ["untrusted_input"],
        parameters: {},
        run: () => "to ada",
      }),
      createTool({
        name: "pay",
        description: "Pays",
        kind: "write",
        needsApproval: false,
        parameters: { type: "object", properties: { to: text } },
        run: () => "paid",
      }),
    ],
    provenance: { mode: "ask" },
  });
  const summary = new HumanMessage({ content: "pay bob", additional_kwargs: { lc_source: "summarization" } });
  for (const [messages, statusOfPay] of [
    [[new HumanMessage("Pay ada.")], "completed"],
    [[new HumanMessage("Pay somebody."), summary], "pending"],
  ] as const) {
    const caller = { session: `s ${statusOfPay}` };
    const tools = toLangChainTools(haft.tools.toolkit("agent", ["read", "pay"]), {
      DynamicStructuredTool,
      call: { caller },
    });
    const calls = ["read", "pay"].map((name) => ({
      id: name,
      name,
      args: name === "pay" ? { to: statusOfPay === "completed" ? "ada" : "bob" } : {},
    }));
    const node = new ToolNode(tools);
    const found: ToolMessage[] = [];
    for (const call of calls) {
      const made = new AIMessage({ content: "", tool_calls: [call] });
      const { messages: answers } = (await node.invoke({ messages: [...messages, made] })) as {
        messages: ToolMessage[];
      };
      found.push(...answers);
    }
    expect(found.map(({ artifact }) => (artifact as { status: string }).status)).toEqual(["completed", statusOfPay]);
  }
});
