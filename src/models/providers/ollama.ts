import type { ToolResult } from "../../core/result.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { answerCalls, answerText, mapContent } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, RawCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";

interface OllamaParameters {
  type: "object";
  required?: string[];
  properties: Record<string, { type?: string | string[]; items?: unknown; description?: string; enum?: unknown[] }>;
}

export interface OllamaTool {
  type: "function";
  function: { name: string; description: string; parameters: OllamaParameters };
}

/** Ollama does not enforce schemas. */
export function toOllamaTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<OllamaTool> {
  return defineTools(
    tools,
    { ...options, strict: false },
    { rules: COMMON_RULES },
    ({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema as object as OllamaParameters },
    }),
  );
}

/** The part of a message that holds calls. Newer servers give ids. */
export interface OllamaMessage {
  tool_calls?: readonly { id?: string; function: { name: string; arguments: unknown } }[];
}

export function readOllamaCalls(message: OllamaMessage, options: ReadOptions = {}): ModelCall[] {
  const raw = (message.tool_calls ?? []).map((call) => ({
    id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
  }));
  return toModelCalls(raw, options);
}

/** A streamed call comes whole, in any of the chunks. */
export function createOllamaReader(options: ReadOptions = {}): CallReader<{ message: OllamaMessage }> {
  const raw = new RawCalls(options);
  return {
    push({ message }) {
      for (const { id, function: part } of message.tool_calls ?? []) {
        const call = raw.at(raw.size);
        if (id) call.id = id;
        call.name = part.name;
        if (typeof part.arguments === "string") call.text = part.arguments;
        else call.data = part.arguments;
      }
    },
    calls: () => raw.calls(),
  };
}

export interface OllamaToolMessage {
  role: "tool";
  tool_name: string;
  tool_call_id?: string;
  content: string;
  images?: string[];
}

/** Calls are matched by order and name. `images` is for models that see; others refuse a message with one. */
export function toOllamaMessages(
  calls: readonly ModelCall[],
  results: readonly ToolResult[],
  options: { images?: boolean } = {},
): OllamaToolMessage[] {
  return answerCalls(calls, results).map((answer) => {
    const images: string[] = [];
    const texts = mapContent<string>(answer.content, {
      text: (joined) => joined,
      image: (data) => (options.images ? `(image ${images.push(data)} of ${answer.name} is attached)` : undefined),
    });
    const content = images.length > 0 ? texts.join("\n") : answerText(answer, { flagErrors: true });
    return {
      role: "tool",
      tool_name: answer.name,
      tool_call_id: answer.call.shown?.id === undefined ? answer.id : undefined,
      content,
      images: images.length > 0 ? images : undefined,
    };
  });
}
