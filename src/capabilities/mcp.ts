import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "../core/error.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { McpServerConfig } from "../mcp/server-config.ts";
import type { Handlers } from "../contracts/contract.ts";
import { ApiError, notFound } from "../contracts/errors.ts";
import type { Contracts } from "../contracts/index.ts";
import type { McpActionRequest, McpLockNow } from "../contracts/mcp.ts";
import type { QuestionInfo } from "../contracts/questions.ts";
import type { Clock } from "../core/clock.ts";
import type { AwaitedSource } from "../core/registry.ts";
import { serverKey } from "../core/tool-catalog.ts";
import { CloseStack } from "../core/close-stack.ts";
import { ServerQuestions, type ServerQuestion } from "../mcp/client/elicitation.ts";
import { createMcpHub, type McpHub, type McpServerStatus } from "../mcp/client/mcp-hub.ts";
import { reviewStateOf, readBlock } from "../mcp/client/mcp-tool.ts";
import type { SignInOptions } from "../mcp/client/oauth.ts";
import { shownResources, shownTemplates, shownPrompts } from "../mcp/client/server-resources.ts";
import type { Store } from "../store/store.ts";
import { createResourceTools, type ResourceServers } from "../tools/discovery/mcp-resources.ts";
import { type ApiServices, defineCapability } from "./capability.ts";
import { lockNow, readLocked } from "./mcp-lock.ts";
import { createServerEntriesApi, ServerEntries } from "./mcp-servers.ts";
import { openNamedNet } from "../io/net/streaming-fetch.ts";

/** There is no page to return to. A server that needs one reports it. */
const NO_SIGN_IN: Omit<SignInOptions, "tokens"> = { redirectUrl: "http://127.0.0.1/callback" };

/** The configured MCP servers, their questions to people, and the tools that read their resources. */
export const mcp = defineCapability({
  name: "mcp",
  config: ["mcpServers", "approvals", "network", "workspace"],
  needs: ["store", "workspace", "runtime"],
  async open({
    config,
    options: { connectsMcp = true, mcpSignIn = NO_SIGN_IN },
    env,
    user,
    clock,
    store,
    runtime,
    workspace,
    warn,
  }) {
    const questions = createQuestions(config, { store, clock });
    const net = openNamedNet(config.value.network, env);
    let locked = await readLocked(config.folder, warn);
    const hub = createMcpHub({
      locked: (server, tool) => locked(server, tool),
      registry: runtime.tools.registry,
      servers: connectsMcp ? config.mcpServers : [],
      pins: store.pins,
      signIn: { ...mcpSignIn, tokens: store.signIns },
      answerElicitation: questions.ask,
      fetchFor: (server) => net.fetchTo([server.transport === "stdio" ? undefined : server.url]),
      workspace: config.folder,
      sandbox: workspace.programs,
      allowedPaths: config.value.workspace.allowedPaths ?? [config.folder],
      clock,
    });
    runtime.tools.registry.addAwaited(() => hub.status().flatMap((status) => awaitedSource(status) ?? []));
    const resourceTools = createResourceTools(resourceServers(hub));
    const addResourceTools = (): void => {
      for (const tool of resourceTools)
        if (!runtime.tools.registry.get(tool.name)) runtime.tools.registry.register(tool);
    };
    const running = new Map<string, McpServerConfig>(config.mcpServers.map((server) => [server.name, server]));
    const entries = new ServerEntries({
      folder: config.folder,
      user,
      hub,
      pins: store.pins,
      onAdd(server) {
        running.set(server.name, server);
        addResourceTools();
      },
      onRemove: (name) => void running.delete(name),
    });
    const closing = new CloseStack();
    closing.push("connections", () => net.close());
    closing.push("MCP servers", () => hub.close());
    return {
      value: { hub, questions },
      // Without a server the tools would only cost tokens.
      tools: config.mcpServers.length > 0 ? resourceTools : [],
      async reload(next) {
        const lock = await readLocked(config.folder, warn);
        return () => {
          locked = lock;
          if (connectsMcp) void followServers(next.mcpServers, { hub, running, addResourceTools, warn });
        };
      },
      requiresApproval: (tool) =>
        reviewStateOf(tool) === "changed"
          ? `The definition of "${tool.name}" changed since it was approved.`
          : undefined,
      api: ({ start, record }) => ({
        mcp: {
          ...createMcpApi({ hub, start, record, lockNow: () => lockNow({ folder: config.folder, user, hub }) }),
          ...createServerEntriesApi(entries, { hub, record }),
        },
        questions: createQuestionsApi(questions),
      }),
      close: () => closing.close(),
    };
  },
});

