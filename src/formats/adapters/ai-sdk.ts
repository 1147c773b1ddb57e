import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { mapContent } from "../providers/answer-calls.ts";
import { COMMON_RULES } from "../../schema/schema-rules.ts";
import { COMMON_STRICT_RULES } from "../schema-rules.ts";
import {
  type AdapterOptions,
  bridgeToolkit,
  openSchema,
  type OpenSchema,
  resultText,
  type ToolkitLike,
} from "./toolkit-bridge.ts";

// The AI SDK (`ai` 6 and 7). Nothing of it is loaded: its tools are plain objects.

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

const RULES = { rules: COMMON_RULES, strictRules: COMMON_STRICT_RULES };

/** For `tools` of generateText, streamText and agents. A tool's output there is the whole result of its call. */
export function toAISDKTools(toolkit: ToolkitLike, options: AdapterOptions = {}): Record<string, AISDKTool> {
  return Object.fromEntries(
    bridgeToolkit(toolkit, options, RULES).map(({ name, description, schema, strict, tool, run }) => [
      name,
      {
        description,
        title: tool.title,
        inputSchema: sdkSchema(schema),
        ...(strict ? { strict } : {}),
        execute: (input, { toolCallId, abortSignal }) => run(input, { id: toolCallId, signal: abortSignal }),
        toModelOutput: ({ output }) => toModelOutput(output),
      } satisfies AISDKTool,
    ]),
  );
}

/** Marked as the SDK's own schema, because it closes the objects of others, those that take any property too. */
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
