import type { ToolResult } from "../../core/result.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { ANTHROPIC_STRICT_RULES } from "./provider-schema-rules.ts";
import { matchResults, mapContent } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, StreamedCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";

// Amazon Bedrock's Converse API, in the types of its SDK.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface BedrockTool {
  toolSpec: { name: string; description: string; inputSchema: { json: Json }; strict?: true };
}

/** For `toolConfig`, as `{ tools }`. */
function toTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<BedrockTool> {
  return defineTools(
    tools,
    options,
    { rules: COMMON_RULES, strictRules: ANTHROPIC_STRICT_RULES },
    ({ name, description, schema, strict }) => ({
      toolSpec: { name, description, inputSchema: { json: schema as Json }, strict: strict || undefined },
    }),
  );
}

/** The fields of a message that concern calls. */
export interface BedrockMessage {
  content?: readonly { toolUse?: { toolUseId?: string; name?: string; input?: unknown } }[] | undefined;
}

/** The calls in a Converse answer. */
function readCalls(message: BedrockMessage, options: ReadOptions = {}): ModelCall[] {
  const raw = (message.content ?? []).flatMap(({ toolUse }) =>
    toolUse ? { id: toolUse.toolUseId, name: toolUse.name, arguments: toolUse.input } : [],
  );
  return toModelCalls(raw, options);
}

/** The fields of a stream event that concern calls. */
export interface BedrockEvent {
  contentBlockStart?: {
    contentBlockIndex?: number | undefined;
    start?: { toolUse?: { toolUseId?: string; name?: string } } | undefined;
  };
  contentBlockDelta?: {
    contentBlockIndex?: number | undefined;
    delta?: { toolUse?: { input?: string } } | undefined;
  };
}

/** Reads the calls of a streamed Converse answer. */
function createReader(options: ReadOptions = {}): CallReader<BedrockEvent> {
  const raw = new StreamedCalls(options);
  return {
    push({ contentBlockStart: start, contentBlockDelta: delta }) {
      const toolUse = start?.start?.toolUse;
      if (toolUse) {
        const call = raw.at(start.contentBlockIndex ?? 0);
        if (toolUse.toolUseId) call.id = toolUse.toolUseId;
        if (toolUse.name) call.name = toolUse.name;
      }
      const piece = delta?.delta?.toolUse?.input;
      if (piece !== undefined) raw.at(delta?.contentBlockIndex ?? 0).text += piece;
    },
    calls: () => raw.calls(),
  };
}

const IMAGE_FORMATS = new Map<string, "png" | "jpeg" | "gif" | "webp">([
  ["image/png", "png"],
  ["image/jpeg", "jpeg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
]);

type ResultPart =
  | { text: string }
  | { image: { format: "png" | "jpeg" | "gif" | "webp"; source: { bytes: Uint8Array<ArrayBuffer> } } };

export interface BedrockResultMessage {
  role: "user";
  content: { toolResult: { toolUseId: string; content: ResultPart[]; status: "success" | "error" } }[];
}

/** One message, which must directly follow the reply; none if there were no calls. */
function toMessages(calls: readonly ModelCall[], results: readonly ToolResult[]): BedrockResultMessage[] {
  if (calls.length === 0) return [];
  const content = matchResults(calls, results).map((result) => ({
    toolResult: {
      toolUseId: result.id,
      status: result.isError ? ("error" as const) : ("success" as const),
      content: mapContent<ResultPart>(result.content, {
        text: (joined) => ({ text: joined }),
        image(data, mimeType) {
          const format = IMAGE_FORMATS.get(mimeType);
          return format && { image: { format, source: { bytes: bytesOf(data) } } };
        },
      }),
    },
  }));
  return [{ role: "user", content }];
}

/** Without Node's Buffer: formats are used in browsers too. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** The Converse API of Amazon Bedrock. */
export const bedrockFormat = { toTools, readCalls, createReader, toMessages };
