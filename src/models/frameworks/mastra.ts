import type { ToolResult } from "../../core/result.ts";
import { mapContent } from "../providers/call-results.ts";
import {
  type AdapterOptions,
  bridgeToolkit,
  hasImages,
  openSchema,
  type OpenSchema,
  resultText,
  type FrameworkTools,
} from "./toolkit-bridge.ts";

type ModelPart = { type: "text"; text: string } | { type: "media"; data: string; mediaType: string };

/** The fields of Mastra's `createTool`. */
interface MastraFields {
  id: string;
  description: string;
  inputSchema: OpenSchema;
  execute(
    input: unknown,
    context?: { abortSignal?: AbortSignal; agent?: { toolCallId?: string } },
  ): Promise<ToolResult>;
  toModelOutput(output: unknown): unknown;
}

/** For the `tools` of a Mastra agent. Pass `createTool` from "@mastra/core/tools". The output of a tool is its complete ToolResult. */
export function toMastraTools<T>(
  toolkit: FrameworkTools,
  options: AdapterOptions & { createTool: (fields: MastraFields) => T },
): Record<string, T> {
  return Object.fromEntries(
    bridgeToolkit(toolkit, options, PROFILE).map(({ name, description, schema, run }) => [
      name,
      options.createTool({
        id: name,
        description,
        inputSchema: openSchema(schema),
        execute: (input, context) => run(input, { id: context?.agent?.toolCallId, signal: context?.abortSignal }),
        toModelOutput: (output) => show(output as ToolResult),
      }),
    ]),
  );
}

const PROFILE = { via: "Mastra", adapter: "toMastraTools", keys: ["createTool"] };

function show(result: ToolResult): unknown {
  if (!hasImages(result))
    return { type: result.status === "failed" ? "error-text" : "text", value: resultText(result) };
  const value = mapContent<ModelPart>(result.content, {
    text: (text) => ({ type: "text", text }),
    image: (data, mediaType) => ({ type: "media", data, mediaType }),
  });
  return { type: "content", value };
}
