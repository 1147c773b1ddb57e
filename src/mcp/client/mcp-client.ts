import type {
  CallToolRequest,
  CallToolResult,
  Client,
  FetchLike,
  GetPromptResult,
  McpSubscription,
  Progress,
  Prompt,
  ReadResourceResult,
  RequestOptions,
  Resource,
  ResourceTemplateType,
  StreamableHTTPClientTransport as HttpTransport,
  Tool as SdkTool,
  Transport,
} from "@modelcontextprotocol/client";
import { type Clock, systemClock, untilAborted } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import { traceHeaders } from "../../core/telemetry/open-telemetry.ts";
import type { ProgramSandbox } from "../../io/sandbox/program-sandbox.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { McpServerConfig } from "../server-config.ts";
import { explainFailure, signInFailed, unavailable } from "./connection-failures.ts";
import {
  connectGiven,
  type Connection,
  type ConnectionEvents,
  type ConnectionOptions,
  isStdio,
  loadClientSdk,
  openConnection,
} from "./connection.ts";
import { SignIn, type SignInOptions } from "./oauth.ts";
import { elicit, type ServerAnswers } from "./server-requests.ts";
import { checkResourceUri } from "./server-resources.ts";
import { openTransport, readHttpUrl, type TransportOptions } from "./transports.ts";

/** A tool definition from a server. */
export type MCPTool = SdkTool;
export type MCPCallResult = CallToolResult;

export interface MCPClientOptions extends Omit<ServerAnswers, "root"> {
  clientInfo?: { name: string; version: string };
  /** The folder for processes, and the root that servers are given. Default: the working directory, and no root. */
  workspace?: string;
  hostEnvironment?: Readonly<Record<string, string | undefined>>;
  /** What confines processes. False: nothing. Default: they are confined if this machine can do it. */
  sandbox?: false | ProgramSandbox;
  /** Default: the fetch of the SDK. */
  fetch?: FetchLike;
  signIn?: SignInOptions;
  /** `file:` resources are read only in these folders. Default: the workspace. */
  allowedPaths?: readonly string[];
  maxMessageBytes?: number;
  maxTools?: number;
  clock?: Clock;
  events?: Partial<ConnectionEvents>;
}

interface MCPConnectOptions {
  signal?: AbortSignal;
  /** The server supports no modern revision of the protocol. */
  isLegacy?: boolean;
}

export interface MCPCallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  onProgress?: (progress: Progress) => void;
  /** The tool of a server of the revision 2025-11-25 runs only as a task. */
  asTask?: boolean;
}

interface MCPConnectionInfo {
  era: "legacy" | "modern";
  protocolVersion: string;
  transport: Connection["kind"];
  server?: { name: string; version: string };
  instructions?: string;
}

const DEFAULT_MESSAGE_BYTES = 16 * 1024 * 1024;
const DEFAULT_TOOLS = 1000;
const DEFAULT_START_MS = 30_000;
const DEFAULT_CALL_MS = 60_000;
const TERMINATE_MS = 1000;

/** A connection to one MCP server, of either era. Faults of the server affect only its own calls. */
export class MCPClient {
  readonly #options: MCPClientOptions;
  readonly #clock: Clock;
  #config: McpServerConfig | undefined;
  #connection: Connection | undefined;
  #connecting: AbortController | undefined;
  #signIn: SignIn | undefined;
  #timeoutMs = DEFAULT_CALL_MS;
  /** Kept after a connection has failed or ended, for the output of the process. */
  #transport: Transport | undefined;

