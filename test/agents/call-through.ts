// The agent loop as an entrance: a model that makes the given call, by function calling or as text.
import type { CallOptions, ToolResult } from "haft";
import { createScriptedLanguageModel, type TestHaft } from "haft/testing";
import { createAgent } from "../../src/agent.ts";
import { parseToolCalls } from "../../src/models/text/tool-call-parser.ts";
import { textFormat } from "../../src/models/text/format-table.ts";

interface Called {
  readonly haft: TestHaft;
  readonly name: string;
  readonly input: unknown;
  readonly options: CallOptions;
}

export async function callByAgent({ haft, name, input, options }: Called): Promise<ToolResult> {
  const model = createScriptedLanguageModel([
    { calls: [{ name, input, ...(options.id ? { id: options.id } : {}) }] },
    { text: "done" },
  ]);
  return run(createAgent({ haft, model }), options);
}

export async function callByTextAgent({ haft, name, input, options }: Called): Promise<ToolResult> {
  const text = textFormat("hermes").write([{ name, input: input as Record<string, unknown> }]);
  if (parseToolCalls(text, { format: "hermes" }).calls.length !== 1) throw new Error("The call is not written as one.");
  const model = createScriptedLanguageModel([{ text }, { text: "done" }]);
  return run(createAgent({ haft, model, format: "hermes" }), options);
}

async function run(agent: ReturnType<typeof createAgent>, options: CallOptions): Promise<ToolResult> {
  const { mode, caller, policy, signal } = options;
  const { messages } = await agent.run("go", {
    ...(mode ? { mode } : {}),
    ...(caller ? { caller } : {}),
    ...(policy ? { policy: [policy].flat() } : {}),
    ...(signal ? { signal } : {}),
  });
  const reported = messages.find((message) => message.role === "tool");
  return reported!.results[0]!;
}
