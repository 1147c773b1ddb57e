// How models speak: `import { toAnthropicTools, parseToolCalls } from "haft/formats"`. Pure functions, no network.

export {
  createAnthropicReader,
  readAnthropicCalls,
  toAnthropicMessages,
  toAnthropicTools,
} from "./providers/anthropic.ts";
export { createBedrockReader, readBedrockCalls, toBedrockMessages, toBedrockTools } from "./providers/bedrock.ts";
export { createGeminiReader, readGeminiCalls, toGeminiContents, toGeminiTools } from "./providers/gemini.ts";
export { createMistralReader, readMistralCalls, toMistralMessages, toMistralTools } from "./providers/mistral.ts";
export { createOllamaReader, readOllamaCalls, toOllamaMessages, toOllamaTools } from "./providers/ollama.ts";
export { createOpenAIReader, readOpenAICalls, toOpenAIMessages, toOpenAITools } from "./providers/openai-chat.ts";
export {
  createOpenAIResponsesReader,
  readOpenAIResponsesCalls,
  toOpenAIResponsesItems,
  toOpenAIResponsesTools,
} from "./providers/openai-responses.ts";
export type { CallReader, ModelCall, ReadOptions } from "./providers/model-call.ts";
export type { DefineOptions, ProviderTools, ShownNames, ToolSource } from "./providers/define-tools.ts";
export type { Simplification } from "../schema/portable-schema.ts";
export { toAISDKTools } from "./adapters/ai-sdk.ts";
export { fromAISDKTools } from "./adapters/from-ai-sdk.ts";
export { toLangChainTools } from "./adapters/langchain.ts";
export { toMastraTools } from "./adapters/mastra.ts";
export { toOpenAIAgentsTools } from "./adapters/openai-agents.ts";
export type { AdapterOptions, ToolkitLike } from "./adapters/toolkit-bridge.ts";
export { createClientTools, toClientToolDefinitions, toToolDefinitions } from "./adapters/tool-definitions.ts";
export type { ClientToolDefinition, ToolDefinition } from "./adapters/tool-definitions.ts";

export { createToolCallParser, parseToolCalls } from "./text/tool-call-parser.ts";
export type { ToolCallParser, ToolCallParserOptions } from "./text/tool-call-parser.ts";
export type { ParsedText, ParsedToolCall, ToolCallEvent } from "./text/tool-call-event.ts";
export { generateToolInstruction, ToolPromptGenerator } from "./text/prompt-generator.ts";
export type { ToolInstructionOptions } from "./text/prompt-generator.ts";
export { formatToolResult } from "./text/format-tool-result.ts";
export type { ToolResultOptions } from "./text/format-tool-result.ts";
export { XMLToolCallParser } from "./text/xml-tool-call-parser.ts";
export type { XMLToolCall } from "./text/xml-tool-call-parser.ts";
export { TEXT_FORMATS } from "./text/text-format.ts";
export type { TextFormatName } from "./text/text-format.ts";