/** Undefined for a server whose tools are registered, and for one that is not wanted. */
function awaitedSource({ name, state }: McpServerStatus): AwaitedSource | undefined {
  if (state === "ready" || state === "stopped") return undefined;
  const sentence = `The MCP server ${JSON.stringify(name)} ${NOT_READY[state]}`;
  const needsPerson = state.startsWith("needs_");
  return { name, prefix: `mcp__${serverKey(name)}__`, isConnecting: state === "connecting", needsPerson, sentence };
}

const NOT_READY = {
  connecting: "is still connecting. Call again in a few seconds.",
  unavailable: "cannot be reached at the moment. Haft tries again by itself.",
  needs_sign_in: "needs a person to sign in: `haft mcp login`.",
  needs_approval: "needs a person to approve how it is started: `haft mcp approve`.",
};

interface FollowedServers {
  hub: McpHub;
  /** The servers as they were started, by name. */
  running: Map<string, McpServerConfig>;
  addResourceTools(): void;
  warn(warning: string): void;
}

/** Stops the servers that are gone or not trusted any more, and starts those that are new or changed. */
async function followServers(
  servers: readonly McpServerConfig[],
  { hub, running, addResourceTools, warn }: FollowedServers,
): Promise<void> {
  const wanted = new Map(servers.map((server) => [server.name, server]));
  const isSame = (name: string): boolean => isDeepStrictEqual(wanted.get(name), running.get(name));
  const ended = [...running.keys()].filter((name) => !isSame(name));
  const started = servers.filter(({ name }) => !isSame(name));
  for (const name of ended) running.delete(name);
  for (const server of started) running.set(server.name, server);
  await Promise.all(ended.map((name) => hub.remove(name).catch(() => undefined)));
  for (const server of started) {
    // Changed again meanwhile.
    if (running.get(server.name) !== server) continue;
    try {
      addResourceTools();
      hub.add(server);
    } catch (error) {
      warn(`The MCP server "${server.name}" was not started: ${errorMessage(error)}`);
    }
  }
}

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

export interface McpApiOptions extends Pick<ApiServices, "start" | "record"> {
  hub: McpHub;
  lockNow(): Promise<McpLockNow>;
}

export function createMcpApi({
  hub,
  lockNow: readLockNow,
  start,
  record,
}: McpApiOptions): Omit<Handlers<Contracts["mcp"]>, keyof ReturnType<typeof createServerEntriesApi>> {
  return {
    list: () => ({ items: hub.status() }),
    lock: () => readLockNow(),
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
  throw notFound(`There is no MCP server "${server}"`, "mcp");
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
    const why = errorMessage(error);
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
  throw new ApiError("bad_request", "The request names no tool", "Send `tool`.");
}

export function createQuestionsApi(questions: ServerQuestions): Handlers<Contracts["questions"]> {
  const find = async (id: string): Promise<ServerQuestion> => {
    // A store may fail on a NUL character, and keeps none.
    const found = id.includes("\0") ? undefined : await questions.get(id);
    if (found) return found;
    throw notFound("There is no such question", "questions");
  };
  return {
    list: async ({ query: { state } }) => ({ items: (await questions.list(state)).map(infoOf).reverse() }),
    get: async ({ params }) => infoOf(await find(params.id)),
    async answer({ params, body: { action, content }, identity: { name: by } }) {
      const { id } = await find(params.id);
      return infoOf(await questions.answer(id, { action, by, via: "http", content }));
    },
  };
}

/** The answers of a person are for the MCP server only. */
function infoOf({ content: _content, ...question }: ServerQuestion): QuestionInfo {
  return question;
}
