// Every provider for the tests: how it sends a call, whole and streamed, and what its result messages look like.
import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import * as anthropic from "./anthropic.ts";
import * as bedrock from "./bedrock.ts";
import type { DefineOptions, ProviderTools, ToolSource } from "./define-tools.ts";
import * as gemini from "./gemini.ts";
import * as mistral from "./mistral.ts";
import type { ModelCall, ReadOptions } from "./model-calls.ts";
import * as ollama from "./ollama.ts";
import * as chat from "./openai-chat.ts";
import * as responses from "./openai-responses.ts";

/** A call as a model makes it, with the names that it was given. */
export interface ExampleCall {
  id: string;
  name: string;
  input: Record<string, unknown>;
}

export interface ExampleAnswer {
  id?: string;
  name?: string;
  text: string;
  isError?: boolean;
  images: number;
}

export interface Provider {
  name: string;
  define(tools: Iterable<ToolSource>, options?: DefineOptions): ProviderTools<unknown>;
  /** Name and schema of one definition. */
  shown(definition: never): { name: string; schema: JsonSchema | undefined };
  read(calls: readonly ExampleCall[], options?: ReadOptions): ModelCall[];
  /** `split` splits a text into chunks. */
  stream(calls: readonly ExampleCall[], split: (text: string) => string[], options?: ReadOptions): ModelCall[];
  answers(calls: readonly ModelCall[], results: readonly ToolResult[]): ExampleAnswer[];
  hasIds: boolean;
  flagsErrors: boolean;
  takesImages: boolean;
  isStrict: boolean;
}

function pushAll<Event>(
  reader: { push(event: Event): void; calls(): ModelCall[] },
  events: readonly Event[],
): ModelCall[] {
  for (const event of events) reader.push(event);
  return reader.calls();
}

const json = JSON.stringify;

