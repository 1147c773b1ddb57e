/**
 * How models take tools and ask for calls: providers' formats, text formats, and other frameworks. Pure functions, no network.
 *
 * @example
 * ```ts no-run: needs the key of a provider
 * import Anthropic from "@anthropic-ai/sdk";
 * import { createHaft } from "haft";
 * import { anthropicFormat } from "haft/formats";
 * import { openWorkspace } from "haft/workspace";
 *
 * const haft = createHaft({ workspace: openWorkspace(".") });
 * const { tools, names } = anthropicFormat.toTools(haft.tools.list());
 * const message = await new Anthropic().messages.create({
 *   model: "claude-sonnet-4-5",
 *   max_tokens: 1000,
 *   messages: [{ role: "user", content: "Which of these files is the largest?" }],
 *   tools,
 * });
 * for (const { id, name, input } of anthropicFormat.readCalls(message, { names })) await haft.execute(name, input, { id });
 * ```
 *
 * @module
 */

export { anthropicFormat } from "./models/providers/anthropic.ts";
export { bedrockFormat } from "./models/providers/bedrock.ts";
export { geminiFormat } from "./models/providers/gemini.ts";
export { mistralFormat } from "./models/providers/mistral.ts";
export { ollamaFormat } from "./models/providers/ollama.ts";
export { openaiFormat } from "./models/providers/openai-chat.ts";
export { openaiResponsesFormat } from "./models/providers/openai-responses.ts";
export type { CallReader, ModelCall } from "./models/providers/model-calls.ts";
export type { ProviderTools } from "./models/providers/define-tools.ts";

export {
  fromAISDKTools,
  resolveAISDKApprovals,
  toAISDKToolApproval,
  toAISDKTools,
} from "./models/frameworks/ai-sdk.ts";
export { toClaudeAgentTools } from "./models/frameworks/claude-agent-sdk.ts";
export { toLangChainTools } from "./models/frameworks/langchain.ts";
export { toMastraTools } from "./models/frameworks/mastra.ts";
export { resolveOpenAIAgentsApprovals, toOpenAIAgentsTools } from "./models/frameworks/openai-agents.ts";
export { resolveTanStackApprovals, toTanStackTools } from "./models/frameworks/tanstack.ts";
export { createClientTools } from "./models/frameworks/tool-definitions.ts";
export type { ClientToolDefinition } from "./models/frameworks/tool-definitions.ts";

export { createToolCallParser, parseToolCalls } from "./models/text/tool-call-parser.ts";
export type { ParsedText, ParsedToolCall, ToolCallEvent, ToolCallParser } from "./models/text/tool-call-parser.ts";
export { formatToolResult } from "./models/text/format-tool-result.ts";
export { TEXT_FORMATS } from "./core/text-formats.ts";
export type { TextFormatName } from "./core/text-formats.ts";
export { writeToolInstructions } from "./models/text/tool-instructions.ts";
