import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { MISTRAL_STRICT_RULES } from "./provider-schema-rules.ts";
import { answerCalls, answerText } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, RawCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";

// Mistral, in the shapes of its SDK. What goes over the wire is OpenAI's chat shape, and read as that.

export interface MistralTool {
  type: "function";
  function: { name: string; description: string; parameters: JsonSchema; strict?: true };
}

export function toMistralTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<MistralTool> {
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

/** The part of a message, whole or the delta of one, that holds calls. */
export interface MistralMessage {
  toolCalls?: readonly MistralCall[] | null | undefined;
}

/** The SDK writes "null" where a call has no id. */
function idOf({ id }: MistralCall): string | undefined {
  return id === "null" ? undefined : id;
}

export function readMistralCalls(message: MistralMessage, options: ReadOptions = {}): ModelCall[] {
  const raw = (message.toolCalls ?? []).map((call) => ({
    id: idOf(call),
    name: call.function.name,
    arguments: call.function.arguments,
  }));
  return toModelCalls(raw, options);
}

/** The part of a stream's event that holds calls. */
export interface MistralEvent {
  data: { choices: readonly { delta: MistralMessage }[] };
}

export function createMistralReader(options: ReadOptions = {}): CallReader<MistralEvent> {
  const raw = new RawCalls(options);
  const slots = new Map<string, string>();
  return {
    push({ data }) {
      for (const part of data.choices[0]?.delta.toolCalls ?? []) {
        const id = idOf(part);
        // The SDK writes index 0 where the server gave none, so that an id decides where there is one.
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

/** Text alone: what is no text is named in it, and a failure says "Error". */
export function toMistralMessages(calls: readonly ModelCall[], results: readonly ToolResult[]): MistralToolMessage[] {
  return answerCalls(calls, results).map((answer) => ({
    role: "tool",
    toolCallId: answer.id,
    name: answer.name,
    content: answerText(answer, { flagErrors: true }),
  }));
}
