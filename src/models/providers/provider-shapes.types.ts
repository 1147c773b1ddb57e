// Compiled, never run: our types match those of the providers' SDKs.
import type Anthropic from "@anthropic-ai/sdk";
import type {
  ContentBlock,
  ConverseStreamOutput,
  Message,
  Tool as BedrockSdkTool,
} from "@aws-sdk/client-bedrock-runtime";
import type { Content, FunctionDeclaration, GenerateContentResponse, Part, Schema } from "@google/genai";
import type {
  AssistantMessage,
  CompletionEvent,
  Tool as MistralSdkTool,
  ToolMessage,
} from "@mistralai/mistralai/models/components";
import type { ChatResponse, Message as OllamaSdkMessage, Tool as OllamaSdkTool } from "ollama";
import type OpenAI from "openai";
import * as anthropic from "./anthropic.ts";
import * as bedrock from "./bedrock.ts";
import * as gemini from "./gemini.ts";
import type { GeminiSchema } from "./gemini.ts";
import type { ModelCall } from "./model-calls.ts";
import * as mistral from "./mistral.ts";
import * as ollama from "./ollama.ts";
import * as chat from "./openai-chat.ts";
import * as responses from "./openai-responses.ts";

type Out<F extends (...args: never[]) => { tools: unknown[] }> = ReturnType<F>["tools"];
type Back<F extends (...args: never[]) => unknown[]> = ReturnType<F>;

/** Compiles if the SDK accepts an `Ours`. */
type Fits<Ours extends Theirs, Theirs> = Ours;

/** The enums of the SDK have no literal types, so their values are compared. */
type Words<T> = T extends string
  ? `${T}`
  : T extends readonly (infer E)[]
    ? Words<E>[]
    : T extends object
      ? { [K in keyof T]: Words<T[K]> }
      : T;

export type Shapes = [
  Fits<Out<typeof chat.toOpenAITools>, OpenAI.ChatCompletionTool[]>,
  Fits<Back<typeof chat.toOpenAIMessages>, OpenAI.ChatCompletionMessageParam[]>,
  Fits<Out<typeof responses.toOpenAIResponsesTools>, OpenAI.Responses.Tool[]>,
  Fits<Back<typeof responses.toOpenAIResponsesItems>, OpenAI.Responses.ResponseInputItem[]>,
  Fits<Out<typeof anthropic.toAnthropicTools>, Anthropic.ToolUnion[]>,
  Fits<Back<typeof anthropic.toAnthropicMessages>, Anthropic.MessageParam[]>,
  Fits<Omit<Out<typeof gemini.toGeminiTools>[number], "parameters">, FunctionDeclaration>,
  Fits<GeminiSchema, Words<Schema>>,
  Fits<Back<typeof gemini.toGeminiContents>, Content[]>,
  Fits<Out<typeof bedrock.toBedrockTools>, BedrockSdkTool[]>,
  Fits<Back<typeof bedrock.toBedrockMessages>, Message[]>,
  Fits<Out<typeof mistral.toMistralTools>, MistralSdkTool[]>,
  Fits<Back<typeof mistral.toMistralMessages>, ToolMessage[]>,
  Fits<Out<typeof ollama.toOllamaTools>, OllamaSdkTool[]>,
  Fits<Back<typeof ollama.toOllamaMessages>, OllamaSdkMessage[]>,
];

declare const given: {
  chatMessage: OpenAI.ChatCompletionMessage;
  chatChunk: OpenAI.ChatCompletionChunk;
  response: OpenAI.Responses.Response;
  responseEvent: OpenAI.Responses.ResponseStreamEvent;
  message: Anthropic.Message;
  messageEvent: Anthropic.RawMessageStreamEvent;
  gemini: GenerateContentResponse;
  geminiPart: Part;
  bedrockMessage: Message;
  bedrockBlock: ContentBlock;
  bedrockEvent: ConverseStreamOutput;
  mistralMessage: AssistantMessage;
  mistralEvent: CompletionEvent;
  ollama: ChatResponse;
};

export function readAll(): ModelCall[][] {
  chat.createOpenAIReader().push(given.chatChunk);
  responses.createOpenAIResponsesReader().push(given.responseEvent);
  anthropic.createAnthropicReader().push(given.messageEvent);
  gemini.createGeminiReader().push(given.gemini);
  bedrock.createBedrockReader().push(given.bedrockEvent);
  mistral.createMistralReader().push(given.mistralEvent);
  ollama.createOllamaReader().push(given.ollama);
  return [
    chat.readOpenAICalls(given.chatMessage),
    responses.readOpenAIResponsesCalls(given.response),
    anthropic.readAnthropicCalls(given.message),
    gemini.readGeminiCalls(given.gemini),
    gemini.readGeminiCalls({ candidates: [{ content: { parts: [given.geminiPart] } }] }),
    bedrock.readBedrockCalls(given.bedrockMessage),
    bedrock.readBedrockCalls({ content: [given.bedrockBlock] }),
    mistral.readMistralCalls(given.mistralMessage),
    ollama.readOllamaCalls(given.ollama.message),
  ];
}
