import { textOf } from "../core/content.ts";
import { declarationOf } from "../core/definition.ts";
import { failureText, ToolError, type ToolFailure } from "../core/error.ts";
import { gateOf } from "../core/gate.ts";
import { jsonResult } from "../core/result.ts";
import { type AnyTool, isTool } from "../core/tool.ts";
import { type ClientToolDefinition, createClientTools } from "../models/frameworks/tool-definitions.ts";
import { type AgentToolResult, type AgentToolUpdateCallback, type AnyAgentTool, fromAgentTool } from "./tools.ts";
import { formatToolResult } from "../models/text/format-tool-result.ts";
import { parseToolCalls as parseText, type ToolCallParserOptions } from "../models/text/tool-call-parser.ts";
import { writeToolInstructions } from "../models/text/tool-instructions.ts";

/** A tool as a definition for the model and a function that returns content and details. */
export interface ToolDefinition {
  /** Of the tool. */
  name: string;
  /** For a person. Default: the name. */
  label?: string;
  /** For the model. */
  description?: string;
  /** The schema of the input; of a definition that Haft made, JSON Schema. */
  parameters?: object;
  /** Runs it. */
  execute(
    toolCallId: string,
    params: unknown,
    onUpdate?: AgentToolUpdateCallback,
    context?: unknown,
    signal?: AbortSignal,
  ): Promise<AgentToolResult>;
}

/**
 * Definitions of tools of Haft and of tools that are only an `AgentTool`. Every `execute` passes the gate. It returns failures as
 * data, and throws them if the caller has aborted.
 */
export function toToolDefinitions(tools: Iterable<AnyTool | AnyAgentTool>): Required<ToolDefinition>[] {
  return Array.from(tools, (given) => {
    const tool = isTool(given) ? given : fromAgentTool(given);
    const { name, description, parameters } = declarationOf(tool);
    return {
      name,
      label: tool.title,
      description,
      parameters,
      async execute(id, params, onUpdate, _context, signal) {
        const result = await gateOf(tool).execute(tool, params, {
          id,
          signal,
          onUpdate: onUpdate && (({ content = [], details }) => onUpdate({ content, details })),
        });
        if (result.status === "completed") return { content: result.content, details: result.details };
        if (result.status === "pending") {
          const message = textOf(result.content);
          return jsonResult({ status: "pending", tool: name, message, pending: result.pending });
        }
        const { code, message, next } = result.error;
        if (signal?.aborted) throw new ToolError(name, message, signal.reason, { code, next });
        return jsonResult({ status: "error", tool: name, error: failureText(result.error) });
      },
    };
  });
}

/** Definitions of tools that run at a client. A tool that does not say what it does runs there unasked. */
export function toClientToolDefinitions(tools: Iterable<ClientToolDefinition>, client = "client"): ToolDefinition[] {
  const declared = Array.from(tools, (tool) => ({
    ...tool,
    needsApproval: tool.needsApproval ?? (tool.kind ? undefined : false),
  }));
  return toToolDefinitions(createClientTools(declared, client));
}

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
