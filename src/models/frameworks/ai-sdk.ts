import { adopt, type ForeignTool } from "../../core/adopt/adopt.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool, ToolKind } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { mapContent } from "../providers/call-results.ts";
import { COMMON_STRICT_RULES } from "../providers/provider-schema-rules.ts";
import {
  type AdapterOptions,
  bridgeToolkit,
  openSchema,
  type OpenSchema,
  resultText,
  type FrameworkTools,
} from "./toolkit-bridge.ts";

// The AI SDK (`ai` 6 and 7). Its tools are plain objects, so the package is not loaded.

type ModelPart = { type: "text"; text: string } | { type: "image-data"; data: string; mediaType: string };

export type AISDKOutput =
  | { type: "text"; value: string }
  | { type: "error-text"; value: string }
  | { type: "content"; value: ModelPart[] };

export interface AISDKTool {
  description: string;
  title: string;
  inputSchema: OpenSchema;
  strict?: boolean;
  execute(input: unknown, options: { toolCallId: string; abortSignal?: AbortSignal | undefined }): Promise<ToolResult>;
  toModelOutput(options: { output: ToolResult }): AISDKOutput;
}

const PROFILE = {
  via: "AI SDK",
  adapter: "toAISDKTools",
  rules: { rules: COMMON_RULES, strictRules: COMMON_STRICT_RULES },
};

/** For the `tools` of generateText, streamText and agents. The output of a tool is its complete ToolResult. */
export function toAISDKTools(toolkit: FrameworkTools, options: AdapterOptions = {}): Record<string, AISDKTool> {
  return Object.fromEntries(
    bridgeToolkit(toolkit, options, PROFILE).map(({ name, description, schema, strict, tool, run }) => [
      name,
      {
        description,
        title: tool.title,
        inputSchema: sdkSchema(schema),
        strict: strict || undefined,
        execute: (input, { toolCallId, abortSignal }) => run(input, { id: toolCallId, signal: abortSignal }),
        toModelOutput: ({ output }) => toModelOutput(output),
      } satisfies AISDKTool,
    ]),
  );
}

/** Marked as a schema of the SDK, because the SDK adds `additionalProperties: false` to the schemas of other libraries. */
function sdkSchema(schema: JsonSchema): OpenSchema {
  const mark = { [Symbol.for("vercel.ai.schema")]: true, _type: undefined, validate: undefined };
  return Object.defineProperty(Object.assign(openSchema(schema), mark), "jsonSchema", {
    enumerable: true,
    get: () => structuredClone(schema),
  });
}

function toModelOutput(result: ToolResult): AISDKOutput {
  if (result.status === "failed") return { type: "error-text", value: resultText(result) };
  const parts = mapContent<ModelPart>(result.content, {
    text: (text) => ({ type: "text", text }),
    image: (data, mediaType) => ({ type: "image-data", data, mediaType }),
  });
  const isText = parts.every(({ type }) => type === "text");
  return isText ? { type: "text", value: resultText(result) } : { type: "content", value: parts };
}

/**
 * Converts tools of the AI SDK to tools of Haft, with their `needsApproval`. They do not declare what they change, so their kind is
 * `execute` unless `kinds` sets another. Each tool is named by its key.
 */
export function fromAISDKTools(
  tools: Readonly<Record<string, { inputSchema?: unknown }>>,
  options: { kinds?: Readonly<Record<string, ToolKind>> } = {},
): AnyTool[] {
  const kinds = new Map(Object.entries(options.kinds ?? {}));
  return Object.entries(tools).map(([name, tool]) => {
    return adopt(tool as ForeignTool, { as: "ai-sdk", name, kind: kinds.get(name) });
  });
}
