import type {
  FetchLike,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from "@modelcontextprotocol/client";
import { type Clock, systemClock } from "../../core/clock.ts";
import { errorMessage, toolError } from "../../core/error.ts";
import type { ToolRegistry } from "../../core/registry.ts";
import type { McpServerConfig } from "../server-config.ts";
import type { MCPClientOptions } from "./mcp-client.ts";
import { isEqualSecret } from "./oauth.ts";
import type { ProtocolEntry } from "./protocol-log.ts";
import { ServerLink } from "./server-link.ts";
import type { LockedDefinition } from "./server-tools.ts";
import type { McpToolAnnotations } from "./tool-annotations.ts";
import { serverKey } from "../../core/tool-catalog.ts";
import { MemoryPinStore, type PinStore } from "./tool-pinning.ts";

export interface McpHubOptions extends Omit<MCPClientOptions, "events"> {
  /** The registry for the tools of the servers, with names such as `mcp__server__tool`. */
  registry: Pick<ToolRegistry, "register" | "unregister" | "get">;
  servers?: readonly McpServerConfig[];
  pins?: PinStore;
  /** What the lock file of the folder has, if nobody has approved a tool here. Another definition then needs approval. */
  locked?: LockedDefinition;
  /** A fetch per server. Overrides `fetch`. */
  fetchFor?(config: McpServerConfig): FetchLike;
  /** Called when the state or the tools of a server change. */
  onChange?(status: McpServerStatus): void;
  onResourceUpdated?(server: string, uri: string): void;
}

/** Connections to several servers. A server that fails or hangs does not affect or delay the others. */
export interface McpHub {
  /** Starts to connect and returns at once. Throws if another server has the same or a confusable name. */
  add(config: McpServerConfig): void;
  /** Disconnects the server and removes its tools from the registry. */
  remove(server: string): Promise<void>;
  /** Of every server. */
  status(): McpServerStatus[];
  /** Of one server. */
  statusOf(server: string): McpServerStatus;
  /** The definitions of the tools of a server, as canonical text. */
  definitions(server: string): string[];
  /** Resolves when all connection attempts are over. Never rejects. */
  settled(): Promise<void>;
  /** Connects again, now. */
  reconnect(server: string): Promise<McpServerStatus>;
  /** Its tools stay registered but unavailable. */
  disconnect(server: string): Promise<void>;
  /** Takes effect at once. It is stored if the pin store is persistent. */
  setToolEnabled(server: string, tool: string, isEnabled: boolean): Promise<void>;
  /** Approves the definition that a person has seen. Rejects if the current one has another `hash`. */
  approveDefinition(server: string, tool: string, hash?: string): Promise<void>;
  /** Approves the launch configuration that a person has seen. Rejects if the current one has another `hash`. */
  approveLaunch(server: string, hash?: string): Promise<McpServerStatus>;
  /** Shows the sign-in page through `signIn.onAuthorize`. Resolves to true if no sign-in was needed. */
  signIn(server: string): Promise<boolean>;
  /** Completes a sign-in with the address that the browser came back to. */
  finishSignIn(server: string, callback: string | URL): Promise<McpServerStatus>;
  /** The server of a sign-in by its callback address. The sign-in may have been started in another process. */
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
  /** The last messages between Haft and a server, oldest first, without secrets. */
  protocol(server: string, after?: number): ProtocolEntry[];
  /** Disconnects all servers, and resolves when their processes have ended. */
  close(): Promise<void>;
}

/** Connects to MCP servers and registers their tools. */
export function createMcpHub(options: McpHubOptions): McpHub {
  return new Hub(options);
}

class Hub implements McpHub {
  readonly #options: McpHubOptions;
  readonly #client: Omit<MCPClientOptions, "events" | "clock">;
  readonly #pins: PinStore;
  readonly #clock: Clock;
  readonly #links = new Map<string, ServerLink>();
  readonly #connecting = new Set<Promise<void>>();
  readonly #refused: McpServerStatus[] = [];

  constructor(options: McpHubOptions) {
    const { registry: _registry, servers: _servers, pins, locked: _locked, clock, ...rest } = options;
    const { fetchFor: _fetchFor, onChange: _onChange, onResourceUpdated: _onUpdated, ...client } = rest;
    this.#options = options;
    this.#client = client;
    this.#pins = pins ?? new MemoryPinStore();
    this.#clock = clock ?? systemClock;
    for (const config of options.servers ?? []) {
      try {
        this.add(config);
      } catch (error) {
        // One wrong entry must not affect the other servers.
        this.#refused.push(refusedStatus(config, error));
      }
    }
  }

  add(config: McpServerConfig): void {
    const key = keyOf(config.name);
    const existing = this.#links.get(key);
    if (existing) {
      throw toolError("conflict", `There is already an MCP server "${existing.serverName}"`, {
        next: `Rename "${config.name}": its tools would be confused with those of the other server.`,
      });
    }
    const { registry, locked, fetchFor, onChange, onResourceUpdated } = this.#options;
    const fetch = config.transport === "stdio" ? undefined : fetchFor?.(config);
    const link = new ServerLink({
      config,
      registry,
      pins: this.#pins,
      locked,
      clock: this.#clock,
      client: fetch ? { ...this.#client, fetch } : this.#client,
      onChange: (status) => onChange?.(status),
      onResourceUpdated,
    });
    this.#links.set(key, link);
    if (config.enabled !== false) void this.#connect(link);
  }

  async remove(server: string): Promise<void> {
    const link = this.#link(server);
    this.#links.delete(keyOf(server));
    link.tools.clear();
    await link.stop();
    // A list that arrived in the meantime may have registered tools again.
    link.tools.clear();
  }

  status(): McpServerStatus[] {
    return [...Array.from(this.#links.values(), (link) => link.status()), ...this.#refused];
  }

  statusOf(server: string): McpServerStatus {
    return this.#link(server).status();
  }

  definitions(server: string): string[] {
    return this.#link(server).tools.definitions();
  }

  async settled(): Promise<void> {
    while (this.#connecting.size > 0) await Promise.all(this.#connecting);
  }

  async reconnect(server: string): Promise<McpServerStatus> {
    const link = this.#link(server);
    await link.stop();
    await this.#connect(link);
    return link.status();
  }

  async disconnect(server: string): Promise<void> {
    await this.#link(server).stop();
  }

  async setToolEnabled(server: string, tool: string, isEnabled: boolean): Promise<void> {
    await this.#link(server).tools.setEnabled(tool, isEnabled);
  }

  async approveDefinition(server: string, tool: string, hash?: string): Promise<void> {
    if (await this.#link(server).tools.approve(tool, hash)) return;
    throw toolError("tool_not_found", `MCP server "${server}" has no tool "${tool}"`);
  }

  async approveLaunch(server: string, hash?: string): Promise<McpServerStatus> {
    const link = this.#link(server);
    await link.approveLaunch(hash);
    return link.status();
  }

  async signIn(server: string): Promise<boolean> {
    return this.#link(server).signIn();
  }

  async finishSignIn(server: string, callback: string | URL): Promise<McpServerStatus> {
    const link = this.#link(server);
    await link.finishSignIn(callback);
    return link.status();
  }

  async serverOfSignIn(callback: string | URL): Promise<string | undefined> {
    const returned = new URL(callback, "http://localhost").searchParams.get("state") ?? "";
    for (const { serverName } of this.#links.values()) {
      const state = (await this.#client.signIn?.tokens.get(serverName))?.state;
      if (state !== undefined && isEqualSecret(returned, state)) return serverName;
    }
    return undefined;
  }

  async listResources(server: string): Promise<Resource[]> {
    return (await this.#link(server).ready()).listResources();
  }

  async listResourceTemplates(server: string): Promise<ResourceTemplateType[]> {
    return (await this.#link(server).ready()).listResourceTemplates();
  }

  async readResource(server: string, uri: string, options: { signal?: AbortSignal } = {}): Promise<ReadResourceResult> {
    return (await this.#link(server).ready(options.signal)).readResource(uri, options);
  }

  async watchResource(server: string, uri: string): Promise<void> {
    await (await this.#link(server).ready()).watchResource(uri);
  }

  async listPrompts(server: string): Promise<Prompt[]> {
    return (await this.#link(server).ready()).listPrompts();
  }

  async getPrompt(server: string, name: string, args?: Readonly<Record<string, string>>): Promise<GetPromptResult> {
    return (await this.#link(server).ready()).getPrompt(name, args);
  }

  protocol(server: string, after?: number): ProtocolEntry[] {
    return this.#link(server).protocol(after);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#links.values(), (link) => link.stop()));
  }

  #link(server: string): ServerLink {
    const link = this.#links.get(keyOf(server));
    if (link) return link;
    const names = Array.from(this.#links.values(), ({ serverName }) => serverName).join(", ");
    throw toolError("unavailable", `There is no MCP server "${server}"`, {
      next: names === "" ? "No server is configured." : `Use one of: ${names}.`,
    });
  }

  #connect(link: ServerLink): Promise<void> {
    const attempt: Promise<void> = link.connect().finally(() => this.#connecting.delete(attempt));
    this.#connecting.add(attempt);
    return attempt;
  }
}

/** Names are case-insensitive, because two names that differ only in case would be confused. */
function keyOf(server: string): string {
  return serverKey(server).toLowerCase();
}

function refusedStatus({ name, transport, trust, origin }: McpServerConfig, error: unknown): McpServerStatus {
  return {
    name,
    state: "stopped",
    error: errorMessage(error),
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

/** `new`: the definition was not approved yet. `changed`: it differs from the approved one. */
export type ReviewState = "approved" | "new" | "changed";

/** `unavailable`: retried. `needs_sign_in`, `needs_approval`: a person must act. `stopped`: by the host. */
export type McpServerState = "connecting" | "ready" | "unavailable" | "needs_sign_in" | "needs_approval" | "stopped";

export interface McpServerStatus {
  name: string;
  state: McpServerState;
  /** The reason for the state if it is not `ready`; while it connects again, of the last failure. */
  error?: string;
  /** The time of the last failure, if it has not connected since. */
  failedAt?: number;
  /** The number of the current or next attempt to connect, if the last one failed. */
  attempt?: number;
  /** The time of the next attempt, in Unix milliseconds. */
  nextTryAt?: number;
  transport: string;
  /** Whether the transport was inferred, from the configuration or because the server supports only an older one. */
  inferred: boolean;
  era?: "legacy" | "modern";
  protocolVersion?: string;
  server?: { name: string; version: string };
  instructions?: string;
  /** How long the last list of tools took. */
  latencyMs?: number;
  /** The hash of the launch configuration, valid in this process. Pass it to `approveLaunch`. */
  launchHash?: string;
  /** The command line or the address, the names of its variables, and what it may do. */
  launch?: string;
  tools: McpToolStatus[];
  stderr: string[];
  /** The last harmless protocol violations of the server, and their total number. */
  faults: string[];
  faultCount: number;
  log: string[];
  trusted: boolean;
  origin?: string;
  /** The sign-in page. For a server that is ready: to grant more rights. */
  signInPage?: string;
}

export interface McpToolStatus {
  name: string;
  /** For people. */
  title?: string;
  description?: string;
  annotations?: McpToolAnnotations;
  /** The name in the registry. */
  exposedName?: string;
  isAvailable: boolean;
  isEnabled: boolean;
  review?: ReviewState;
  /** The hash of the current definition. Pass it to `approveDefinition`. */
  hash?: string;
  /** The difference between the approved and the current definition, if it changed. */
  difference?: string;
  /** Compared with the lock file of the folder, if that names the server. */
  lock?: "same" | "differs" | "missing";
  /** Why the tool cannot be used. */
  refused?: string;
}
