import type { McpHub } from "../../mcp/client/mcp-hub.ts";
import { DoorError } from "../door-error.ts";
import type { McpPart, OnFact } from "../host-parts.ts";
import type { McpActionRequest } from "../wire.ts";

/** The MCP servers of a host in the words of the wire. What a person decides about them is told before it counts. */
export function mcpPart(hub: McpHub, onFact?: OnFact): McpPart {
  return {
    list: () => hub.status(),
    async act(server, request, by) {
      if (!hub.status().some(({ name }) => name === server)) {
        throw new DoorError("not_found", `There is no MCP server "${server}"`, "GET /api/mcp lists them.");
      }
      const { action, tool, hash } = request;
      if (action.endsWith("_tool")) required(tool);
      const data = { action: `mcp_${action}`, by, server, ...(tool === undefined ? {} : { tool }), hash };
      const kind = action.startsWith("approve") ? "trust" : "config_changed";
      await onFact?.({ kind, caller: { user: by }, data });
      try {
        await run(hub, server, request);
      } catch (error) {
        await onFact?.({
          kind: "note",
          caller: { user: by },
          data: { ...data, note: "this was not done", why: whyOf(error) },
        });
        throw error;
      }
      return hub.statusOf(server);
    },
  };
}

async function run(hub: McpHub, server: string, { action, tool, hash }: McpActionRequest): Promise<void> {
  switch (action) {
    case "reconnect":
      await hub.reconnect(server);
      return;
    case "disconnect":
      await hub.disconnect(server);
      return;
    case "approve_launch":
      await hub.approveLaunch(server, hash);
      return;
    case "approve_tool":
      await hub.approveDefinition(server, required(tool), hash);
      return;
    case "enable_tool":
      await hub.setToolEnabled(server, required(tool), true);
      return;
    case "disable_tool":
      await hub.setToolEnabled(server, required(tool), false);
  }
}

function whyOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function required(tool: string | undefined): string {
  if (tool !== undefined) return tool;
  throw new DoorError("bad_request", "Which tool of the server?", "Send `tool`.");
}
