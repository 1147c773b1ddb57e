import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { OPENAI_RULES, OPENAI_STRICT_RULES } from "./provider-schema-rules.ts";
import { matchResults, callResultText } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, StreamedCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";

// OpenAI's chat completions, and the many servers with a compatible API.

export interface OpenAITool {
  type: "function";
  function: { name: string; description: string; parameters: JsonSchema; strict?: boolean };
}

/** Tools as the Chat Completions API takes them. */
function toTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<OpenAITool> {
  return defineTools(
    tools,
    options,
    { rules: OPENAI_RULES, strictRules: OPENAI_STRICT_RULES },
    ({ name, description, schema, strict }) => ({
      type: "function",
      function: { name, description, parameters: schema, strict: strict || undefined },
    }),
  );
}

interface OpenAICall {
  id?: string;
  function?: { name?: string; arguments?: unknown };
  custom?: { name?: string; input?: string };
}

/** The fields of a message that concern calls. */
export interface OpenAIMessage {
  tool_calls?: readonly OpenAICall[] | null;
}

/** The calls in a completion. */
function readCalls(message: OpenAIMessage, options: ReadOptions = {}): ModelCall[] {
  if ("choices" in message) throw new TypeError("Pass a message, such as completion.choices[0].message.");
  const raw = (message.tool_calls ?? []).map((call) => ({
    id: call.id,
    name: call.function?.name ?? call.custom?.name,
    arguments: call.function ? call.function.arguments : call.custom?.input,
  }));
  return toModelCalls(raw, options);
}

/** The fields of a chunk that concern calls. */
export interface OpenAIChunk {
  choices: readonly {
    delta?: {
      tool_calls?:
        | readonly {
            index?: number;
            id?: string | null;
            function?: { name?: string | null; arguments?: unknown };
          }[]
        | null;
    };
  }[];
}

/** Reads the calls of a streamed completion. */
function createReader(options: ReadOptions = {}): CallReader<OpenAIChunk> {
  const raw = new StreamedCalls(options);
  const slots = new Map<number, string>();
  let last: string | number = 0;
  // Some servers give every call the same index, so the id distinguishes them. Others repeat the id in every chunk.
  const slotOf = (index: number | undefined, id: string | null | undefined): string | number => {
    if (!id) return index === undefined ? last : (slots.get(index) ?? index);
    const slot = `${index ?? ""}:${id}`;
    if (index !== undefined) slots.set(index, slot);
    return slot;
  };
  return {
    push({ choices }) {
      for (const { index, id, function: part } of choices[0]?.delta?.tool_calls ?? []) {
        last = slotOf(index, id);
        const call = raw.at(last);
        if (id) call.id = id;
        if (part?.name) call.name ??= part.name;
        if (typeof part?.arguments === "string") call.text += part.arguments;
        else if (part?.arguments != null) call.data = part.arguments;
      }
    },
    calls: () => raw.calls(),
  };
}

export interface OpenAIToolMessage {
  role: "tool";
  tool_call_id: string;
  content: string;
}

/** Text only: other content is described, and failures start with "Error". */
function toMessages(calls: readonly ModelCall[], results: readonly ToolResult[]): OpenAIToolMessage[] {
  return matchResults(calls, results).map((result) => ({
    role: "tool",
    tool_call_id: result.id,
    content: callResultText(result, { flagErrors: true }),
  }));
}

/** OpenAI's Chat Completions, and the many servers with a compatible API. */
export const openaiFormat = { toTools, readCalls, createReader, toMessages };
