import type { AnyTool } from "../../core/tool.ts";
import { createListMcpResourcesTool } from "./list-mcp-resources.ts";
import { createReadMcpResourceTool } from "./read-mcp-resource.ts";
import type { ResourceServers } from "./resource-servers.ts";

export function createResourceTools(servers: ResourceServers): AnyTool[] {
  return [createListMcpResourcesTool(servers), createReadMcpResourceTool(servers)];
}