  constructor(options: MCPClientOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** The name under which its tools are registered. */
  get serverName(): string {
    return this.#config?.name ?? "unnamed";
  }

  /** Whether its annotations are believed. */
  get trusted(): boolean {
    return this.#config?.trust === true;
  }

  /** The sign-in page, after a connection or a call failed because a sign-in is required. */
  get signInPage(): URL | undefined {
    return this.#signIn?.page;
  }

  /** What the server says of itself. */
  get info(): MCPConnectionInfo | undefined {
    const { client, kind } = this.#connection ?? {};
    const era = client?.getProtocolEra();
    if (!client || !kind || !era) return undefined;
    const server = client.getServerVersion();
    const instructions = client.getInstructions();
    return {
      era,
      protocolVersion: client.getNegotiatedProtocolVersion() ?? "",
      transport: kind,
      server: server ? { name: server.name, version: server.version } : undefined,
      instructions,
    };
  }

  /** Connects to an address, a configured server, or a transport of the SDK. */
  async connect(server: string | URL | McpServerConfig | Transport, options: MCPConnectOptions = {}): Promise<void> {
    if (this.#connection || this.#connecting) {
      throw toolError("conflict", "This client is already connected", { next: "Disconnect it first." });
    }
    const given = isTransport(server) ? server : undefined;
    const config: McpServerConfig = isTransport(server)
      ? { name: "given", transport: "http", url: "" }
      : toConfig(server);
    this.#config = config;
    this.#timeoutMs = config.timeoutMs ?? DEFAULT_CALL_MS;
    const connecting = new AbortController();
    this.#connecting = connecting;
    const startMs = config.startTimeoutMs ?? DEFAULT_START_MS;
    const timer = this.#clock.after(startMs, () => connecting.abort(tooSlow(config, startMs)));
    const abort = (): void => connecting.abort(options.signal?.reason);
    if (options.signal?.aborted) abort();
    options.signal?.addEventListener("abort", abort, { once: true });
    try {
      const all = this.#connectionOptions(connecting.signal, startMs, options.isLegacy ?? false);
      const opening = given ? connectGiven(this.serverName, given, all) : openConnection(config, all);
      this.#connection = await untilAborted(opening, connecting.signal, ({ client }) => void client.close());
      const { client } = this.#connection;
      maintainSubscription(client, {
        clock: this.#clock,
        events: this.#options.events ?? {},
        isCurrent: () => this.#connection?.client === client,
      });
    } catch (error) {
      throw explainFailure(error, this.serverName);
    } finally {
      timer.cancel();
      options.signal?.removeEventListener("abort", abort);
      this.#connecting = undefined;
    }
  }

  /** All tools, sorted by name. */
  async listTools(): Promise<MCPTool[]> {
    const { maxTools = DEFAULT_TOOLS } = this.#options;
    if (!this.#offers("tools")) return [];
    const { tools } = await this.#request((client) =>
      client.listTools(undefined, { cacheMode: "refresh", timeout: this.#timeoutMs }),
    );
    if (tools.length > maxTools) {
      const message = `MCP server "${this.serverName}" lists ${tools.length} tools; at most ${maxTools} are accepted`;
      throw toolError("too_large", message, { next: "Select fewer tools in the settings of the server." });
    }
    return tools.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Returns the result of the server unchanged. `isError` is set if the tool itself failed. */
  async callTool(name: string, args: unknown = {}, options: MCPCallOptions = {}): Promise<MCPCallResult> {
    const client = this.#connection?.client;
    if (!client) throw unavailable(this.serverName, "it is not connected", { nothingDone: true });
    const { signal, onProgress, timeoutMs = this.#timeoutMs } = options;
    const parameters: CallToolRequest["params"] = { name, arguments: args as Record<string, unknown> };
    const trace = traceContext();
    if (trace) parameters._meta = trace;
    if (options.asTask) Object.assign(parameters, { task: {} });
    const request: RequestOptions = { timeout: timeoutMs, signal, onprogress: onProgress };
    try {
      return await client.callTool(parameters, request);
    } catch (error) {
      // The SDK reports an abort as a timeout.
      if (signal?.aborted) throw explainFailure(signal.reason, this.serverName);
      if (!(await this.#visitPages(error, signal))) throw explainFailure(error, this.serverName);
      return this.#request(() => client.callTool(parameters, request));
    }
  }

  /** Its resources. */
  async listResources(): Promise<Resource[]> {
    if (!this.#offers("resources")) return [];
    return (await this.#request((client) => client.listResources())).resources;
  }

  /** Its templates of resources. */
  async listResourceTemplates(): Promise<ResourceTemplateType[]> {
    if (!this.#offers("resources")) return [];
    return (await this.#request((client) => client.listResourceTemplates())).resourceTemplates;
  }

  /** `file:` addresses are restricted to the allowed paths, like every file tool. */
  async readResource(uri: string, { signal }: { signal?: AbortSignal } = {}): Promise<ReadResourceResult> {
    checkResourceUri(uri, this.#options.allowedPaths ?? [this.#workspace]);
    return this.#request((client) => client.readResource({ uri }, { timeout: this.#timeoutMs, signal }));
  }

  /** Changes are reported through `events.resourceUpdated`. */
  async watchResource(uri: string): Promise<void> {
    checkResourceUri(uri, this.#options.allowedPaths ?? [this.#workspace]);
    await this.#request(async (client) => {
      if (client.getProtocolEra() === "modern") await client.listen({ resourceSubscriptions: [uri] });
      else await client.subscribeResource({ uri });
    });
  }

  /** Its prompts. */
  async listPrompts(): Promise<Prompt[]> {
    if (!this.#offers("prompts")) return [];
    return (await this.#request((client) => client.listPrompts())).prompts;
  }

  /** A prompt with its arguments filled in. */
  getPrompt(name: string, args: Readonly<Record<string, string>> = {}): Promise<GetPromptResult> {
    return this.#request((client) => client.getPrompt({ name, arguments: { ...args } }, { timeout: this.#timeoutMs }));
  }

  /** The last lines that a stdio server wrote to its standard error. */
  stderrLines(): string[] {
    return this.#transport && isStdio(this.#transport) ? this.#transport.stderrLines() : [];
  }

  /** If a text shows that the sandbox refused something to a stdio server: what, and how to allow it. */
  explainRefusal(text: string): string | undefined {
    return this.#transport && isStdio(this.#transport) ? this.#transport.explainRefusal(text) : undefined;
  }

  /** How a stdio server ended, if it has. */
  get ending(): string | undefined {
    return this.#transport && isStdio(this.#transport) ? this.#transport.ending : undefined;
  }

  /** Connects, and shows the sign-in page if one is needed. Resolves to false if the person must sign in first. */
  async signIn(server: McpServerConfig): Promise<boolean> {
    this.#config = server;
    const signIn = this.#signInOf(server);
    if (this.#connection && signIn?.page) {
      await signIn.show();
      return false;
    }
    signIn?.begin();
    try {
      await this.connect(server);
      return true;
    } catch (error) {
      if (this.#signIn?.page) return false;
      throw error;
    }
  }

  /** Completes the sign-in with the callback address of the browser. Call `connect` after that. */
  async finishSignIn(server: McpServerConfig, callback: string | URL): Promise<void> {
    const signIn = this.#signInOf(server);
    if (!signIn || server.transport === "stdio") {
      throw toolError("conflict", `MCP server "${server.name}" has no sign-in`, { next: "Check its configuration." });
    }
    const parameters = await signIn.returned(callback);
    const transport = await openTransport(await loadClientSdk(), server, "http", {
      ...this.#transportOptions(),
      signIn,
    });
    try {
      if (hasFinishAuth(transport)) await transport.finishAuth(parameters);
    } catch (error) {
      throw signInFailed(server.name, error);
    } finally {
      await transport.close();
    }
  }

  /** Ends the connection. */
  async disconnect(): Promise<void> {
    this.#connecting?.abort(toolError("cancelled", "The connection was cancelled"));
    const connection = this.#connection;
    this.#connection = undefined;
    if (!connection) return;
    const { client, transport } = connection;
    // Ends the session of a legacy server, but does not wait long for its answer.
    if (hasTerminateSession(transport)) {
      const timeout = new Promise<void>((resolve) => void this.#clock.after(TERMINATE_MS, resolve));
      await Promise.race([transport.terminateSession().catch(() => undefined), timeout]);
    }
    await client.close().catch(() => undefined);
  }

  get #workspace(): string {
    return this.#options.workspace ?? process.cwd();
  }

  /** Checked first, because the SDK writes to the console if the server lacks the capability. */
  #offers(what: "tools" | "resources" | "prompts"): boolean {
    const client = this.#connection?.client;
    return client === undefined || client.getServerCapabilities()?.[what] !== undefined;
  }

  async #request<T>(request: (client: Client) => Promise<T>): Promise<T> {
    const { client } = this.#connection ?? {};
    if (!client) throw unavailable(this.serverName, "it is not connected");
    try {
      return await request(client);
    } catch (error) {
      throw explainFailure(error, this.serverName);
    }
  }

  /** A legacy server may require that the person visits a page first. Returns whether the person has done so. */
  async #visitPages(error: unknown, signal = new AbortController().signal): Promise<boolean> {
    const { code, data } = isObject(error) ? error : {};
    const answer = this.#options.answerElicitation;
    const elicitations = isObject(data) ? data["elicitations"] : undefined;
    if (code !== VISIT_REQUIRED || !answer || !Array.isArray(elicitations)) return false;
    for (const { message, url } of elicitations.slice(0, 5)) {
      const parameters = { mode: "url", message: String(message), url: String(url) };
      const { action } = await elicit(parameters, this.serverName, answer, signal);
      if (action !== "accept") return false;
    }
    return true;
  }

  #signInOf(server: McpServerConfig): SignIn | undefined {
    if (!this.#options.signIn || !("url" in server) || server.transport === "ws" || server.url === "") return undefined;
    const url = readHttpUrl(server.url, "The server's address");
    return (this.#signIn ??= new SignIn(server.name, url, this.#options.signIn));
  }

  #transportOptions(): Omit<TransportOptions, "signIn"> {
    const { hostEnvironment = process.env, fetch, maxMessageBytes = DEFAULT_MESSAGE_BYTES } = this.#options;
    return { workspace: this.#workspace, hostEnvironment, programs: () => this.#programs(), maxMessageBytes, fetch };
  }

  async #programs(): Promise<ProgramSandbox> {
    const { sandbox } = this.#options;
    if (sandbox) return sandbox;
    const { programSandboxOf, withoutSandbox } = await import("../../io/sandbox/program-sandbox.ts");
    return sandbox === false ? withoutSandbox(this.#workspace) : programSandboxOf(this.#workspace);
  }

  #connectionOptions(signal: AbortSignal, timeoutMs: number, isLegacy: boolean): ConnectionOptions {
    const { clientInfo = { name: "haft", version: "0" }, events = {}, answerElicitation, sample } = this.#options;
    return {
      ...this.#transportOptions(),
      signIn: this.#config && this.#signInOf(this.#config),
      answerElicitation,
      sample,
      root: this.#options.workspace,
      clock: this.#clock,
      clientInfo,
      timeoutMs,
      isLegacy,
      signal,
      events: {
        opening: (transport: Transport) => {
          this.#transport = transport;
          events.opening?.(transport);
        },
        listChanged: (what: "tools" | "prompts" | "resources") => events.listChanged?.(what),
        resourceUpdated: (uri: string) => events.resourceUpdated?.(uri),
        log: (level: string, data: unknown) => events.log?.(level, data),
        message: (direction, message) => events.message?.(direction, message),
        fault: (message: string) => events.fault?.(message),
        closed: () => {
          this.#connection = undefined;
          events.closed?.();
        },
      },
    };
  }
}

/** The error code with which a legacy server requires a visit to a page. */
const VISIT_REQUIRED = -32_042;

function isTransport(server: unknown): server is Transport {
  return typeof server === "object" && server !== null && "start" in server && "send" in server;
}

function hasFinishAuth(transport: Transport): transport is Transport & Pick<HttpTransport, "finishAuth"> {
  return "finishAuth" in transport;
}

function hasTerminateSession(transport: Transport): transport is Transport & Pick<HttpTransport, "terminateSession"> {
  return "terminateSession" in transport;
}

function toConfig(server: string | URL | McpServerConfig): McpServerConfig {
  if (typeof server !== "string" && !(server instanceof URL)) return server;
  const url = readHttpUrl(server, "The address of the MCP server");
  return { name: nameOf(url), transport: "http", url: url.href, inferred: true };
}

/** Differs between servers of one machine: their tools are registered under it. */
function nameOf({ host, pathname }: URL): string {
  return host + pathname.replace(/\/(?:mcp\/?)?$/, "");
}

function tooSlow(config: McpServerConfig, ms: number): Error {
  const isLimited = config.transport === "stdio" && config.network !== undefined && config.network !== "all";
  const advice = "Look at its standard error, or raise startTimeoutMs.";
  return toolError("timeout", `MCP server "${config.name}" was not ready after ${ms} ms`, {
    next: isLimited
      ? `Its network is limited, but npx and uvx need network access to install packages. ${advice}`
      : advice,
  });
}

const RESUBSCRIBE_MS = 5000;

interface SubscriptionOptions {
  clock: Clock;
  events: Partial<ConnectionEvents>;
  isCurrent(): boolean;
}

/** Subscribes again when the stream of changes ends. Changes may have been missed, so everything is reported as changed. */
function maintainSubscription(
  client: Client,
  options: SubscriptionOptions,
  subscription: McpSubscription | undefined = client.autoOpenedSubscription,
): void {
  const { clock, events, isCurrent } = options;
  void subscription?.closed.then((reason) => {
    if (reason !== "remote" || !isCurrent()) return;
    const resubscribe = async (): Promise<void> => {
      if (!isCurrent()) return;
      try {
        const again = await client.listen(subscription.honoredFilter);
        for (const what of ["tools", "prompts", "resources"] as const) events.listChanged?.(what);
        maintainSubscription(client, options, again);
      } catch {
        events.fault?.("The server no longer reports changes.");
      }
    };
    clock.after(RESUBSCRIBE_MS, () => void resubscribe()).setRef(false);
  });
}

const TRACE_KEYS = ["traceparent", "tracestate"];

/** The trace context for a server; undefined if tracing is off. Not the baggage: it holds values of the host program. */
function traceContext(): Record<string, string> | undefined {
  const entries = Object.entries(traceHeaders()).filter(([key]) => TRACE_KEYS.includes(key));
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
