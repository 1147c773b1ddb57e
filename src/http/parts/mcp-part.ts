import type { McpHub } from "../../mcp/client/mcp-hub.ts";
import { readBlock } from "../../mcp/client/mcp-tool.ts";
import { shownPrompts, shownResources, shownTemplates } from "../../mcp/client/server-resources.ts";
import { HttpError } from "../door-error.ts";
import type { McpCapability, OnAuditFact } from "../host-parts.ts";
import type { McpActionRequest } from "../wire.ts";

/** The MCP servers of a host in the words of the wire. What a person decides about them is told before it counts. */
export function mcpCapability(hub: McpHub, onAuditFact?: OnAuditFact): McpCapability {
  return {
    list: () => hub.status(),
    async act(server, request, by) {
      checkServer(hub, server);
      const { action, tool, hash } = request;
      if (action.endsWith("_tool")) required(tool);
      const data = { action: `mcp_${action}`, by, server, tool, hash };
      const kind = action.startsWith("approve") ? "trust" : "config_changed";
      await noted(onAuditFact, { kind, by, data }, () => run(hub, server, request));
      return hub.statusOf(server);
    },
    async finishSignIn(callback, by) {
      const server = await hub.serverOfSignIn(callback);
      if (server === undefined) {
        throw new HttpError("conflict", "No sign-in was begun here that this is the end of", "Begin it again.");
      }
      const data = { action: "mcp_signed_in", by, server };
      await noted(onAuditFact, { kind: "trust", by, data }, () => hub.finishSignIn(server, callback));
      return hub.statusOf(server);
    },
    async resources(server) {
      checkServer(hub, server);
      const resources = shownResources(await hub.listResources(server));
      return { resources, templates: shownTemplates(await hub.listResourceTemplates(server)) };
    },
    async prompts(server) {
      checkServer(hub, server);
      return shownPrompts(await hub.listPrompts(server));
    },
    async prompt(server, { name, arguments: given }, by) {
      checkServer(hub, server);
      const data = { action: "mcp_prompt", by, server, prompt: name };
      const { description, messages } = await noted(onAuditFact, { kind: "note", by, data }, () =>
        hub.getPrompt(server, name, given),
      );
      return {
        description,
        messages: messages.map(({ role, content }) => ({ role, content: readBlock(content) })),
      };
    },
  };
}

function checkServer(hub: McpHub, server: string): void {
  if (hub.status().some(({ name }) => name === server)) return;
  throw new HttpError("not_found", `There is no MCP server "${server}"`, "GET /api/mcp lists them.");
}

/** Told before it counts; where it then fails, that is told as well. */
async function noted<T>(
  onAuditFact: OnAuditFact | undefined,
  { kind, by, data }: { kind: "trust" | "config_changed" | "note"; by: string; data: Record<string, unknown> },
  work: () => Promise<T>,
): Promise<T> {
  await onAuditFact?.({ kind, caller: { user: by }, data });
  try {
    return await work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    await onAuditFact?.({ kind: "note", caller: { user: by }, data: { ...data, note: "this was not done", why } });
    throw error;
  }
}

async function run(hub: McpHub, server: string, { action, tool, hash }: McpActionRequest): Promise<void> {
  switch (action) {
    case "reconnect":
      await hub.reconnect(server);
      return;
    case "disconnect":
      await hub.disconnect(server);
      return;
    case "sign_in":
      await hub.signIn(server);
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

function required(tool: string | undefined): string {
  if (tool !== undefined) return tool;
  throw new HttpError("bad_request", "Which tool of the server?", "Send `tool`.");
}
