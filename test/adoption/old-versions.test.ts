// Versions that no adapter knows, with the packages themselves: they are refused, and nothing has run.
import { expect, describe, test } from "vitest";
import { toAISDKTools } from "../../src/models/frameworks/ai-sdk.ts";
import { toLangChainTools } from "../../src/models/frameworks/langchain.ts";
import { toMastraTools } from "../../src/models/frameworks/mastra.ts";
import { toOpenAIAgentsTools } from "../../src/models/frameworks/openai-agents.ts";
import { createAgentsModel, createTanStackAdapter } from "../../src/models/frameworks/scripted-models.fixture.ts";
import { toTanStackTools } from "../../src/models/frameworks/tanstack.ts";
import { importFramework, isWanted } from "./on-demand.ts";
import { createWorld } from "./pay-world.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- old versions, whose types are not installed
type Loose = any;

const CALL = { id: "c1", name: "pay", input: { amount: 5 } };

describe.runIf(isWanted("old-versions"))("installed on demand", () => {
  const load = (): Promise<Loose> => importFramework<Loose>("old-versions");

  test("AI SDK 5: the model gets the versions that work", async () => {
    const { generateText5 } = await load();
    const { effects, toolkit } = createWorld();
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    const call = { type: "tool-call", toolCallId: "c1", toolName: "pay", input: JSON.stringify(CALL.input) };
    const model = {
      specificationVersion: "v2",
      provider: "scripted",
      modelId: "scripted",
      supportedUrls: {},
      doGenerate: async () => ({ content: [call], finishReason: "tool-calls", usage, warnings: [] }),
    };
    const { content } = await generateText5({ model, prompt: "go", tools: toAISDKTools(toolkit) });
    const { error } = content.find(({ type }: { type: string }) => type === "tool-error");
    expect(error.message).toContain("toAISDKTools works with AI SDK 6 and 7.");
    expect(effects).toEqual([]);
  });

  test("Mastra 0.24: the tools cannot be made", async () => {
    const { createTool } = await load();
    const { toolkit } = createWorld();
    expect(() => toMastraTools(toolkit, { createTool })).toThrow("toMastraTools works with Mastra 1 from 1.12 on.");
  });

  test("LangGraph 0.4: the tool message names the versions that work", async () => {
    const { AIMessage, DynamicStructuredTool, MemorySaver, MessagesAnnotation, StateGraph, ToolNode } = await load();
    const { effects, toolkit } = createWorld();
    const tools = toLangChainTools(toolkit, { DynamicStructuredTool });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("tools", new ToolNode(tools))
      .addEdge("__start__", "tools")
      .compile({ checkpointer: new MemorySaver() });
    const { id, name, input } = CALL;
    const message = new AIMessage({ content: "", tool_calls: [{ id, name, args: input }] });
    const { messages } = await graph.invoke({ messages: [message] }, { configurable: { thread_id: "t" } });
    expect(messages.at(-1)).toMatchObject({ status: "error" });
    expect(messages.at(-1).content).toContain("toLangChainTools works with LangChain 1 and LangGraph 1.");
    expect(effects).toEqual([]);
  });

  test("OpenAI Agents 0.4: the run ends before the model is asked", async () => {
    const { Agent, Runner } = await load();
    const { effects, toolkit } = createWorld();
    const model = createAgentsModel([CALL]);
    const agent = new Agent({ name: "Clerk", model, tools: toOpenAIAgentsTools(toolkit) });
    const runner = new Runner({ tracingDisabled: true, modelProvider: { getModel: () => model } });
    await expect(runner.run(agent, "go")).rejects.toThrow("works with OpenAI Agents 0.6 and newer.");
    expect(model.requests).toEqual([]);
    expect(effects).toEqual([]);
  });

  test("TanStack AI 0.44: the result names the versions that work", async () => {
    const { chat } = await load();
    const { effects, toolkit } = createWorld();
    const tools = toTanStackTools(toolkit);
    const chunks: unknown[] = [];
    const adapter = createTanStackAdapter([CALL]);
    const messages = [{ role: "user", content: "go" }];
    for await (const chunk of chat({ adapter, messages, threadId: "t", tools, middleware: [tools.middleware] })) {
      chunks.push(chunk);
    }
    expect(JSON.stringify(chunks)).toContain("toTanStackTools works with TanStack AI 0.48 and newer.");
    expect(effects).toEqual([]);
  });
});
