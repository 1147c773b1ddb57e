import { createTool } from "../../core/create-tool.ts";
import type { AnyTool, ToolKind } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

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