export const PROVIDERS: readonly Provider[] = [
  {
    name: "OpenAI chat",
    define: chat.toOpenAITools,
    shown: ({ function: { name, parameters } }: chat.OpenAITool) => ({ name, schema: parameters }),
    read: (calls, options) =>
      chat.readOpenAICalls(
        {
          tool_calls: calls.map(({ id, name, input }) => ({
            id,
            type: "function",
            function: { name, arguments: json(input) },
          })),
        },
        options,
      ),
    stream: (calls, split, options) =>
      pushAll(
        chat.createOpenAIReader(options),
        calls.flatMap(({ id, name, input }, index) => [
          { choices: [{ delta: { tool_calls: [{ index, id, function: { name, arguments: "" } }] } }] },
          ...split(json(input)).map((piece) => ({
            choices: [{ delta: { tool_calls: [{ index, function: { arguments: piece } }] } }],
          })),
          { choices: [] },
        ]),
      ),
    answers: (calls, results) =>
      chat.toOpenAIMessages(calls, results).map(({ tool_call_id: id, content }) => ({ id, text: content, images: 0 })),
    hasIds: true,
    flagsErrors: false,
    takesImages: false,
    isStrict: true,
  },
  {
    name: "OpenAI responses",
    define: responses.toOpenAIResponsesTools,
    shown: ({ name, parameters }: responses.OpenAIResponsesTool) => ({ name, schema: parameters }),
    read: (calls, options) =>
      responses.readOpenAIResponsesCalls(
        {
          output: [
            { type: "reasoning" },
            ...calls.map(({ id, name, input }) => ({
              type: "function_call",
              call_id: id,
              name,
              arguments: json(input),
            })),
          ],
        },
        options,
      ),
    stream: (calls, split, options) =>
      pushAll(
        responses.createOpenAIResponsesReader(options),
        calls.flatMap(({ id, name, input }, at) => {
          const item = { type: "function_call", id: `fc_${at}`, call_id: id, name, arguments: "" };
          return [
            { type: "response.output_item.added", output_index: at + 1, item },
            ...split(json(input)).map((delta) => ({
              type: "response.function_call_arguments.delta",
              output_index: at + 1,
              delta,
            })),
          ];
        }),
      ),
    answers: (calls, results) =>
      responses.toOpenAIResponsesItems(calls, results).map(({ call_id: id, output }) => ({
        id,
        text: typeof output === "string" ? output : output.map((part) => ("text" in part ? part.text : "")).join(""),
        images: typeof output === "string" ? 0 : output.filter(({ type }) => type === "input_image").length,
      })),
    hasIds: true,
    flagsErrors: false,
    takesImages: true,
    isStrict: true,
  },
  {
    name: "Anthropic",
    define: anthropic.toAnthropicTools,
    shown: ({ name, input_schema: schema }: anthropic.AnthropicTool) => ({ name, schema }),
    read: (calls, options) =>
      anthropic.readAnthropicCalls(
        { content: [{ type: "text" }, ...calls.map((call) => ({ type: "tool_use", ...call }))] },
        options,
      ),
    stream: (calls, split, options) =>
      pushAll(
        anthropic.createAnthropicReader(options),
        calls.flatMap(({ id, name, input }, at) => [
          { type: "content_block_start", index: at + 1, content_block: { type: "tool_use", id, name, input: {} } },
          ...split(json(input)).map((piece) => ({
            type: "content_block_delta",
            index: at + 1,
            delta: { type: "input_json_delta", partial_json: piece },
          })),
          { type: "content_block_stop", index: at + 1 },
        ]),
      ),
    answers: (calls, results) =>
      anthropic.toAnthropicMessages(calls, results).flatMap(({ content }) =>
        content.map((block) => ({
          id: block.tool_use_id,
          text: block.content.map((part) => ("text" in part ? part.text : "")).join(""),
          isError: block.is_error ?? false,
          images: block.content.filter(({ type }) => type === "image").length,
        })),
      ),
    hasIds: true,
    flagsErrors: true,
    takesImages: true,
    isStrict: true,
  },
  {
    name: "Gemini",
    define: gemini.toGeminiTools,
    shown: ({ name }: gemini.GeminiFunction) => ({ name, schema: undefined }),
    read: (calls, options) =>
      gemini.readGeminiCalls(
        {
          candidates: [
            { content: { parts: calls.map(({ name, input }) => ({ functionCall: { name, args: input } })) } },
          ],
        },
        options,
      ),
    stream: (calls, _split, options) =>
      pushAll(
        gemini.createGeminiReader(options),
        calls.map(({ name, input }) => ({
          candidates: [{ content: { parts: [{ functionCall: { name, args: input } }] } }],
        })),
      ),
    answers(calls, results) {
      const parts = gemini.toGeminiContents(calls, results).flatMap((content) => content.parts);
      const images = parts.filter((part) => "inlineData" in part).length;
      return parts.flatMap((part) => {
        if (!("functionResponse" in part)) return [];
        const { name, response } = part.functionResponse;
        const isError = "error" in response;
        return { name, text: isError ? response.error : response.output, isError, images };
      });
    },
    hasIds: false,
    flagsErrors: true,
    takesImages: true,
    isStrict: false,
  },
  {
    name: "Bedrock",
    define: bedrock.toBedrockTools,
    shown: ({ toolSpec }: bedrock.BedrockTool) => ({
      name: toolSpec.name,
      schema: toolSpec.inputSchema.json as JsonSchema,
    }),
    read: (calls, options) =>
      bedrock.readBedrockCalls(
        { content: calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } })) },
        options,
      ),
    stream: (calls, split, options) =>
      pushAll<bedrock.BedrockEvent>(
        bedrock.createBedrockReader(options),
        calls.flatMap(({ id, name, input }, at) => [
          { contentBlockStart: { contentBlockIndex: at, start: { toolUse: { toolUseId: id, name } } } },
          ...split(json(input)).map((piece) => ({
            contentBlockDelta: { contentBlockIndex: at, delta: { toolUse: { input: piece } } },
          })),
        ]),
      ),
    answers: (calls, results) =>
      bedrock.toBedrockMessages(calls, results).flatMap(({ content }) =>
        content.map(({ toolResult }) => ({
          id: toolResult.toolUseId,
          text: toolResult.content.map((part) => ("text" in part ? part.text : "")).join(""),
          isError: toolResult.status === "error",
          images: toolResult.content.filter((part) => "image" in part).length,
        })),
      ),
    hasIds: true,
    flagsErrors: true,
    takesImages: true,
    isStrict: true,
  },
  {
    name: "Mistral",
    define: mistral.toMistralTools,
    shown: ({ function: { name, parameters } }: mistral.MistralTool) => ({ name, schema: parameters }),
    read: (calls, options) =>
      mistral.readMistralCalls(
        { toolCalls: calls.map(({ id, name, input }) => ({ id, function: { name, arguments: json(input) } })) },
        options,
      ),
    stream: (calls, split, options) =>
      pushAll(
        mistral.createMistralReader(options),
        calls.flatMap(({ id, name, input }, index) => [
          { data: { choices: [{ delta: { toolCalls: [{ id, index, function: { name, arguments: "" } }] } }] } },
          ...split(json(input)).map((piece) => ({
            data: {
              choices: [{ delta: { toolCalls: [{ id: "null", index, function: { name: "", arguments: piece } }] } }],
            },
          })),
        ]),
      ),
    answers: (calls, results) =>
      mistral.toMistralMessages(calls, results).map(({ toolCallId: id, name, content }) => ({
        id,
        name,
        text: content,
        images: 0,
      })),
    hasIds: true,
    flagsErrors: false,
    takesImages: false,
    isStrict: true,
  },
  {
    name: "Ollama",
    define: ollama.toOllamaTools,
    shown: ({ function: { name, parameters } }: ollama.OllamaTool) => ({ name, schema: { ...parameters } }),
    read: (calls, options) =>
      ollama.readOllamaCalls(
        { tool_calls: calls.map(({ name, input }) => ({ function: { name, arguments: input } })) },
        options,
      ),
    stream: (calls, _split, options) =>
      pushAll(
        ollama.createOllamaReader(options),
        calls.map(({ name, input }) => ({ message: { tool_calls: [{ function: { name, arguments: input } }] } })),
      ),
    answers: (calls, results) =>
      ollama.toOllamaMessages(calls, results).map(({ tool_name: name, content, images = [] }) => ({
        name,
        text: content,
        images: images.length,
      })),
    hasIds: false,
    flagsErrors: false,
    takesImages: false,
    isStrict: false,
  },
];
