import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { OPENAI_RULES, OPENAI_STRICT_RULES } from "./provider-schema-rules.ts";
import { answerCalls, answerText } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, RawCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";

// OpenAI's chat completions, and the many servers that speak like them.

export interface OpenAITool {
  type: "function";
  function: { name: string; description: string; parameters: JsonSchema; strict?: boolean };
}

export function toOpenAITools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<OpenAITool> {
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

/** The part of a message that holds calls. */
export interface OpenAIMessage {
  tool_calls?: readonly OpenAICall[] | null;
}

export function readOpenAICalls(message: OpenAIMessage, options: ReadOptions = {}): ModelCall[] {
  const raw = (message.tool_calls ?? []).map((call) => ({
    id: call.id,
    name: call.function?.name ?? call.custom?.name,
    arguments: call.function ? call.function.arguments : call.custom?.input,
  }));
  return toModelCalls(raw, options);
}

/** The part of a chunk that holds calls. */
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

export function createOpenAIReader(options: ReadOptions = {}): CallReader<OpenAIChunk> {
  const raw = new RawCalls(options);
  let last: string | number = 0;
  // Of servers that give every call the same index, the id tells them apart; others repeat the id in every chunk.
  const slotOf = (index: number | undefined, id: string | null | undefined): string | number => {
    if (!id) return index === undefined || slots.get(index) === undefined ? (index ?? last) : slots.get(index)!;
    const slot = `${index ?? ""}:${id}`;
    if (index !== undefined) slots.set(index, slot);
    return slot;
  };
  const slots = new Map<number, string>();
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

/** Tool messages hold text alone: what is no text is named in it, and a failure says "Error". */
export function toOpenAIMessages(calls: readonly ModelCall[], results: readonly ToolResult[]): OpenAIToolMessage[] {
  return answerCalls(calls, results).map((answer) => ({
    role: "tool",
    tool_call_id: answer.id,
    content: answerText(answer, { flagErrors: true }),
  }));
}
