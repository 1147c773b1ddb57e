import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../core/clock.ts";
import { CloseStack } from "../core/close-stack.ts";
import { ServerQuestions } from "../mcp/client/elicitation.ts";
import { createMcpHub, type McpHub } from "../mcp/client/mcp-hub.ts";
import { reviewStateOf } from "../mcp/client/mcp-tool.ts";
import type { SignInOptions } from "../mcp/client/oauth.ts";
import { shownResources, shownTemplates } from "../mcp/client/server-resources.ts";
import type { Store } from "../store/store.ts";
import { createResourceTools, type ResourceServers } from "../tools/discovery/mcp-resources.ts";
import { defineCapability } from "./capability.ts";
import { openNamedNet } from "./named-net.ts";

export interface HostMcp {
  hub: McpHub;
  questions: ServerQuestions;
}

/** There is no page to return to. A server that needs one reports it. */
const NO_SIGN_IN: Omit<SignInOptions, "tokens"> = { redirectUrl: "http://127.0.0.1/callback" };

/** The configured MCP servers, their questions to people, and the tools that read their resources. */
export const mcp = defineCapability({
  name: "mcp",
  config: ["mcpServers", "approvals", "network", "workspace"],
  needs: ["store", "runtime"],
  open({ config, options: { connectsMcp = true, mcpSignIn = NO_SIGN_IN }, env, clock, store, runtime }) {
    const questions = createQuestions(config, { store, clock });
    const net = openNamedNet(config, env);
    const hub = createMcpHub({
      registry: runtime.registry,
      servers: connectsMcp ? config.mcpServers : [],
      pins: store.pins,
      signIn: { ...mcpSignIn, tokens: store.signIns },
      answerElicitation: questions.ask,
      fetchFor: (server) => net.fetchTo([server.transport === "stdio" ? undefined : server.url]),
      workspace: config.folder,
      allowedPaths: config.value.workspace.allowedPaths ?? [config.folder],
      clock,
    });
    const closing = new CloseStack();
    closing.push("connections", () => net.close());
    closing.push("MCP servers", () => hub.close());
    return {
      value: { hub, questions },
      // Without a server the tools would only cost tokens.
      tools: config.mcpServers.length > 0 ? createResourceTools(resourceServers(hub)) : [],
      requiresApproval: (tool) =>
        reviewStateOf(tool) === "changed"
          ? `The definition of "${tool.name}" changed since it was approved.`
          : undefined,
      close: () => closing.close(),
    };
  },
});

/** Kept in the store. An answer is written to the audit log before it takes effect. */
function createQuestions(
  { value: { approvals } }: LoadedConfig,
  { store, clock }: { store: Store; clock: Clock },
): ServerQuestions {
  return new ServerQuestions({
    clock,
    store: store.serverQuestions,
    lifetimeMs: approvals.waitMs,
    async onAnswer({ id, server, mode, message, url }, { action, by, via }) {
      // Without the content: it is between the person and the server.
      const data = { action: "mcp_question_answered", id, server, mode, message, url, answer: action, by, via };
      await store.audit.append({ kind: "note", caller: by === undefined ? {} : { user: by }, data }, { synced: true });
    },
  });
}

function resourceServers(hub: McpHub): ResourceServers {
  return {
    names: () => hub.status().flatMap(({ name, state }) => (state === "ready" ? [name] : [])),
    isTrusted: (server) => hub.status().some(({ name, trusted }) => name === server && trusted),
    async list(server) {
      const resources = shownResources(await hub.listResources(server));
      return { resources, templates: shownTemplates(await hub.listResourceTemplates(server)) };
    },
    async read(server, uri, signal) {
      const { contents } = await hub.readResource(server, uri, { signal });
      return contents.map(({ uri: address, mimeType, ...body }) => ({
        uri: address,
        mimeType,
        ...("text" in body ? { text: body.text } : { blob: body.blob }),
      }));
    },
  };
}
