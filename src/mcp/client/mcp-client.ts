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
  Tool as SdkTool,
  Transport,
} from "@modelcontextprotocol/client";
import { type Clock, systemClock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import { loadPackage } from "../../schema/load-package.ts";
import type { McpServerConfig } from "../server-config.ts";
import { explainFailure, signInFailed, unavailable } from "./connection-failures.ts";
import { connectGiven, type Connection, type ConnectionEvents, isStdio, openConnection } from "./connection.ts";
import { createSignIn, type SignIn, type SignInOptions } from "./oauth.ts";
import { elicit, type ServerAnswers } from "./server-requests.ts";
import { checkResourceUri } from "./server-resources.ts";
import { readHttpUrl } from "./transports.ts";

const RELISTEN_MS = 5000;

export interface ListeningOptions {
  clock: Clock;
  events: Partial<ConnectionEvents>;
  isCurrent(): boolean;
}

/** Streams of changes break. What changed meanwhile was not heard, so everything counts as changed. */
function maintainSubscription(
  client: Client,
  options: ListeningOptions,
  subscription: McpSubscription | undefined = client.autoOpenedSubscription,
): void {
  const { clock, events, isCurrent } = options;
  void subscription?.closed.then((how) => {
    if (how !== "remote" || !isCurrent()) return;
    const listenAgain = async (): Promise<void> => {
      if (!isCurrent()) return;
      try {
        const again = await client.listen(subscription.honoredFilter);
        for (const what of ["tools", "prompts", "resources"] as const) events.listChanged?.(what);
        maintainSubscription(client, options, again);
      } catch {
        events.fault?.("The server no longer tells of changes.");
      }
    };
    clock.after(RELISTEN_MS, () => void listenAgain()).setRef(false);
  });
}

interface Api {
  context: { active(): unknown };
  propagation: { inject(context: unknown, carrier: Record<string, string>): void };
}

/** Where a host that traces has put its providers. Looking there costs nothing where it has not. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const CARRIED = ["traceparent", "tracestate", "baggage"];

let api: Api | null | undefined;

/** The keys by which a server can join the trace of the call; undefined where nothing is traced. */
function traceContext(): Record<string, string> | undefined {
  if ((globalThis as Record<symbol, unknown>)[REGISTERED] === undefined) return undefined;
  if (api === undefined) {
    try {
      api = loadPackage<Api>("@opentelemetry/api", "tracing");
    } catch {
      api = null;
    }
  }
  if (!api) return undefined;
  const carrier: Record<string, string> = {};
  try {
    api.propagation.inject(api.context.active(), carrier);
  } catch {
    // A propagator that fails, fails alone.
    return undefined;
  }
  const kept = Object.entries(carrier).filter(([key]) => CARRIED.includes(key));
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** A tool as its server describes it. */
export type MCPTool = SdkTool;
export type MCPCallResult = CallToolResult;

export interface MCPClientOptions extends ServerAnswers {
  clientInfo?: { name: string; version: string };
  /** Where processes start; also what servers are told as their root. The working directory where absent. */
  workspace?: string;
  hostEnvironment?: Readonly<Record<string, string | undefined>>;
  /** How remote servers are reached; the platform's own where absent. */
  fetch?: FetchLike;
  signIn?: SignInOptions;
  /** `file:` resources are read below these only; the workspace where absent. */
  allowedPaths?: readonly string[];
  maxMessageBytes?: number;
  maxTools?: number;
  clock?: Clock;
  events?: Partial<ConnectionEvents>;
}

export interface MCPConnectOptions {
  signal?: AbortSignal;
  /** The server is known to speak no modern revision. */
  isLegacy?: boolean;
}

export interface MCPCallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  onProgress?: (progress: Progress) => void;
}

export interface MCPConnectionInfo {
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

/** One connection to one MCP server, of either era. What the server does wrong harms its own calls only. */
export class MCPClient {
  readonly #options: MCPClientOptions;
  readonly #clock: Clock;
  #config: McpServerConfig | undefined;
  #connection: Connection | undefined;
  #connecting: AbortController | undefined;
  #signIn: SignIn | undefined;
  #timeoutMs = DEFAULT_CALL_MS;
  /** Also of a connection that failed or ended: it has the last words of a process. */
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

  /** The page where a person signs in, after a connection, or a call that wanted more rights, failed for it. */
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

  /** Takes an address, a server of the configuration, or a transport of the SDK. */
  async connect(server: string | URL | McpServerConfig | Transport, options: MCPConnectOptions = {}): Promise<void> {
    if (this.#connection || this.#connecting) {
      throw toolError("conflict", "This client is connected already", { next: "Disconnect it first." });
    }
    const given = isTransport(server) ? server : undefined;
    const config = given ? undefined : toConfig(server as string | URL | McpServerConfig);
    this.#config = config ?? { name: "given", transport: "http", url: "" };
    this.#timeoutMs = config?.timeoutMs ?? DEFAULT_CALL_MS;
    const connecting = new AbortController();
    this.#connecting = connecting;
    const startMs = config?.startTimeoutMs ?? DEFAULT_START_MS;
    const timer = this.#clock.after(startMs, () => connecting.abort(tooSlow(this.serverName, startMs)));
    const abort = (): void => connecting.abort(options.signal?.reason);
    if (options.signal?.aborted) abort();
    options.signal?.addEventListener("abort", abort, { once: true });
    try {
      const all = this.#connectionOptions(connecting.signal, startMs, options.isLegacy ?? false);
      const opening = given ? connectGiven(this.serverName, given, all) : openConnection(this.#config, all);
      this.#connection = await abortable(opening, connecting.signal, ({ client }) => void client.close());
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

  /** All of them, sorted by name. */
  async listTools(): Promise<MCPTool[]> {
    const { maxTools = DEFAULT_TOOLS } = this.#options;
    if (!this.#offers("tools")) return [];
    const { tools } = await this.#ask((client) =>
      client.listTools(undefined, { cacheMode: "refresh", timeout: this.#timeoutMs }),
    );
    if (tools.length > maxTools) {
      throw toolError(
        "too_large",
        `MCP server "${this.serverName}" lists ${tools.length} tools; at most ${maxTools} are taken`,
        {
          next: "Choose fewer with its own settings.",
        },
      );
    }
    return tools.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The server's answer as it is; `isError` says that the tool itself failed. */
  async callTool(name: string, args: unknown = {}, options: MCPCallOptions = {}): Promise<MCPCallResult> {
    const client = this.#connection?.client;
    if (!client) throw unavailable(this.serverName, "it is not connected");
    const { signal, onProgress, timeoutMs = this.#timeoutMs } = options;
    const parameters: CallToolRequest["params"] = { name, arguments: args as Record<string, unknown> };
    const trace = traceContext();
    if (trace) parameters._meta = trace;
    const request: RequestOptions = { timeout: timeoutMs };
    if (signal) request.signal = signal;
    if (onProgress) request.onprogress = onProgress;
    try {
      return await client.callTool(parameters, request);
    } catch (error) {
      // The SDK says "timeout" of both.
      if (signal?.aborted) throw explainFailure(signal.reason, this.serverName);
      if (!(await this.#visited(error, signal))) throw explainFailure(error, this.serverName);
      return this.#ask(() => client.callTool(parameters, request));
    }
  }

  /** Its resources. */
  async listResources(): Promise<Resource[]> {
    if (!this.#offers("resources")) return [];
    return (await this.#ask((client) => client.listResources())).resources;
  }

  /** Its templates of resources. */
  async listResourceTemplates(): Promise<ResourceTemplateType[]> {
    if (!this.#offers("resources")) return [];
    return (await this.#ask((client) => client.listResourceTemplates())).resourceTemplates;
  }

  /** The addresses of files obey the same paths as every file tool, whoever would read them. */
  async readResource(uri: string, { signal }: { signal?: AbortSignal } = {}): Promise<ReadResourceResult> {
    checkResourceUri(uri, this.#options.allowedPaths ?? [this.#workspace]);
    return this.#ask((client) =>
      client.readResource({ uri }, { timeout: this.#timeoutMs, signal: signal || undefined }),
    );
  }

  /** From now on `events.resourceUpdated` tells of changes. */
  async watchResource(uri: string): Promise<void> {
    checkResourceUri(uri, this.#options.allowedPaths ?? [this.#workspace]);
    await this.#ask(async (client) => {
      if (client.getProtocolEra() === "modern") await client.listen({ resourceSubscriptions: [uri] });
      else await client.subscribeResource({ uri });
    });
  }

  /** Its prompts. */
  async listPrompts(): Promise<Prompt[]> {
    if (!this.#offers("prompts")) return [];
    return (await this.#ask((client) => client.listPrompts())).prompts;
  }

  /** A prompt with its arguments filled in. */
  getPrompt(name: string, args: Readonly<Record<string, string>> = {}): Promise<GetPromptResult> {
    return this.#ask((client) => client.getPrompt({ name, arguments: { ...args } }, { timeout: this.#timeoutMs }));
  }

  /** What a server on pipes wrote to its standard error, the last lines of it. */
  stderrLines(): string[] {
    return this.#transport && isStdio(this.#transport) ? this.#transport.stderrLines() : [];
  }

  /** How a server on pipes ended, where it has. */
  get ending(): string | undefined {
    return this.#transport && isStdio(this.#transport) ? this.#transport.ending : undefined;
  }

  /** Connects and shows the sign-in page where one is needed. Resolves to false where the person must go there first. */
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

  /** With the address that the browser came back to. `connect` works afterwards. */
  async finishSignIn(server: McpServerConfig, callback: string | URL): Promise<void> {
    const signIn = this.#signInOf(server);
    if (!signIn || server.transport === "stdio") {
      throw toolError("conflict", `MCP server "${server.name}" knows no sign-in`, { next: "Check its configuration." });
    }
    const parameters = await signIn.returned(callback);
    const { loadClientSdk } = await import("./connection.ts");
    const { openTransport } = await import("./transports.ts");
    const transport = await openTransport(await loadClientSdk(), server, "http", {
      ...this.#transportOptions(),
      signIn,
    });
    try {
      await (transport as { finishAuth?(parameters: URLSearchParams): Promise<void> }).finishAuth?.(parameters);
    } catch (error) {
      throw signInFailed(server.name, error);
    } finally {
      await transport.close();
    }
  }

  /** Ends the connection. */
  async disconnect(): Promise<void> {
    this.#connecting?.abort(toolError("cancelled", "The connection was given up"));
    const connection = this.#connection;
    this.#connection = undefined;
    if (!connection) return;
    const { client, transport } = connection;
    // A session of the old era is ended; a server that does not answer is not waited for.
    const ending = (transport as { terminateSession?(): Promise<void> }).terminateSession?.().catch(() => undefined);
    if (ending) await Promise.race([ending, new Promise<void>((resolve) => void this.#clock.after(1000, resolve))]);
    await client.close().catch(() => undefined);
  }

  get #workspace(): string {
    return this.#options.workspace ?? process.cwd();
  }

  /** Asked before the SDK is, which writes to the console of the host where a server has no such list. */
  #offers(what: "tools" | "resources" | "prompts"): boolean {
    const client = this.#connection?.client;
    return client === undefined || client.getServerCapabilities()?.[what] !== undefined;
  }

  async #ask<T>(request: (client: Client) => Promise<T>): Promise<T> {
    const { client } = this.#connection ?? {};
    if (!client) throw unavailable(this.serverName, "it is not connected");
    try {
      return await request(client);
    } catch (error) {
      throw explainFailure(error, this.serverName);
    }
  }

  /** A server of 2025 may answer that a page must be visited first. Whether the person has done so. */
  async #visited(error: unknown, signal = new AbortController().signal): Promise<boolean> {
    const { code, data } = error as { code?: unknown; data?: { elicitations?: { message: string; url: string }[] } };
    const answer = this.#options.answerElicitation;
    if (code !== -32_042 || !answer || !Array.isArray(data?.elicitations)) return false;
    for (const { message, url } of data.elicitations.slice(0, 5)) {
      const { action } = await elicit({ mode: "url", message, url }, this.serverName, answer, signal);
      if (action !== "accept") return false;
    }
    return true;
  }

  #signInOf(server: McpServerConfig): SignIn | undefined {
    if (!this.#options.signIn || !("url" in server) || server.transport === "ws" || server.url === "") return undefined;
    return (this.#signIn ??= createSignIn(
      server.name,
      readHttpUrl(server.url, "The server's address"),
      this.#options.signIn,
    ));
  }

  #transportOptions() {
    const { hostEnvironment = process.env, fetch, maxMessageBytes = DEFAULT_MESSAGE_BYTES } = this.#options;
    return { workspace: this.#workspace, hostEnvironment, maxMessageBytes, fetch: fetch || undefined };
  }

  #connectionOptions(signal: AbortSignal, timeoutMs: number, isLegacy: boolean) {
    const { clientInfo = { name: "haft", version: "0" }, events = {}, answerElicitation, sample } = this.#options;
    const signIn = this.#config && this.#signInOf(this.#config);
    return {
      ...this.#transportOptions(),
      ...(signIn ? { signIn } : {}),
      ...(answerElicitation ? { answerElicitation } : {}),
      ...(sample ? { sample } : {}),
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
        fault: (message: string) => events.fault?.(message),
        closed: () => {
          this.#connection = undefined;
          events.closed?.();
        },
      },
    };
  }
}

function isTransport(server: unknown): server is Transport {
  return typeof server === "object" && server !== null && "start" in server && "send" in server;
}

function toConfig(server: string | URL | McpServerConfig): McpServerConfig {
  if (typeof server !== "string" && !(server instanceof URL)) return server;
  const url = readHttpUrl(server, "The address of the MCP server");
  return { name: url.hostname, transport: "http", url: url.href, inferred: true };
}

function tooSlow(server: string, ms: number): Error {
  return toolError("timeout", `MCP server "${server}" was not ready after ${ms} ms`, {
    next: "Look at what it writes to its standard error, or give it more time.",
  });
}

/** Waits for work, or no longer than the signal lets it. What comes too late is handed to `onTooLate`, to be closed. */
export function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  onTooLate: (value: T) => void = () => undefined,
): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work
      .then((value) => (signal.aborted ? onTooLate(value) : resolve(value)), reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}
