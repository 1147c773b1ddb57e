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
import { anthropicFormat as anthropic } from "./anthropic.ts";
import { bedrockFormat as bedrock } from "./bedrock.ts";
import { geminiFormat as gemini } from "./gemini.ts";
import type { GeminiSchema } from "./gemini.ts";
import type { ModelCall } from "./model-calls.ts";
import { mistralFormat as mistral } from "./mistral.ts";
import { ollamaFormat as ollama } from "./ollama.ts";
import { openaiFormat as chat } from "./openai-chat.ts";
import { openaiResponsesFormat as responses } from "./openai-responses.ts";

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
  Fits<Out<typeof chat.toTools>, OpenAI.ChatCompletionTool[]>,
  Fits<Back<typeof chat.toMessages>, OpenAI.ChatCompletionMessageParam[]>,
  Fits<Out<typeof responses.toTools>, OpenAI.Responses.Tool[]>,
  Fits<Back<typeof responses.toMessages>, OpenAI.Responses.ResponseInputItem[]>,
  Fits<Out<typeof anthropic.toTools>, Anthropic.ToolUnion[]>,
  Fits<Back<typeof anthropic.toMessages>, Anthropic.MessageParam[]>,
  Fits<Omit<Out<typeof gemini.toTools>[number], "parameters">, FunctionDeclaration>,
  Fits<GeminiSchema, Words<Schema>>,
  Fits<Back<typeof gemini.toMessages>, Content[]>,
  Fits<Out<typeof bedrock.toTools>, BedrockSdkTool[]>,
  Fits<Back<typeof bedrock.toMessages>, Message[]>,
  Fits<Out<typeof mistral.toTools>, MistralSdkTool[]>,
  Fits<Back<typeof mistral.toMessages>, ToolMessage[]>,
  Fits<Out<typeof ollama.toTools>, OllamaSdkTool[]>,
  Fits<Back<typeof ollama.toMessages>, OllamaSdkMessage[]>,
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
  chat.createReader().push(given.chatChunk);
  responses.createReader().push(given.responseEvent);
  anthropic.createReader().push(given.messageEvent);
  gemini.createReader().push(given.gemini);
  bedrock.createReader().push(given.bedrockEvent);
  mistral.createReader().push(given.mistralEvent);
  ollama.createReader().push(given.ollama);
  return [
    chat.readCalls(given.chatMessage),
    responses.readCalls(given.response),
    anthropic.readCalls(given.message),
    gemini.readCalls(given.gemini),
    gemini.readCalls({ candidates: [{ content: { parts: [given.geminiPart] } }] }),
    bedrock.readCalls(given.bedrockMessage),
    bedrock.readCalls({ content: [given.bedrockBlock] }),
    mistral.readCalls(given.mistralMessage),
    ollama.readCalls(given.ollama.message),
  ];
}
