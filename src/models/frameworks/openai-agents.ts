import type { ToolResult } from "../../core/result.ts";
import { mapContent } from "../providers/call-results.ts";
import { OPENAI_RULES, OPENAI_STRICT_RULES } from "../providers/provider-schema-rules.ts";
import { type AdapterOptions, bridgeToolkit, hasImages, resultText, type FrameworkTools } from "./toolkit-bridge.ts";

// The OpenAI Agents SDK. Its function tools are plain objects, so the package is not loaded.

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

const PROFILE = {
  via: "OpenAI Agents",
  adapter: "toOpenAIAgentsTools",
  rules: { rules: OPENAI_RULES, strictRules: OPENAI_STRICT_RULES },
};

/** For the `tools` of an Agent. The gate handles approvals: the model gets a pending result for a call that waits. */
export function toOpenAIAgentsTools(toolkit: FrameworkTools, options: AdapterOptions = {}): OpenAIAgentsTool[] {
  return bridgeToolkit(toolkit, options, PROFILE).map(({ name, description, schema, strict, run }) => ({
    type: "function",
    name,
    description,
    // The SDK's type allows only open and strict schemas, but its models accept any.
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
