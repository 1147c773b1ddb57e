import type { ApiContext } from "../door.ts";
import { json, type Resource, route } from "../route.ts";

export const mcp: Resource<ApiContext> = {
  path: "/api/mcp",
  routes({ runs, parts: { mcp: part } }) {
    if (!part) return [];
    return [
      route("GET /api/mcp", {
        summary: "The MCP servers, with their state and tools",
        scope: "read",
        answers: "McpServerPage",
        handle: async () => json({ items: await part.list() }),
      }),
      route("POST /api/mcp/{server}", {
        summary: "Reconnect a server, begin a sign-in, switch a tool, approve a changed definition or launch",
        scope: "approve",
        body: "McpActionRequest",
        answers: "McpServerInfo",
        handle: async ({ params, body, identity }) => json(await part.act(params["server"]!, body, identity.name)),
      }),
      route("POST /api/mcp", {
        summary: "Finish a sign-in, with the address that the browser came back to",
        scope: "approve",
        body: "McpSignInRequest",
        answers: "McpServerInfo",
        handle: async ({ body, identity }) => json(await part.finishSignIn(body.callback, identity.name)),
      }),
      route("GET /api/mcp/{server}/resources", {
        summary: "The resources of a server, and templates of their addresses",
        scope: "read",
        answers: "McpResourceList",
        handle: async ({ params }) => json(await part.resources(params["server"]!)),
      }),
      route("POST /api/mcp/{server}/read", {
        summary: "Read a resource, through the gate",
        scope: "call",
        body: "McpReadRequest",
        answers: "ToolResult",
        async handle({ params, body: { uri }, identity }) {
          const input = { server: params["server"]!, uri };
          return json(await runs.start({ tool: "read_mcp_resource", input }, identity).result);
        },
      }),
      route("GET /api/mcp/{server}/prompts", {
        summary: "The prompts of a server",
        scope: "read",
        answers: "McpPromptPage",
        handle: async ({ params }) => json({ items: await part.prompts(params["server"]!) }),
      }),
      route("POST /api/mcp/{server}/prompt", {
        summary: "A prompt, filled in by the server",
        scope: "call",
        body: "McpPromptRequest",
        answers: "McpPromptText",
        handle: async ({ params, body, identity }) => json(await part.prompt(params["server"]!, body, identity.name)),
      }),
    ];
  },
};
