import type { ToolResult } from "../../core/result.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { matchResults, callResultText, mapContent } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, StreamedCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";

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
function toTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<OllamaTool> {
  return defineTools(
    tools,
    { ...options, strict: false },
    { rules: COMMON_RULES },
    ({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: { properties: {}, ...schema, type: "object" } },
    }),
  );
}

/** The fields of a message that concern calls. Newer servers send ids. */
export interface OllamaMessage {
  tool_calls?: readonly { id?: string; function: { name: string; arguments: unknown } }[];
}

/** The calls in an answer. */
function readCalls(message: OllamaMessage, options: ReadOptions = {}): ModelCall[] {
  const raw = (message.tool_calls ?? []).map((call) => ({
    id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
  }));
  return toModelCalls(raw, options);
}

/** A streamed call is complete within one chunk. */
function createReader(options: ReadOptions = {}): CallReader<{ message: OllamaMessage }> {
  const raw = new StreamedCalls(options);
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

/** Ollama matches results by order and name. Set `images` only for vision models; others reject images. */
function toMessages(
  calls: readonly ModelCall[],
  results: readonly ToolResult[],
  options: { images?: boolean } = {},
): OllamaToolMessage[] {
  return matchResults(calls, results).map((result) => {
    const images: string[] = [];
    const texts = mapContent<string>(result.content, {
      text: (joined) => joined,
      image: (data) => (options.images ? `(image ${images.push(data)} of ${result.name} is attached)` : undefined),
    });
    const content = images.length > 0 ? texts.join("\n") : callResultText(result, { flagErrors: true });
    return {
      role: "tool",
      tool_name: result.name,
      tool_call_id: result.call.shown?.id === undefined ? result.id : undefined,
      content,
      images: images.length > 0 ? images : undefined,
    };
  });
}

/** The chat API of Ollama. */
export const ollamaFormat = { toTools, readCalls, createReader, toMessages };
