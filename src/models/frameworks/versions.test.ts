// What versions that no adapter knows pass to tools, as recorded from them. test/adoption/old-versions.test.ts runs the versions themselves.
import { expect, test } from "vitest";
import { z } from "zod";
import { adopt } from "../../core/adopt/adopt.ts";
import { createTool } from "../../core/create-tool.ts";
import { createHaft } from "../../runtime.ts";
import { toAISDKTools } from "./ai-sdk.ts";
import { toClaudeAgentTools } from "./claude-agent-sdk.ts";
import { toLangChainTools } from "./langchain.ts";
import { toMastraTools } from "./mastra.ts";
import { toOpenAIAgentsTools } from "./openai-agents.ts";
import { toTanStackTools } from "./tanstack.ts";

function createWorld() {
  const effects: number[] = [];
  const pay = createTool({
    name: "pay",
    description: "Pays",
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }) => amount > 10,
    execute: ({ amount }) => {
      effects.push(amount);
      return `paid ${amount}`;
    },
  });
  createHaft({ tools: [pay] });
  return { effects, tools: { pay } };
}

const INPUT = { amount: 5 };
const MESSAGES = [{ role: "user", content: "go" }];

/** All that a generator yields, as the SDK reads it. */
async function drain(given: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const value of given) all.push(value);
  return all;
}

test.each([
  ["5.0.0", { toolCallId: "c1", messages: MESSAGES, abortSignal: undefined }],
  ["5.0.277", { toolCallId: "c1", messages: MESSAGES, abortSignal: undefined, experimental_context: undefined }],
  ["a later one", { call: { id: "c1" } }],
])("AI SDK %s is refused before a tool runs", (_version, call) => {
  const { effects, tools } = createWorld();
  const { pay } = toAISDKTools(tools);
  expect(() => pay.execute(INPUT, call as never)).toThrow(/works with AI SDK 6 and 7.*No tool was run/);
  expect(effects).toEqual([]);
});

test("AI SDK 4, which reads `parameters`, and results of 5 name the versions that work", () => {
  const { pay } = toAISDKTools(createWorld().tools);
  expect(() => (pay as unknown as { parameters: unknown }).parameters).toThrow("works with AI SDK 6 and 7");
  expect(() => pay.toModelOutput({ status: "completed", content: [] } as never)).toThrow("works with AI SDK 6 and 7");
});

test.each([
  ["7", { toolCallId: "c1", messages: MESSAGES, abortSignal: undefined, context: {} }],
  ["a program", { toolCallId: "c1", messages: MESSAGES }],
])("AI SDK: a call of version %s runs", async (_version, call) => {
  const { effects, tools } = createWorld();
  await drain(toAISDKTools(tools).pay.execute(INPUT, call));
  expect(effects).toEqual([5]);
});

test("AI SDK: a call of version 6, which reads the tool, runs", async () => {
  const { effects, tools } = createWorld();
  const { pay } = toAISDKTools(tools);
  expect(pay.strict).toBeUndefined();
  await drain(pay.execute(INPUT, { toolCallId: "c1", messages: MESSAGES, abortSignal: undefined }));
  expect(effects).toEqual([5]);
});

test("Mastra 0 is refused when its tools are made, and by adopt", () => {
  class Tool {
    id: string;
    description = "Pays";
    inputSchema = {};
    suspendSchema = undefined;
    mastra = undefined;
    execute: unknown;
    constructor(given: { id: string; execute: unknown }) {
      this.id = given.id;
      this.execute = given.execute;
    }
  }
  const { tools } = createWorld();
  const createTool = (given: { id: string; execute: unknown }) => new Tool(given);
  expect(() => toMastraTools(tools, { createTool })).toThrow(/works with Mastra 1 from 1\.12 on.*No tool was run/);
  expect(() => adopt(createTool({ id: "pay", execute: async () => "paid" }))).toThrow("needs Mastra 1 from 1.5 on");
});

/** As LangChain: `call` runs `func`. */
class StructuredTool {
  constructor(readonly fields: { func(input: unknown, manager?: unknown, config?: unknown): Promise<unknown> }) {}
  call(input: unknown, config: unknown): Promise<unknown> {
    return this.fields.func(input, undefined, config);
  }
}

test("LangGraph 0.4, whose graphs have no interrupt, is refused before a tool runs", async () => {
  const { effects, tools } = createWorld();
  const [pay] = toLangChainTools(tools, { DynamicStructuredTool: StructuredTool });
  const configurable = {
    thread_id: "t",
    __pregel_task_id: "1",
    __pregel_send: () => undefined,
    checkpoint_ns: "tools:1",
  };
  const toolCall = { id: "c1", name: "pay", args: INPUT, type: "tool_call" };
  await expect(pay!.call(INPUT, { configurable, toolCall })).rejects.toThrow(/LangGraph 1.*No tool was run/);
  expect(effects).toEqual([]);
  // Outside of a graph nothing could be interrupted.
  await pay!.call(INPUT, { configurable: { thread_id: "t" }, toolCall });
  await pay!.call(INPUT, { configurable, toolCall: { ...toolCall, id: "c2" }, interrupt: () => true });
  expect(effects).toEqual([5, 5]);
});

test("OpenAI Agents 0.4, whose runs know no reason of a rejection, are refused before a tool runs", async () => {
  const { effects, tools } = createWorld();
  const [pay] = toOpenAIAgentsTools(tools);
  const run = { isToolApproved: () => undefined, toJSON: () => ({ approvals: {} }) } as never;
  const problem = /OpenAI Agents 0\.6 and newer.*No tool was run/;
  await expect(pay!.isEnabled(run)).rejects.toThrow(problem);
  await expect(pay!.needsApproval(run, INPUT, "c1")).rejects.toThrow(problem);
  await expect(pay!.invoke(run, JSON.stringify(INPUT), { toolCall: { callId: "c1" } })).rejects.toThrow(problem);
  expect(effects).toEqual([]);
});

test("TanStack AI 0.44, which asks its middleware too late, and 0.5, which has none, are refused", async () => {
  const { effects, tools } = createWorld();
  const made = toTanStackTools(tools);
  const problem = /TanStack AI 0\.48 and newer.*No tool was run/;
  await expect(made[0]!.execute(INPUT)).rejects.toThrow(problem);
  const chat = { threadId: "t", phase: "init", messages: MESSAGES };
  const started = await made.middleware.onConfig(chat, { messages: MESSAGES, tools: made });
  const [own] = started!.tools as unknown as typeof made;
  await expect(own!.execute(INPUT, { toolCallId: "c1" })).rejects.toThrow(problem);
  expect(effects).toEqual([]);
  await made.middleware.onInterruptBoundary(Object.assign(chat, { phase: "beforeTools" }));
  expect(await own!.execute(INPUT, { toolCallId: "c1" })).toBe("paid 5");
});

test("a Claude Agent SDK that does not name the call is refused before a tool runs", async () => {
  const { effects, tools } = createWorld();
  const { mcpServers } = toClaudeAgentTools(tools, {
    createSdkMcpServer: ({ tools: made }) => ({ handlers: made.map(({ handler }) => handler) }),
  });
  const [handler] = mcpServers["haft"]!.handlers;
  await expect(handler!(INPUT, { signal: undefined, _meta: {} })).rejects.toThrow(/Claude Agent SDK 0\.3.*No tool was/);
  expect(effects).toEqual([]);
  await handler!(INPUT, { _meta: { "claudecode/toolUseId": "c1" } });
  expect(effects).toEqual([5]);
});
