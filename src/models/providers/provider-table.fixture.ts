// Every provider for the tests: how it sends a call, whole and streamed, and what its result messages look like.
import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { anthropicFormat as anthropic, type AnthropicTool } from "./anthropic.ts";
import { bedrockFormat as bedrock, type BedrockEvent, type BedrockTool } from "./bedrock.ts";
import type { DefineOptions, ProviderTools, ToolSource } from "./define-tools.ts";
import { geminiFormat as gemini, type GeminiFunction } from "./gemini.ts";
import { mistralFormat as mistral, type MistralTool } from "./mistral.ts";
import type { ModelCall, ReadOptions } from "./model-calls.ts";
import { ollamaFormat as ollama, type OllamaTool } from "./ollama.ts";
import { openaiFormat as chat, type OpenAITool } from "./openai-chat.ts";
import { openaiResponsesFormat as responses, type OpenAIResponsesTool } from "./openai-responses.ts";

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
    define: chat.toTools,
    shown: ({ function: { name, parameters } }: OpenAITool) => ({ name, schema: parameters }),
    read: (calls, options) =>
      chat.readCalls(
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
        chat.createReader(options),
        calls.flatMap(({ id, name, input }, index) => [
          { choices: [{ delta: { tool_calls: [{ index, id, function: { name, arguments: "" } }] } }] },
          ...split(json(input)).map((piece) => ({
            choices: [{ delta: { tool_calls: [{ index, function: { arguments: piece } }] } }],
          })),
          { choices: [] },
        ]),
      ),
    answers: (calls, results) =>
      chat.toMessages(calls, results).map(({ tool_call_id: id, content }) => ({ id, text: content, images: 0 })),
    hasIds: true,
    flagsErrors: false,
    takesImages: false,
    isStrict: true,
  },
  {
    name: "OpenAI responses",
    define: responses.toTools,
    shown: ({ name, parameters }: OpenAIResponsesTool) => ({ name, schema: parameters }),
    read: (calls, options) =>
      responses.readCalls(
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
        responses.createReader(options),
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
      responses.toMessages(calls, results).map(({ call_id: id, output }) => ({
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
    define: anthropic.toTools,
    shown: ({ name, input_schema: schema }: AnthropicTool) => ({ name, schema }),
    read: (calls, options) =>
      anthropic.readCalls(
        { content: [{ type: "text" }, ...calls.map((call) => ({ type: "tool_use", ...call }))] },
        options,
      ),
    stream: (calls, split, options) =>
      pushAll(
        anthropic.createReader(options),
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
      anthropic.toMessages(calls, results).flatMap(({ content }) =>
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
    define: gemini.toTools,
    shown: ({ name }: GeminiFunction) => ({ name, schema: undefined }),
    read: (calls, options) =>
      gemini.readCalls(
        {
          candidates: [
            { content: { parts: calls.map(({ name, input }) => ({ functionCall: { name, args: input } })) } },
          ],
        },
        options,
      ),
    stream: (calls, _split, options) =>
      pushAll(
        gemini.createReader(options),
        calls.map(({ name, input }) => ({
          candidates: [{ content: { parts: [{ functionCall: { name, args: input } }] } }],
        })),
      ),
    answers(calls, results) {
      const parts = gemini.toMessages(calls, results).flatMap((content) => content.parts);
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
    define: bedrock.toTools,
    shown: ({ toolSpec }: BedrockTool) => ({
      name: toolSpec.name,
      schema: toolSpec.inputSchema.json as JsonSchema,
    }),
    read: (calls, options) =>
      bedrock.readCalls(
        { content: calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } })) },
        options,
      ),
    stream: (calls, split, options) =>
      pushAll<BedrockEvent>(
        bedrock.createReader(options),
        calls.flatMap(({ id, name, input }, at) => [
          { contentBlockStart: { contentBlockIndex: at, start: { toolUse: { toolUseId: id, name } } } },
          ...split(json(input)).map((piece) => ({
            contentBlockDelta: { contentBlockIndex: at, delta: { toolUse: { input: piece } } },
          })),
        ]),
      ),
    answers: (calls, results) =>
      bedrock.toMessages(calls, results).flatMap(({ content }) =>
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
    define: mistral.toTools,
    shown: ({ function: { name, parameters } }: MistralTool) => ({ name, schema: parameters }),
    read: (calls, options) =>
      mistral.readCalls(
        { toolCalls: calls.map(({ id, name, input }) => ({ id, function: { name, arguments: json(input) } })) },
        options,
      ),
    stream: (calls, split, options) =>
      pushAll(
        mistral.createReader(options),
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
      mistral.toMessages(calls, results).map(({ toolCallId: id, name, content }) => ({
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
    define: ollama.toTools,
    shown: ({ function: { name, parameters } }: OllamaTool) => ({ name, schema: { ...parameters } }),
    read: (calls, options) =>
      ollama.readCalls(
        { tool_calls: calls.map(({ name, input }) => ({ function: { name, arguments: input } })) },
        options,
      ),
    stream: (calls, _split, options) =>
      pushAll(
        ollama.createReader(options),
        calls.map(({ name, input }) => ({ message: { tool_calls: [{ function: { name, arguments: input } }] } })),
      ),
    answers: (calls, results) =>
      ollama.toMessages(calls, results).map(({ tool_name: name, content, images = [] }) => ({
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
