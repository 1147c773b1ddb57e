import { textOf } from "../core/content.ts";
import { declarationOf } from "../core/definition.ts";
import { failureText, ToolError } from "../core/error.ts";
import { gateOf } from "../core/gate.ts";
import { jsonResult } from "../core/result.ts";
import { type AnyTool, isTool } from "../core/tool.ts";
import { type ClientToolDefinition, createClientTools } from "../models/frameworks/tool-definitions.ts";
import { type AgentToolResult, type AgentToolUpdateCallback, type AnyAgentTool, fromAgentTool } from "./tools.ts";

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
