// Calls through other frameworks: each runs its own loop, or its own tool call, with the given toolkit.
import type { ToolMessage } from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";
import { Agent, Runner } from "@openai/agents-core";
import { chat } from "@tanstack/ai";
import { generateText } from "ai";
import type { CallOptions, ToolResult } from "haft";
import type { TestHaft } from "haft/testing";
import { toAISDKTools } from "../../src/models/frameworks/ai-sdk.ts";
import { toLangChainTools } from "../../src/models/frameworks/langchain.ts";
import { toTanStackTools } from "../../src/models/frameworks/tanstack.ts";
import { toOpenAIAgentsTools } from "../../src/models/frameworks/openai-agents.ts";
import {
  createAgentsModel,
  createModel7,
  createTanStackAdapter,
} from "../../src/models/frameworks/scripted-models.fixture.ts";
import { anthropicFormat } from "../../src/models/providers/anthropic.ts";
import { textFormat } from "../../src/models/text/format-table.ts";
import { formatToolResult } from "../../src/models/text/format-tool-result.ts";
import type { TextFormatName } from "../../src/core/text-formats.ts";
import { createToolCallParser } from "../../src/models/text/tool-call-parser.ts";

interface Called {
  readonly haft: TestHaft;
  readonly name: string;
  readonly input: unknown;
  readonly options: CallOptions;
}

let count = 0;

/** The call id for the framework's model, and the other options. */
function readOptions({ id = `call_through_${++count}`, signal: _signal, ...call }: CallOptions) {
  return { id, call };
}

/** The result of a call that a framework makes: it asks and fails in its own ways, so the runtime is asked. */
async function resultOf(haft: TestHaft, id: string, play: () => Promise<void>): Promise<ToolResult> {
  let result: ToolResult | undefined;
  const stop = haft.on("*", (event) => {
    if ("result" in event && event.callId === id) result = event.result;
  });
  await play();
  stop();
  if (!result) throw new Error(`The framework did not make the call "${id}".`);
  return result;
}

export async function callOverAISDK({ haft, name, input, options }: Called): Promise<ToolResult> {
  const { id, call } = readOptions(options);
  const tools = toAISDKTools(haft.tools.toolkit("agent", [name]), { call });
  return resultOf(haft, id, async () => {
    await generateText({ model: createModel7([{ id, name, input }]), prompt: "go", tools });
  });
}

export async function callOverLangChain({ haft, name, input, options }: Called): Promise<ToolResult> {
  const { id, call } = readOptions(options);
  const [tool] = toLangChainTools(haft.tools.toolkit("agent", [name]), { DynamicStructuredTool, call });
  const message = (await tool!.invoke({ type: "tool_call", id, name, args: input as never })) as ToolMessage;
  return message.artifact as ToolResult;
}

export async function callOverOpenAIAgents({ haft, name, input, options }: Called): Promise<ToolResult> {
  const { id, call } = readOptions(options);
  const tools = toOpenAIAgentsTools(haft.tools.toolkit("agent", [name]), { call });
  const agent = new Agent({ name: "agent", model: createAgentsModel([{ id, name, input }]), tools });
  return resultOf(haft, id, async () => {
    await new Runner({ tracingDisabled: true }).run(agent, "go");
  });
}

export async function callOverTanStack({ haft, name, input, options }: Called): Promise<ToolResult> {
  const { id, call } = readOptions(options);
  const tools = toTanStackTools(haft.tools.toolkit("agent", [name]), { call });
  return resultOf(haft, id, async () => {
    const adapter = createTanStackAdapter([{ id, name, input }]);
    const messages = [{ role: "user" as const, content: "go" }];
    for await (const _chunk of chat({ adapter, messages, tools, middleware: [tools.middleware] })) continue;
  });
}

/** A provider's streamed call, read and executed. */
export async function callOverProvider({ haft, name, input, options }: Called): Promise<ToolResult> {
  const { id, call } = readOptions(options);
  const reader = anthropicFormat.createReader(anthropicFormat.toTools(haft.tools.list()));
  reader.push({
    type: "content_block_start",
    index: 0,
    content_block: { type: "tool_use", ...{ id, name, input: {} } },
  });
  for (const piece of JSON.stringify(input).match(/.{1,4}/gs) ?? []) {
    reader.push({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: piece } });
  }
  const [result] = await haft.executeMany(reader.calls(), call);
  return result!;
}

/** Streams the text of a model without function calling, and checks the text of the result. */
export function callOverText(format: TextFormatName) {
  return async ({ haft, name, input, options }: Called): Promise<ToolResult> => {
    const { id, call } = readOptions(options);
    const tools = haft.tools.list();
    const written = `I call it.\n${textFormat(format).write([{ name, input: input as Record<string, unknown> }])}\n`;
    const parser = createToolCallParser({ format, tools, newId: () => id });
    for (const piece of written.match(/.{1,3}/gs) ?? []) parser.push(piece);
    parser.end();
    const [read] = parser.result.calls;
    if (!read || read.failure) throw new Error(`No call was read in ${written}`);
    const result = await haft.execute(read.name, read.input, { ...call, id });
    const answer = formatToolResult(read.name, result, { format, tools });
    const isOne = createToolCallParser({ format, tools })
      .push(answer)
      .every(({ type }) => !type.startsWith("call_"));
    if (!isOne || !answer.includes(read.name)) throw new Error(`The answer is not one: ${answer}`);
    return result;
  };
}
