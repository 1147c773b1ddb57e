import { type Content, textOf } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { declarationOf } from "../../core/definition.ts";
import { failureText, ToolError } from "../../core/error.ts";
import type { Update } from "../../core/events.ts";
import { gateOf } from "../../core/gate.ts";
import { jsonResult } from "../../core/result.ts";
import type { AnyTool, ToolKind } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** A tool as a definition for the model and a function that returns content and details. */
export interface ToolDefinition {
  /** Of the tool. */
  name: string;
  /** For a person. */
  label: string;
  /** For the model. */
  description: string;
  /** The input as JSON Schema. */
  parameters: JsonSchema;
  /** Runs it through the gate. */
  execute(
    toolCallId: string,
    params: unknown,
    onUpdate?: (update: Update) => void,
    context?: unknown,
    signal?: AbortSignal,
  ): Promise<{ content: Content[]; details: unknown }>;
}

/** Every `execute` passes the gate. It returns failures as data and throws only if the caller aborts. */
export function toToolDefinitions(tools: Iterable<AnyTool>): ToolDefinition[] {
  return Array.from(tools, (tool) => {
    const { name, description, parameters } = declarationOf(tool);
    return {
      name,
      label: tool.title,
      description,
      parameters,
      async execute(id, params, onUpdate, _context, signal) {
        const result = await gateOf(tool).execute(tool, params, { id, signal, onUpdate });
        if (result.status === "completed") return { content: result.content, details: result.details };
        if (result.status === "pending") {
          const message = textOf(result.content);
          return jsonResult({ status: "pending", tool: name, message, pending: result.pending });
        }
        if (result.error.code === "cancelled" && signal?.aborted) {
          throw new ToolError(name, result.error.message, signal.reason, {
            code: "cancelled",
            next: result.error.next,
          });
        }
        return jsonResult({ status: "error", tool: name, error: failureText(result.error) });
      },
    };
  });
}

/** A tool that runs in a client, as the client registers it. */
export interface ClientToolDefinition {
  /** The only kind so far. */
  type?: "function";
  /** Its name, description and input. */
  function: { name: string; description?: string; parameters?: JsonSchema };
  /** As in `createTool`. */
  kind?: ToolKind;
  /** As in `createTool`: a tool that does not say what it does needs approval. */
  needsApproval?: boolean;
}

/** Tools that the client runs. A call is `pending` until the client sends the result for its id. */
export function createClientTools(tools: Iterable<ClientToolDefinition>, client: string): AnyTool[] {
  return Array.from(tools, ({ function: { name, description, parameters }, kind, needsApproval }) =>
    createTool({
      kind,
      needsApproval,
      name,
      description: description || name,
      parameters: parameters ?? { type: "object", properties: {} },
      origin: { type: "client", client },
      run: (_input: unknown, { callId }) => ({
        content: "Tool execution delegated to client",
        pending: { kind: "client" as const, id: callId },
      }),
    }),
  );
}

/** Definitions of tools that run at a client. A tool that does not say what it does runs there unasked. */
export function toClientToolDefinitions(tools: Iterable<ClientToolDefinition>, client = "client"): ToolDefinition[] {
  const declared = Array.from(tools, (tool) => ({
    ...tool,
    needsApproval: tool.needsApproval ?? (tool.kind ? undefined : false),
  }));
  return toToolDefinitions(createClientTools(declared, client));
}
