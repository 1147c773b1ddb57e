import type { ToolFailure } from "../../core/error.ts";
import { parseToolCalls, type ToolCallParserOptions } from "./tool-call-parser.ts";

export interface XMLToolCall {
  name: string;
  params: Record<string, unknown>;
  rawText: string;
  /** Why it cannot be run. */
  failure?: ToolFailure;
}

/** Calls in the format `<tool_call><name>…</name><params>…</params></tool_call>` alone, with params under their first name. */
export const XMLToolCallParser = Object.freeze({
  parseToolCalls(text: string, options: Omit<ToolCallParserOptions, "format"> = {}): XMLToolCall[] {
    const { calls } = parseToolCalls(text, { ...options, format: "xml" });
    return calls.map(({ name, input, rawText, failure }) => ({
      name,
      params: input,
      rawText,
      ...(failure ? { failure } : {}),
    }));
  },
});
