import type { Door } from "../door.ts";
import { json, type Resource, route } from "../route.ts";

export const mcp: Resource<Door> = {
  path: "/api/mcp",
  routes({ parts: { mcp: part } }) {
    if (!part) return [];
    return [
      route("GET /api/mcp", {
        summary: "The MCP servers, with their state and tools",
        scope: "read",
        answers: "McpServerPage",
        handle: async () => json({ items: await part.list() }),
      }),
      route("POST /api/mcp/{server}", {
        summary: "Reconnect a server, switch a tool, approve a changed definition or launch",
        scope: "approve",
        body: "McpActionRequest",
        answers: "McpServerInfo",
        handle: async ({ params, body, identity }) => json(await part.act(params["server"]!, body, identity.name)),
      }),
    ];
  },
};
