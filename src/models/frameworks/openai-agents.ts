import type { ToolResult } from "../../core/result.ts";
import { mapContent } from "../providers/call-results.ts";
import { OPENAI_RULES, OPENAI_STRICT_RULES } from "../providers/provider-schema-rules.ts";
import { type AdapterOptions, bridgeToolkit, hasImages, resultText, type ToolkitLike } from "./toolkit-bridge.ts";

// The OpenAI Agents SDK. Nothing of it is loaded: its function tools are plain objects.

interface ObjectSchema {
  type: "object";
  properties: Record<string, never>;
  required: string[];
  additionalProperties: true;
}

type OutputPart = { type: "text"; text: string } | { type: "image"; image: { data: string; mediaType: string } };

export interface OpenAIAgentsTool {
  type: "function";
  name: string;
  description: string;
  parameters: ObjectSchema;
  strict: boolean;
  invoke(
    context: unknown,
    input: string,
    details?: { toolCall?: { callId: string }; signal?: AbortSignal },
  ): Promise<string | OutputPart[]>;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

/** For `tools` of an Agent. Approval is the gate's: a call that waits for a person is told to the model as that. */
export function toOpenAIAgentsTools(toolkit: ToolkitLike, options: AdapterOptions = {}): OpenAIAgentsTool[] {
  const rules = { rules: OPENAI_RULES, strictRules: OPENAI_STRICT_RULES };
  return bridgeToolkit(toolkit, options, rules).map(({ name, description, schema, strict, run }) => ({
    type: "function",
    name,
    description,
    // The SDK's type knows open schemas alone beside strict ones; its models take any.
    parameters: { required: [], ...schema } as object as ObjectSchema,
    strict,
    invoke: async (_context, input, { toolCall, signal } = {}) =>
      show(await run(input, { id: toolCall?.callId, signal })),
    needsApproval: async () => false,
    isEnabled: async () => true,
  }));
}

function show(result: ToolResult): string | OutputPart[] {
  if (!hasImages(result)) return resultText(result);
  return mapContent<OutputPart>(result.content, {
    text: (text) => ({ type: "text", text }),
    image: (data, mediaType) => ({ type: "image", image: { data, mediaType } }),
  });
}
