import { unknown } from "zod/v4";
import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { mapContent } from "../providers/call-results.ts";
import { type AdapterOptions, bridgeToolkit, hasImages, resultText, type FrameworkTools } from "./toolkit-bridge.ts";

type ContentPart = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

/** The constructor fields of a LangChain tool. */
interface LangChainFields {
  name: string;
  description: string;
  schema: never;
  responseFormat: "content_and_artifact";
  func(input: unknown, runManager?: unknown, config?: unknown): Promise<[string | ContentPart[], ToolResult]>;
}

/**
 * For agents and `bindTools` of LangChain. Pass the class from "@langchain/core/tools", so the tools belong to the
 * LangChain installation of the program. The artifact of a tool message is the complete ToolResult.
 */
export function toLangChainTools<T>(
  toolkit: FrameworkTools,
  options: AdapterOptions & { DynamicStructuredTool: new (fields: LangChainFields) => T },
): T[] {
  return bridgeToolkit(toolkit, options, PROFILE).map(
    ({ name, description, schema, run }) =>
      new options.DynamicStructuredTool({
        name,
        description,
        schema: openZod(schema) as never,
        responseFormat: "content_and_artifact",
        async func(input, _runManager, config) {
          const { signal, toolCall } = (config ?? {}) as { signal?: AbortSignal; toolCall?: { id?: string } };
          const result = await run(input, { id: toolCall?.id, signal });
          return [show(result), result];
        },
      }),
  );
}

const PROFILE = { via: "LangGraph", adapter: "toLangChainTools", keys: ["DynamicStructuredTool"] };

interface OpenZod {
  _zod: { toJSONSchema?: () => unknown };
}

/** A schema that accepts anything: otherwise LangChain validates inputs itself, before the gate can repair or report them. */
function openZod(schema: JsonSchema): OpenZod {
  const open = unknown();
  open._zod.toJSONSchema = () => structuredClone(schema);
  return open;
}

function show(result: ToolResult): string | ContentPart[] {
  if (!hasImages(result)) return resultText(result);
  return mapContent<ContentPart>(result.content, {
    text: (text) => ({ type: "text", text }),
    image: (data, mimeType) => ({ type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } }),
  });
}
