import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { MISTRAL_STRICT_RULES } from "./provider-schema-rules.ts";
import { matchResults, callResultText } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, StreamedCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";

// Mistral, in the types of its SDK. Its wire format is OpenAI's chat format; read that with openai-chat.ts.

export interface MistralTool {
  type: "function";
  function: { name: string; description: string; parameters: JsonSchema; strict?: true };
}

/** Tools as the chat API takes them. */
function toTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<MistralTool> {
  return defineTools(
    tools,
    options,
    { rules: COMMON_RULES, strictRules: MISTRAL_STRICT_RULES },
    ({ name, description, schema, strict }) => ({
      type: "function",
      function: { name, description, parameters: schema, strict: strict || undefined },
    }),
  );
}

interface MistralCall {
  id?: string | undefined;
  index?: number | undefined;
  function: { name: string; arguments: unknown };
}

/** The fields of a message, or of its delta, that concern calls. */
export interface MistralMessage {
  toolCalls?: readonly MistralCall[] | null | undefined;
}

/** The SDK writes "null" if a call has no id. */
function idOf({ id }: MistralCall): string | undefined {
  return id === "null" ? undefined : id;
}

/** The calls in an answer. */
function readCalls(message: MistralMessage, options: ReadOptions = {}): ModelCall[] {
  const raw = (message.toolCalls ?? []).map((call) => ({
    id: idOf(call),
    name: call.function.name,
    arguments: call.function.arguments,
  }));
  return toModelCalls(raw, options);
}

/** The fields of a stream event that concern calls. */
export interface MistralEvent {
  data: { choices: readonly { delta: MistralMessage }[] };
}

/** Reads the calls of a streamed answer. */
function createReader(options: ReadOptions = {}): CallReader<MistralEvent> {
  const raw = new StreamedCalls(options);
  const slots = new Map<string, string>();
  return {
    push({ data }) {
      for (const part of data.choices[0]?.delta.toolCalls ?? []) {
        const id = idOf(part);
        // The SDK writes index 0 if the server sent none, so an id takes precedence.
        const slot = id ?? slots.get(String(part.index ?? 0)) ?? String(part.index ?? 0);
        if (id) slots.set(String(part.index ?? 0), id);
        const call = raw.at(slot);
        if (id) call.id = id;
        if (part.function.name) call.name ??= part.function.name;
        if (typeof part.function.arguments === "string") call.text += part.function.arguments;
        else call.data = part.function.arguments;
      }
    },
    calls: () => raw.calls(),
  };
}

export interface MistralToolMessage {
  role: "tool";
  toolCallId: string;
  name: string;
  content: string;
}

/** Text only: other content is described, and failures start with "Error". */
function toMessages(calls: readonly ModelCall[], results: readonly ToolResult[]): MistralToolMessage[] {
  return matchResults(calls, results).map((result) => ({
    role: "tool",
    toolCallId: result.id,
    name: result.name,
    content: callResultText(result, { flagErrors: true }),
  }));
}

/** The chat API of Mistral. */
export const mistralFormat = { toTools, readCalls, createReader, toMessages };
