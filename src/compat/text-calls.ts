import type { ToolFailure } from "../core/error.ts";
import { formatToolResult } from "../models/text/format-tool-result.ts";
import { parseToolCalls as parseText, type ToolCallParserOptions } from "../models/text/tool-call-parser.ts";
import { writeToolInstructions } from "../models/text/tool-instructions.ts";

/** A call that a model wrote as XML. */
export interface XMLToolCall {
  /** Of the tool. */
  name: string;
  /** For the tool. Without `tools`, `true`, `123` and `3.14` are typed by their looks; a tool that takes text gets the text. */
  params: Record<string, unknown>;
  /** The original text of the call. */
  rawText: string;
  /** Why the call cannot be run. */
  failure?: ToolFailure;
}

/** As `XMLToolCall`, with the names of Python. */
export interface ToolCall extends Omit<XMLToolCall, "rawText"> {
  /** The original text of the call. */
  raw_text: string;
}

type XMLOptions = Omit<ToolCallParserOptions, "format">;

/** The calls of a text in the format `<tool_call><name>…</name><params>…</params></tool_call>`. */
export function parseToolCalls(text: string, options: XMLOptions = {}): XMLToolCall[] {
  const { calls } = parseText(text, { ...options, format: "xml" });
  return calls.map(({ name, input, rawText, failure }) => ({ name, params: input, rawText, failure }));
}

/** As `parseToolCalls`, with the names of Python. */
export function parse_tool_calls(text: string, options?: XMLOptions): ToolCall[] {
  return parseToolCalls(text, options).map(({ rawText, ...call }) => ({ ...call, raw_text: rawText }));
}

/** Parses calls in the format `<tool_call><name>…</name><params>…</params></tool_call>` only. */
export const XMLToolCallParser = Object.freeze({ parseToolCalls, parse_tool_calls });

/** Both prompt texts for a model without function calling: the tool instructions and the tool results. */
export const ToolPromptGenerator = Object.freeze({
  generateToolInstruction: writeToolInstructions,
  generate_tool_instruction: writeToolInstructions,
  formatToolResult,
  format_tool_result: formatToolResult,
});
