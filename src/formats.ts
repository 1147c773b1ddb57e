// How models speak: `import { toAnthropicTools, parseToolCalls } from "haft/formats"`. Pure functions, no network.

export {
  createAnthropicReader,
  readAnthropicCalls,
  toAnthropicMessages,
  toAnthropicTools,
} from "./models/providers/anthropic.ts";
export {
  createBedrockReader,
  readBedrockCalls,
  toBedrockMessages,
  toBedrockTools,
} from "./models/providers/bedrock.ts";
export { createGeminiReader, readGeminiCalls, toGeminiContents, toGeminiTools } from "./models/providers/gemini.ts";
export {
  createMistralReader,
  readMistralCalls,
  toMistralMessages,
  toMistralTools,
} from "./models/providers/mistral.ts";
export { createOllamaReader, readOllamaCalls, toOllamaMessages, toOllamaTools } from "./models/providers/ollama.ts";
export {
  createOpenAIReader,
  readOpenAICalls,
  toOpenAIMessages,
  toOpenAITools,
} from "./models/providers/openai-chat.ts";
export {
  createOpenAIResponsesReader,
  readOpenAIResponsesCalls,
  toOpenAIResponsesItems,
  toOpenAIResponsesTools,
} from "./models/providers/openai-responses.ts";
export type { CallReader, ModelCall, ReadOptions } from "./models/providers/model-calls.ts";
export type { DefineOptions, ProviderTools, ShownNames, ToolSource } from "./models/providers/define-tools.ts";
export type { Simplification } from "./schema/portable-schema.ts";
export { toAISDKTools } from "./models/frameworks/ai-sdk.ts";
export { fromAISDKTools } from "./models/frameworks/ai-sdk.ts";
export { toLangChainTools } from "./models/frameworks/langchain.ts";
export { toMastraTools } from "./models/frameworks/mastra.ts";
export { toOpenAIAgentsTools } from "./models/frameworks/openai-agents.ts";
export type { AdapterOptions, ToolkitLike } from "./models/frameworks/toolkit-bridge.ts";
export { createClientTools, toClientToolDefinitions, toToolDefinitions } from "./models/frameworks/tool-definitions.ts";
export type { ClientToolDefinition, ToolDefinition } from "./models/frameworks/tool-definitions.ts";

export { createToolCallParser, parseToolCalls } from "./models/text/tool-call-parser.ts";
export type { ToolCallParser, ToolCallParserOptions } from "./models/text/tool-call-parser.ts";
export type { ParsedText, ParsedToolCall, ToolCallEvent } from "./models/text/tool-call-parser.ts";
export { generateToolInstruction, ToolPromptGenerator } from "./models/text/tool-instructions.ts";
export type { ToolInstructionOptions } from "./models/text/tool-instructions.ts";
export { formatToolResult } from "./models/text/format-tool-result.ts";
export type { ToolResultOptions } from "./models/text/format-tool-result.ts";
export { XMLToolCallParser } from "./models/text/tool-call-parser.ts";
export type { XMLToolCall } from "./models/text/tool-call-parser.ts";
export { TEXT_FORMATS } from "./models/text/text-format.ts";
export type { TextFormatName } from "./models/text/text-format.ts";
