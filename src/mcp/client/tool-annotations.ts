// Apart from `mcp-tool.ts`: the list of tools needs it, and must not load the client.
import type { AnyTool } from "../../core/tool.ts";
import type { MCPTool } from "./mcp-client.ts";

/** What a server says about a tool. Only a trusted server is believed; for others it is a claim that people see. */
export interface McpToolAnnotations {
  readOnly?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  openWorld?: boolean;
}

interface KeptAnnotations extends McpToolAnnotations {
  /** Whether the policy believes them. */
  isTrusted: boolean;
}

const kept = new WeakMap<AnyTool, KeptAnnotations>();

/** The annotations of an MCP tool; undefined for other tools. */
export function annotationsOf(tool: AnyTool): KeptAnnotations | undefined {
  return kept.get(tool);
}

export function keepAnnotations(tool: AnyTool, annotations: KeptAnnotations): void {
  kept.set(tool, annotations);
}

/** Only hints that the server has set. */
export function readAnnotations({ annotations = {} }: MCPTool): McpToolAnnotations {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  return { readOnly: readOnlyHint, destructive: destructiveHint, idempotent: idempotentHint, openWorld: openWorldHint };
}
