import type { McpHub } from "../../mcp/client/mcp-hub.ts";
import { DoorError } from "../door-error.ts";
import type { McpPart } from "../host-parts.ts";
import type { McpActionRequest } from "../wire.ts";

/** The MCP servers of a host in the words of the wire. */
export function mcpPart(hub: McpHub): McpPart {
  return {
    list: () => hub.status(),
    async act(server, request) {
      if (!hub.status().some(({ name }) => name === server)) {
        throw new DoorError("not_found", `There is no MCP server "${server}"`, "GET /api/mcp lists them.");
      }
      await run(hub, server, request);
      return hub.statusOf(server);
    },
  };
}

async function run(hub: McpHub, server: string, { action, tool }: McpActionRequest): Promise<void> {
  switch (action) {
    case "reconnect":
      await hub.reconnect(server);
      return;
    case "disconnect":
      await hub.disconnect(server);
      return;
    case "approve_launch":
      await hub.approveLaunch(server);
      return;
    case "approve_tool":
      await hub.approveDefinition(server, required(tool));
      return;
    case "enable_tool":
      hub.setToolEnabled(server, required(tool), true);
      return;
    case "disable_tool":
      hub.setToolEnabled(server, required(tool), false);
  }
}

function required(tool: string | undefined): string {
  if (tool !== undefined) return tool;
  throw new DoorError("bad_request", "Which tool of the server?", "Send `tool`.");
}
