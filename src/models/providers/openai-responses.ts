import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { OPENAI_RULES, OPENAI_STRICT_RULES } from "./provider-schema-rules.ts";
import { matchResults, callResultText, mapContent } from "./call-results.ts";
import { type DefineOptions, defineTools, type ProviderTools, type ToolSource } from "./define-tools.ts";
import { type CallReader, type ModelCall, StreamedCalls, type ReadOptions, toModelCalls } from "./model-calls.ts";

export interface OpenAIResponsesTool {
  type: "function";
  name: string;
  description: string;
  parameters: JsonSchema;
  /** Required because this API enforces schemas by default. */
  strict: boolean;
}

/** Tools as the Responses API takes them. */
function toTools(tools: Iterable<ToolSource>, options: DefineOptions = {}): ProviderTools<OpenAIResponsesTool> {
  return defineTools(
    tools,
    options,
    { rules: OPENAI_RULES, strictRules: OPENAI_STRICT_RULES },
    ({ name, description, schema, strict }) => ({ type: "function", name, description, parameters: schema, strict }),
  );
}

interface OpenAIResponsesItem {
  type?: string;
}

interface FunctionCallItem {
  type: "function_call";
  call_id?: string;
  name?: string;
  arguments?: string;
}

function isFunctionCall(item: OpenAIResponsesItem | undefined): item is FunctionCallItem {
  return item?.type === "function_call";
}

/** The calls in a response. */
function readCalls(response: { output: readonly OpenAIResponsesItem[] }, options: ReadOptions = {}): ModelCall[] {
  const raw = response.output.filter(isFunctionCall).map((item) => ({
    id: item.call_id,
    name: item.name,
    arguments: item.arguments,
  }));
  return toModelCalls(raw, options);
}

/** The fields of an event that concern calls. */
export interface OpenAIResponsesEvent {
  type: string;
  output_index?: number;
  item?: OpenAIResponsesItem;
  delta?: unknown;
  arguments?: unknown;
}

/** Reads the calls of a streamed response. */
function createReader(options: ReadOptions = {}): CallReader<OpenAIResponsesEvent> {
  const raw = new StreamedCalls(options);
  return {
    push(event) {
      const { type, output_index: slot = raw.size } = event;
      if (type === "response.output_item.added" || type === "response.output_item.done") {
        const { item } = event;
        if (!isFunctionCall(item)) return;
        const call = raw.at(slot);
        if (item.call_id) call.id = item.call_id;
        if (item.name) call.name = item.name;
        if (type === "response.output_item.done" && item.arguments !== undefined) call.text = item.arguments;
      } else if (type === "response.function_call_arguments.delta") {
        raw.at(slot).text += String(event.delta ?? "");
      } else if (type === "response.function_call_arguments.done" && typeof event.arguments === "string") {
        raw.at(slot).text = event.arguments;
      }
    },
    calls: () => raw.calls(),
  };
}

type OutputPart = { type: "input_text"; text: string } | { type: "input_image"; image_url: string; detail: "auto" };

export interface OpenAIResponsesOutput {
  type: "function_call_output";
  call_id: string;
  output: string | OutputPart[];
}

/** Items for the `input` of the next request. */
function toMessages(calls: readonly ModelCall[], results: readonly ToolResult[]): OpenAIResponsesOutput[] {
  return matchResults(calls, results).map((result) => ({
    type: "function_call_output",
    call_id: result.id,
    output: result.content.some(({ type }) => type === "image")
      ? mapContent<OutputPart>(result.content, {
          text: (joined) => ({ type: "input_text", text: joined }),
          image: (data, mimeType) => ({
            type: "input_image",
            image_url: `data:${mimeType};base64,${data}`,
            detail: "auto",
          }),
        })
      : callResultText(result, { flagErrors: true }),
  }));
}

/** OpenAI's Responses API. */
export const openaiResponsesFormat = { toTools, readCalls, createReader, toMessages };
