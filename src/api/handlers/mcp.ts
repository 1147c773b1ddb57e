import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { mcp, McpActionRequest } from "../../contracts/mcp.ts";
import type { AuditFact } from "../../gate/audit-log.ts";
import type { McpHub } from "../../mcp/client/mcp-hub.ts";
import { readBlock } from "../../mcp/client/mcp-tool.ts";
import { shownPrompts, shownResources, shownTemplates } from "../../mcp/client/server-resources.ts";
import type { StartCall } from "./call-runner.ts";

export interface McpApiOptions {
  hub: McpHub;
  start: StartCall;
  /** Records what people do, before it takes effect: if it rejects, nothing is done. */
  record(fact: AuditFact): Promise<void>;
}

export function createMcpApi({ hub, start, record }: McpApiOptions): Handlers<typeof mcp> {
  return {
    list: () => ({ items: hub.status() }),
    async act({ params: { server }, body, identity: { name: by } }) {
      checkServer(hub, server);
      const { action, tool, hash } = body;
      if (action.endsWith("_tool")) required(tool);
      const data = { action: `mcp_${action}`, by, server, tool, hash };
      const kind = action.startsWith("approve") ? "trust" : "config_changed";
      await recorded(record, { kind, by, data }, () => run(hub, server, body));
      return hub.statusOf(server);
    },
    async finishSignIn({ body: { callback }, identity: { name: by } }) {
      const server = await hub.serverOfSignIn(callback);
      if (server === undefined) {
        throw new ApiError(
          "conflict",
          "This address does not belong to a sign-in that was started here",
          "Start again.",
        );
      }
      const data = { action: "mcp_signed_in", by, server };
      await recorded(record, { kind: "trust", by, data }, () => hub.finishSignIn(server, callback));
      return hub.statusOf(server);
    },
    async resources({ params: { server } }) {
      checkServer(hub, server);
      const resources = shownResources(await hub.listResources(server));
      return { resources, templates: shownTemplates(await hub.listResourceTemplates(server)) };
    },
    read: ({ params: { server }, body: { uri }, identity }) =>
      start({ tool: "read_mcp_resource", input: { server, uri } }, identity).result,
    async prompts({ params: { server } }) {
      checkServer(hub, server);
      return { items: shownPrompts(await hub.listPrompts(server)) };
    },
    async prompt({ params: { server }, body: { name, arguments: given }, identity: { name: by } }) {
      checkServer(hub, server);
      const data = { action: "mcp_prompt", by, server, prompt: name };
      const { description, messages } = await recorded(record, { kind: "note", by, data }, () =>
        hub.getPrompt(server, name, given),
      );
      return { description, messages: messages.map(({ role, content }) => ({ role, content: readBlock(content) })) };
    },
  };
}

function checkServer(hub: McpHub, server: string): void {
  if (hub.status().some(({ name }) => name === server)) return;
  throw new ApiError("not_found", `There is no MCP server "${server}"`, "GET /api/mcp lists them.");
}

/** Recorded before it is done; if it then fails, that is recorded too. */
async function recorded<T>(
  record: McpApiOptions["record"],
  { kind, by, data }: { kind: "trust" | "config_changed" | "note"; by: string; data: Record<string, unknown> },
  work: () => Promise<T>,
): Promise<T> {
  await record({ kind, caller: { user: by }, data });
  try {
    return await work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    await record({ kind: "note", caller: { user: by }, data: { ...data, note: "this was not done", why } });
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
  throw new ApiError("bad_request", "The request does not name a tool", "Send `tool`.");
}
