import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { ANTHROPIC_RULES, ANTHROPIC_STRICT_RULES } from "./provider-schema-rules.ts";
import { matchResults, mapContent } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, StreamedCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";

export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: JsonSchema & { type: "object" };
  strict?: true;
  cache_control?: { type: "ephemeral"; ttl?: "5m" | "1h" } | null;
  [option: string]: unknown;
}

/** Tools as the Messages API takes them. */
function toTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<AnthropicTool> {
  return defineTools(
    tools,
    options,
    { rules: ANTHROPIC_RULES, strictRules: ANTHROPIC_STRICT_RULES },
    ({ name, description, schema, strict, providerOptions }) => ({
      ...snakeCase(providerOptions?.["anthropic"]),
      name,
      description,
      input_schema: { ...schema, type: "object" },
      strict: strict || undefined,
    }),
  );
}

/** The options have the names of the AI SDK, `cacheControl`; the API takes `cache_control`. */
function snakeCase(options: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const toSnake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [toSnake(name), value]));
}

interface AnthropicBlock {
  type: string;
}

interface ToolUseBlock {
  type: "tool_use";
  id?: string;
  name?: string;
  input?: unknown;
}

function isToolUse(block: AnthropicBlock | undefined): block is ToolUseBlock {
  return block?.type === "tool_use";
}

/** The calls in a message. */
function readCalls(message: { content: readonly AnthropicBlock[] }, options: ReadOptions = {}): ModelCall[] {
  const raw = message.content.filter(isToolUse).map(({ id, name, input }) => ({ id, name, arguments: input }));
  return toModelCalls(raw, options);
}

/** The fields of an event that concern calls. */
export interface AnthropicEvent {
  type: string;
  index?: number;
  content_block?: AnthropicBlock;
  delta?: { type?: string; partial_json?: string } | object;
}

/** Reads the calls of a streamed message. */
function createReader(options: ReadOptions = {}): CallReader<AnthropicEvent> {
  const raw = new StreamedCalls(options);
  const open = new Set<number>();
  return {
    push({ type, index = 0, content_block: block, delta }) {
      if (type === "content_block_start" && isToolUse(block)) {
        open.add(index);
        const call = raw.at(index);
        if (block.id) call.id = block.id;
        if (block.name) call.name = block.name;
        // Usually an empty object, and the deltas follow. Some servers send the complete input here.
        call.data = block.input;
      } else if (type === "content_block_delta" && open.has(index) && delta && "partial_json" in delta) {
        raw.at(index).text += delta.partial_json ?? "";
      }
    },
    calls: () => raw.calls(),
  };
}

type ImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";
const IMAGE_TYPES: ReadonlySet<string> = new Set<ImageType>(["image/jpeg", "image/png", "image/gif", "image/webp"]);

type ResultPart =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; media_type: ImageType; data: string } };

export interface AnthropicToolResult {
  type: "tool_result";
  tool_use_id: string;
  content: ResultPart[];
  is_error?: true;
}

export interface AnthropicResultMessage {
  role: "user";
  content: AnthropicToolResult[];
}

/** One message, which must directly follow the reply; none if there were no calls. */
function toMessages(calls: readonly ModelCall[], results: readonly ToolResult[]): AnthropicResultMessage[] {
  if (calls.length === 0) return [];
  const content = matchResults(calls, results).map((result): AnthropicToolResult => ({
    type: "tool_result",
    tool_use_id: result.id,
    content: mapContent<ResultPart>(result.content, {
      text: (joined) => ({ type: "text", text: joined }),
      // A failed result may contain only text.
      image: (data, mimeType) => (isImageType(mimeType) && !result.isError ? imagePart(data, mimeType) : undefined),
    }),
    is_error: result.isError ? true : undefined,
  }));
  return [{ role: "user", content }];
}

function imagePart(data: string, mediaType: ImageType): ResultPart {
  return { type: "image", source: { type: "base64", media_type: mediaType, data } };
}

function isImageType(mimeType: string): mimeType is ImageType {
  return IMAGE_TYPES.has(mimeType);
}

/** The Messages API of Anthropic. */
export const anthropicFormat = { toTools, readCalls, createReader, toMessages };
