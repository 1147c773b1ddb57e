import type {
  FetchLike,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from "@modelcontextprotocol/client";
import { type Clock, systemClock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { ToolRegistry } from "../../core/registry.ts";
import type { McpServerConfig } from "../server-config.ts";
import type { MCPClientOptions } from "./mcp-client.ts";
import { isEqualSecret } from "./oauth.ts";
import { createServerLink, type ServerLink } from "./server-link.ts";
import { serverKey } from "./tool-definition.ts";
import { MemoryPinStore, type PinStore } from "./tool-pinning.ts";

export interface McpHubOptions extends Omit<MCPClientOptions, "events"> {
  /** Where the tools of the servers are registered, as `mcp__server__tool`. */
  registry: Pick<ToolRegistry, "register" | "unregister" | "get">;
  servers?: readonly McpServerConfig[];
  pins?: PinStore;
  /** How one server is reached, where they differ. */
  fetchFor?(config: McpServerConfig): FetchLike;
  /** Told of every change of a server's state or tools. */
  onChange?(status: McpServerStatus): void;
  onResourceUpdated?(server: string, uri: string): void;
}

/** Many servers, each in its own time: one that fails, hangs or changes touches nobody else and delays nothing. */
export interface McpHub {
  /** Begins to connect, and returns at once. A second server whose name reads the same is refused. */
  add(config: McpServerConfig): void;
  /** Ends it, and takes its tools out of the registry. */
  remove(server: string): Promise<void>;
  /** Of every server. */
  status(): McpServerStatus[];
  /** Of one server. */
  statusOf(server: string): McpServerStatus;
  /** Resolves when no server is being connected any more; never rejects. */
  settled(): Promise<void>;
  /** Connects again, now. */
  reconnect(server: string): Promise<McpServerStatus>;
  /** Its tools stay known, as unavailable. */
  disconnect(server: string): Promise<void>;
  /** Counts at once, and also after a restart where the pins are kept. */
  setToolEnabled(server: string, tool: string, isEnabled: boolean): Promise<void>;
  /** A person has seen the definition; with `hash`, refused where it is another one by now. */
  approveDefinition(server: string, tool: string, hash?: string): Promise<void>;
  /** A person has seen how the server is started; with `hash`, refused where that is another way by now. */
  approveLaunch(server: string, hash?: string): Promise<McpServerStatus>;
  /** Shows the sign-in page by `signIn.onAuthorize`; true where none was needed. */
  signIn(server: string): Promise<boolean>;
  /** Completes a sign-in with the address that the browser came back to. */
  finishSignIn(server: string, callback: string | URL): Promise<McpServerStatus>;
  /** The server whose sign-in, begun in whatever process of this store, the browser came back from. */
  serverOfSignIn(callback: string | URL): Promise<string | undefined>;
  /** The resources of a server. */
  listResources(server: string): Promise<Resource[]>;
  /** The templates of its resources. */
  listResourceTemplates(server: string): Promise<ResourceTemplateType[]>;
  /** The content of a resource. */
  readResource(server: string, uri: string, options?: { signal?: AbortSignal }): Promise<ReadResourceResult>;
  /** Reports changes of a resource to `onResourceUpdated`. */
  watchResource(server: string, uri: string): Promise<void>;
  /** The prompts of a server. */
  listPrompts(server: string): Promise<Prompt[]>;
  /** A prompt with its arguments filled in. */
  getPrompt(server: string, name: string, args?: Readonly<Record<string, string>>): Promise<GetPromptResult>;
  /** Ends every server, and resolves when their processes are gone. */
  close(): Promise<void>;
}

/** Connects to MCP servers and registers their tools. */
export function createMcpHub(options: McpHubOptions): McpHub {
  const {
    registry,
    servers = [],
    pins = new MemoryPinStore(),
    onChange,
    onResourceUpdated,
    fetchFor,
    ...client
  } = options;
  const clock: Clock = options.clock ?? systemClock;
  const links = new Map<string, ServerLink>();
  const connecting = new Set<Promise<void>>();
  const refused: McpServerStatus[] = [];

  function linkOf(server: string): ServerLink {
    const link = links.get(keyOf(server));
    if (link) return link;
    throw toolError("unavailable", `There is no MCP server "${server}"`, {
      next: `Use one of: ${Array.from(links.values(), ({ serverName }) => serverName).join(", ") || "none is configured"}.`,
    });
  }

  function connect(link: ServerLink): Promise<void> {
    const attempt: Promise<void> = link.connect().finally(() => connecting.delete(attempt));
    connecting.add(attempt);
    return attempt;
  }

  function add(config: McpServerConfig): void {
    const key = keyOf(config.name);
    if (links.has(key)) {
      throw toolError("conflict", `There is an MCP server "${links.get(key)!.serverName}" already`, {
        next: `Rename "${config.name}": its tools would be mistaken for those of the other.`,
      });
    }
    const link = createServerLink({
      config,
      registry,
      pins,
      clock,
      client: fetchFor && config.transport !== "stdio" ? { ...client, fetch: fetchFor(config) } : client,
      onChange: (status) => onChange?.(status),
      onResourceUpdated,
    });
    links.set(key, link);
    if (config.enabled !== false) void connect(link);
  }

  const hub: McpHub = {
    add,
    async remove(server) {
      const link = linkOf(server);
      links.delete(keyOf(server));
      link.tools.clear();
      await link.stop();
      link.tools.clear();
    },
    status: () => [...Array.from(links.values(), (link) => link.status()), ...refused],
    statusOf: (server) => linkOf(server).status(),
    async settled() {
      while (connecting.size > 0) await Promise.all(connecting);
    },
    async reconnect(server) {
      const link = linkOf(server);
      await link.stop();
      await connect(link);
      return link.status();
    },
    disconnect: (server) => linkOf(server).stop(),
    setToolEnabled: async (server, tool, isEnabled) => linkOf(server).tools.setEnabled(tool, isEnabled),
    async approveDefinition(server, tool, hash) {
      if (await linkOf(server).tools.approve(tool, hash)) return;
      throw toolError("tool_not_found", `MCP server "${server}" has no tool "${tool}"`);
    },
    async approveLaunch(server, hash) {
      const link = linkOf(server);
      await link.approveLaunch(hash);
      return link.status();
    },
    signIn: (server) => linkOf(server).signIn(),
    async finishSignIn(server, callback) {
      const link = linkOf(server);
      await link.finishSignIn(callback);
      return link.status();
    },
    async serverOfSignIn(callback) {
      const given = new URL(callback, "http://localhost").searchParams.get("state") ?? "";
      for (const { serverName } of links.values()) {
        const state = (await client.signIn?.tokens.get(serverName))?.state;
        if (state !== undefined && isEqualSecret(given, state)) return serverName;
      }
      return undefined;
    },
    listResources: async (server) => (await linkOf(server).ready()).listResources(),
    listResourceTemplates: async (server) => (await linkOf(server).ready()).listResourceTemplates(),
    readResource: async (server, uri, read) => (await linkOf(server).ready(read?.signal)).readResource(uri, read),
    watchResource: async (server, uri) => (await linkOf(server).ready()).watchResource(uri),
    listPrompts: async (server) => (await linkOf(server).ready()).listPrompts(),
    getPrompt: async (server, name, args) => (await linkOf(server).ready()).getPrompt(name, args),
    async close() {
      await Promise.all(Array.from(links.values(), (link) => link.stop()));
    },
  };
  for (const config of servers) {
    try {
      add(config);
    } catch (error) {
      // A mistake in a list takes no other server with it.
      refused.push(refusedStatus(config, error));
    }
  }
  return hub;
}

/** Names are found in any case: two that differ in it alone would be mistaken for each other. */
function keyOf(server: string): string {
  return serverKey(server).toLowerCase();
}

function refusedStatus({ name, transport, trust, origin }: McpServerConfig, error: unknown): McpServerStatus {
  return {
    name,
    state: "stopped",
    error: error instanceof Error ? error.message : String(error),
    transport,
    inferred: false,
    tools: [],
    stderr: [],
    faults: [],
    faultCount: 0,
    log: [],
    trusted: trust === true,
    origin,
  };
}

/** `new`: nobody has seen the definition yet. `changed`: it is no longer the one that was approved. */
export type ReviewState = "approved" | "new" | "changed";

/**
 * `unavailable`: it failed, and is tried again. `needs_sign_in` and `needs_approval`: it waits for a person. `stopped`: the
 * host disabled or disconnected it.
 */
export type McpServerState = "connecting" | "ready" | "unavailable" | "needs_sign_in" | "needs_approval" | "stopped";

export interface McpServerStatus {
  name: string;
  state: McpServerState;
  /** Why it is in a state that it should not be in. */
  error?: string;
  /** When it is tried again, Unix milliseconds. */
  nextTryAt?: number;
  transport: string;
  /** Whether the transport was concluded, by the configuration or because the server knew only an older one. */
  inferred: boolean;
  era?: "legacy" | "modern";
  protocolVersion?: string;
  server?: { name: string; version: string };
  instructions?: string;
  /** How long the last list of tools took to come. */
  latencyMs?: number;
  /** Of how it is started now, in this process: an approval that names it is for no other. */
  launchHash?: string;
  tools: McpToolStatus[];
  stderr: string[];
  /** What it did wrong and that harmed nobody, the last of it; and how often. */
  faults: string[];
  faultCount: number;
  log: string[];
  trusted: boolean;
  origin?: string;
  /** Where a person signs in; of a server that is ready: to let it do more. */
  signInPage?: string;
}

export interface McpToolStatus {
  name: string;
  /** Under which it is registered. */
  exposedName?: string;
  isAvailable: boolean;
  isEnabled: boolean;
  review?: ReviewState;
  /** Of the definition as it is now: an approval that names it is for no other. */
  hash?: string;
  /** Of one that changed: from what was approved to what it is now. */
  difference?: string;
  /** Why it is not taken. */
  refused?: string;
}
