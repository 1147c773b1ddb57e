import type { AnyTool } from "../core/tool.ts";
import { isToolAllowed, type ToolPolicy } from "../gate/permit/tool-policy.ts";
import { expandToolGroups } from "../gate/permit/tool-groups.ts";
import type { McpPromptSource, McpServerOptions } from "../mcp/server/server-options.ts";
import type { SkillLibrary } from "../models/agent/skills.ts";
import type { McpEndpoint } from "../mcp/server/streamable-http.ts";
import { describeApproval } from "../gate/permit/describe-approval.ts";
import type { Haft } from "../runtime.ts";
import type { ProtocolEndpoint } from "./http-server.ts";

export interface McpEndpointSettings extends Pick<
  McpServerOptions,
  "approvalAddress" | "resources" | "prompts" | "shows" | "defers" | "ready" | "onError"
> {
  version: string;
  /** Signs the state that clients hold. A stored key makes it valid after a restart and in other processes. */
  stateKey?(): Promise<Uint8Array>;
}

/** Files, search and commands: what a coding client needs of a workspace. And what connects its model with the user. */
const CODING_TOOLS: ReadonlySet<string> = new Set(
  expandToolGroups(["group:fs", "exec", "process", "ask_user", "todo"]),
);

/**
 * Which tools MCP clients get: those that are named, else the coding tools and everything that is not built in. Most clients have
 * a model, a browser and sessions of their own.
 */
export function shownToClients({ profile, tools = [] }: { profile?: string; tools?: readonly string[] }) {
  if (profile === undefined && tools.length === 0) {
    return ({ name, origin }: AnyTool): boolean => origin.type !== "builtin" || CODING_TOOLS.has(name);
  }
  const policy: ToolPolicy = { profile, allow: tools.length === 0 ? undefined : tools };
  return (tool: AnyTool): boolean => isToolAllowed(tool, policy);
}

/** Skills and commands as prompts, which a person chooses in the client. */
export function skillPrompts(skills: SkillLibrary): McpPromptSource {
  return {
    async list() {
      const found = await skills.list();
      return found.skills.map(({ name, description }) => ({
        name,
        description,
        arguments: [{ name: "arguments", description: "What to apply it to" }],
        async get({ arguments: given = "" }) {
          const command = await skills.readCommand(`/${name} ${given}`);
          const text = command?.text ?? (await skills.load(name, { byPerson: true })).instructions;
          return { description, messages: [{ role: "user", content: { type: "text", text } }] };
        },
      }));
    },
  };
}

/** The name of that key in a store. */
export const MCP_STATE_KEY = "mcp_request_state";

/** MCP at a path of the server: the same tools, for clients with a token. Loaded with the first request. */
export function createMcpHandler(haft: Haft, settings: McpEndpointSettings): ProtocolEndpoint {
  const { version, approvalAddress, resources = [], prompts, shows, ready, defers = false } = settings;
  const { stateKey, onError } = settings;
  let opening: Promise<McpEndpoint> | undefined;
  const open = async (): Promise<McpEndpoint> => {
    const { createMcpEndpoint } = await import("../mcp/server/streamable-http.ts");
    return createMcpEndpoint(haft, {
      describe: (question) => describeApproval(question as never),
      serverInfo: { name: "haft", title: "Haft", version },
      // The HTTP server has checked host and origin.
      hosts: "checked",
      resources,
      prompts,
      shows,
      ready,
      defers,
      stateKey: stateKey ? await stateKey() : undefined,
      approvalAddress,
      onError,
    });
  };
  return {
    async handle(incoming, outgoing, { id, name, scopes }) {
      const endpoint = await (opening ??= open());
      await endpoint.handle(incoming, outgoing, { identity: { id, name, rights: scopes } });
    },
    async close() {
      await (await opening)?.close();
    },
  };
}
