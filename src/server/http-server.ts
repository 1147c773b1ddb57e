import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, Server as NetServer } from "node:net";
import { checkKeys, keysOf } from "../core/options.ts";
import { type ApiHost, HostApi, type HostApiOptions } from "../api/host-api.ts";
import type { FeedOptions } from "../api/handlers/event-feed.ts";
import { HttpResponse, type ResponseOptions } from "../api/http-response.ts";
import { OpenStreams, type StreamLimits } from "../api/open-streams.ts";
import { Router } from "../api/router.ts";
import { ApiError } from "../contracts/errors.ts";
import { type Identity, requireScope, type Scope } from "../contracts/identity.ts";
import { contracts } from "../contracts/index.ts";
import { CloseStack } from "../core/close-stack.ts";
import { toolError } from "../core/error.ts";
import { ClientTools } from "../models/client-tools.ts";
import type { Haft } from "../runtime.ts";
import { continueCall, runtimeGateOf } from "../core/gate.ts";
import { issueToken, MemoryTokenStore, type NewTokenOptions, SCOPES, type TokenStore } from "../store/tokens.ts";
import { Authenticator } from "./authentication.ts";
import { ConnectionLimit } from "./connection-limit.ts";
import { LoadControl, type LoadLimits, overloaded } from "./load-control.ts";
import { logLine, RequestLog } from "./log.ts";
import { checkOrigin, createOriginPolicy, isFromConsole, isLoopback, type OriginPolicy } from "./origin-policy.ts";
import { answerPreflight, apiHeaders } from "./security-headers.ts";
import { attachSockets } from "./sockets.ts";
import { createFileServer } from "./static-files.ts";

/** How a server listens, and what it serves. */
export interface HttpServerOptions {
  /** Default: 127.0.0.1. */
  host?: string;
  /** Default: 4117. 0: any free port. */
  port?: number;
  /** PEM texts. */
  tls?: { cert: string; key: string };
  /** Where tokens are stored, as hashes. Default: in memory. */
  tokens?: TokenStore;
  /** Other host names of the server, with the port: `haft.example:443`. */
  allowedHosts?: readonly string[];
  /** Pages of other origins that may use the API, with their own token. */
  allowedOrigins?: readonly string[];
  /** The folder of the built console. Default: no console. */
  console?: string;
  /** Handlers of resources, added to those of the target or used instead of them. */
  api?: HostApiOptions["handlers"];
  /** For `ServerInfo`. */
  info?: HostApiOptions["info"];
  /** Other protocols, each at its path: MCP at `/mcp`. */
  endpoints?: Readonly<Record<string, ProtocolEndpoint>>;
  /** Of streams, events and failed logins. */
  limits?: ServerLimits;
  /** Gets one escaped line for everything that was refused or failed. */
  log?: (line: string) => void;
  /** Gets what a person must not miss. `ServerInfo.warnings` has it too. */
  onWarning?: (warning: string) => void;
}

const OPTION_KEYS = keysOf<HttpServerOptions>({
  host: true,
  port: true,
  tls: true,
  tokens: true,
  allowedHosts: true,
  allowedOrigins: true,
  console: true,
  api: true,
  info: true,
  endpoints: true,
  limits: true,
  log: true,
  onWarning: true,
});

/** Another protocol at one path of the server. Token, host and origin were checked before. */
export interface ProtocolEndpoint {
  handle(incoming: IncomingMessage, outgoing: ServerResponse, identity: Identity): Promise<void>;
  close(): Promise<void>;
}

export interface ServerLimits extends StreamLimits, LoadLimits {
  /** Of a body and of a message of the WebSocket. Default: 4 MiB. */
  bodyBytes?: number;
  /** The max time for the headers of a request. Default: 10,000. */
  headersMs?: number;
  /** The max time for a whole request. Default: 60,000. */
  requestMs?: number;
  /** Default: 5000, or fewer if this process may not open as many files. Requests on further ones get 503. */
  connections?: number;
  events?: FeedOptions;
  /** Wrong tokens of one address: how many at once, and how long until one of them is forgotten. */
  failures?: { burst?: number; refillMs?: number };
}

/** A server that is listening. */
export interface HttpServer {
  /** `http://127.0.0.1:4117`. */
  readonly url: string;
  /** The port that it listens on. */
  readonly port: number;
  /** What a person should know about how it is reached. */
  readonly warnings: readonly string[];
  /** What its handlers use. */
  readonly api: HostApi;
  /** The number of connected event streams and WebSockets. */
  readonly openStreams: number;
  /** Creates a token. This is the only time that the token itself is returned. */
  issueToken(options: NewTokenOptions): Promise<string>;
  /** A new address that logs a browser in, once, within ten minutes. Default scopes: all. */
  loginUrl(options?: { name?: string; scopes?: readonly Scope[] }): Promise<string>;
  /**
   * Accepts no more requests, waits `graceMs` for the answers to calls that have begun (default: 10,000), then ends streams and
   * connections. Calls that have not begun are answered at once. Idle connections stay open for `idleMs` (default: 0): clients
   * that send a request on them get an answer. The runtime stays open.
   */
  close(options?: { graceMs?: number; idleMs?: number }): Promise<void>;
}

export const DEFAULT_PORT = 4117;
const HEALTH_PATH = contracts.server.health.path;
/** Of RFC 9728. */
const RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource";
/** For the results of running calls when the server closes. */
export const DRAIN_MS = 10_000;
/** For responses that are being sent after that. */
const CLOSE_MS = 500;
const POLL_MS = 20;

/** Serves a runtime or a host over HTTP and WebSocket. Rejects with the next step if it cannot listen safely. */
export async function serveHttp(target: Haft | ApiHost, options: HttpServerOptions = {}): Promise<HttpServer> {
  checkKeys("serveHttp", options, OPTION_KEYS);
  const server = new ApiServer(target, options);
  await server.listen();
  return server;
}

class ApiServer implements HttpServer {
  readonly api: HostApi;
  readonly #options: HttpServerOptions;
  readonly #haft: Haft;
  readonly #tokens: TokenStore;
  readonly #authenticator: Authenticator;
  readonly #streams: OpenStreams;
  readonly #load: LoadControl;
  readonly #log: RequestLog | undefined;
  readonly #clients: ClientTools;
  readonly #server: Server;
  readonly #connections: ConnectionLimit;
  readonly #closing = new CloseStack();
  /** Both are known when the server listens. */
  #originPolicy: OriginPolicy = { hosts: new Set(), ownOrigins: new Set(), otherOrigins: new Set() };
  #port = 0;
  /** Requests that may change something and are not answered yet. */
  readonly #awaited = new Set<ServerResponse>();
  #isClosing = false;
  #closed: Promise<void> | undefined;

  constructor(target: Haft | ApiHost, options: HttpServerOptions) {
    const { limits = {} } = options;
    const host: ApiHost = "haft" in target ? target : { haft: target };
    const { haft } = host;
    const { clock } = haft.settings;
    const tokens = options.tokens ?? new MemoryTokenStore();
    const api = new HostApi(host, {
      handlers: { session: () => this.#loadSession(), ...options.api },
      tokens,
      info: options.info,
      events: limits.events,
      isOverloaded: () => this.#load.isOverloaded,
    });
    this.#options = options;
    this.#haft = haft;
    this.#tokens = tokens;
    this.api = api;
    this.#authenticator = new Authenticator({
      tokens,
      clock,
      failures: limits.failures,
      cookieName: () => this.#cookieName(),
    });
    this.#streams = new OpenStreams(clock, limits, () => api.feed.beat(clock.now()));
    this.#load = new LoadControl(limits);
    this.#log = options.log && new RequestLog(options.log);
    this.#clients = new ClientTools({
      registry: haft.tools.registry,
      onPending: (listener) => haft.on("tool_call_pending", ({ result }) => listener(result)),
      clock,
      continueCall: (call, id) => continueCall(runtimeGateOf(haft), haft.tools.registry, call, { kind: "client", id }),
      newId: () => `ask_${randomUUID()}`,
    });
    this.#server = this.#createServer();
    this.#connections = new ConnectionLimit(this.#server, {
      connections: limits.connections,
      onDrop: () => options.log?.(logLine("refused", { status: 503, reason: "too many connections" })),
    });
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      options.log?.(logLine("refused", { status: 400, reason: error.code ?? error.message }));
      if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
      else socket.destroy();
    });
    attachSockets(this.#server, {
      api,
      clients: this.#clients,
      streams: this.#streams,
      authenticator: this.#authenticator,
      maxBodyBytes: this.#maxBodyBytes,
      originPolicy: () => this.#originPolicy,
      onError: this.#onError,
    });
    this.#closing.push("connections", () => this.#closeConnections());
    this.#closing.push("client tools", () => this.#clients.close());
    for (const [path, endpoint] of Object.entries(options.endpoints ?? {})) {
      this.#closing.push(path, () => endpoint.close());
    }
  }

  get url(): string {
    const { host = "127.0.0.1", tls } = this.#options;
    const name = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
    return `${tls ? "https" : "http"}://${name}:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get warnings(): readonly string[] {
    return this.api.warnings;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  async listen(): Promise<void> {
    const { host = "127.0.0.1", port = DEFAULT_PORT, tls } = this.#options;
    try {
      await this.#checkExposure(host);
      const backlog = this.#connections.apply();
      this.#port = await listen(this.#server, { host, port, backlog });
    } catch (error) {
      await this.#closing.close().catch(() => undefined);
      throw error;
    }
    const secure = tls !== undefined;
    this.#originPolicy = createOriginPolicy({ ...this.#options, host, port: this.#port, secure });
  }

  async issueToken(options: NewTokenOptions): Promise<string> {
    return (await issueToken(this.#tokens, this.#haft.settings.clock, options)).token;
  }

  async loginUrl({ name = "owner", scopes = SCOPES }: { name?: string; scopes?: readonly Scope[] } = {}) {
    const { createLoginLink } = await import("../api/handlers/session.ts");
    const { clock } = this.#haft.settings;
    return (await createLoginLink({ tokens: this.#tokens, clock, url: this.url }, { name, scopes })).url;
  }

  close({ graceMs = DRAIN_MS, idleMs = 0 }: { graceMs?: number; idleMs?: number } = {}): Promise<void> {
    return (this.#closed ??= this.#drain(graceMs, idleMs).then(() => this.#closing.close()));
  }

  /** Resolves when the running calls are answered. */
  async #drain(graceMs: number, idleMs: number): Promise<void> {
    const started = performance.now();
    this.#isClosing = true;
    // The `close` of an HTTP server also closes idle connections, where a request may be on its way.
    NetServer.prototype.close.call(this.#server);
    if (idleMs === 0) this.#server.closeIdleConnections();
    this.#load.close();
    // If the record cannot be read, all of them may have begun.
    await this.api.endWaitingCalls().catch(() => undefined);
    for (const outgoing of this.#awaited) outgoing.shouldKeepAlive = false;
    for (;;) {
      const isBusy = this.#streams.closeUnawaited() > 0 || this.#awaited.size > 0;
      const passed = performance.now() - started;
      if (passed >= idleMs && (!isBusy || passed >= graceMs)) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #closeConnections(): Promise<void> {
    return new Promise((resolve) => {
      // Calls back with an error if it is closed already, but only when all connections have ended.
      this.#server.close(() => resolve());
      this.api.close();
      this.#streams.close();
      this.#server.closeIdleConnections();
      setTimeout(() => this.#server.closeAllConnections(), CLOSE_MS).unref();
    });
  }

  get #maxBodyBytes(): number {
    return this.#options.limits?.bodyBytes ?? 4 * 1024 * 1024;
  }

  async #loadSession() {
    const { createSessionApi } = await import("../api/handlers/session.ts");
    return createSessionApi({
      tokens: this.#tokens,
      clock: this.#haft.settings.clock,
      cookieName: () => this.#cookieName(),
      isSecure: this.#options.tls !== undefined,
      wrongToken: this.#authenticator.wrongToken,
      url: () => this.url,
      record: this.api.record,
    });
  }

  #cookieName(): string {
    return `haft_${this.#port}`;
  }

  readonly #onError = (incoming: IncomingMessage, status: number, reason: unknown): void => {
    this.#log?.note(incoming, status, reason);
  };

  #createServer(): Server {
    const { tls, limits: { headersMs = 10_000, requestMs = 60_000 } = {} } = this.#options;
    const respond: ResponseOptions = {
      streams: this.#streams,
      headers: (incoming) => apiHeaders(incoming, this.#originPolicy),
      isCurrent: (identity) => this.#authenticator.isCurrent(identity),
      onError: this.#onError,
    };
    const router = new Router(contracts, {
      ...respond,
      handlersOf: this.api.handlersOf,
      authenticate: ({ headers, socket: { remoteAddress } }) =>
        this.#authenticator.authenticate({ headers, remoteAddress }),
      admit: (identity, incoming) => this.#load.enter(identity.id || `address ${incoming.socket.remoteAddress ?? ""}`),
      isFromConsole: ({ headers }) => isFromConsole(headers, this.#originPolicy),
      maxBodyBytes: this.#maxBodyBytes,
    });
    const page = this.#options.console === undefined ? undefined : createFileServer(this.#options.console);
    const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
      const path = pathOf(incoming);
      try {
        checkOrigin(incoming, this.#originPolicy, { isPage: !isApi(path) });
        this.#await(incoming, outgoing);
        if (this.#connections.isOver(incoming, outgoing) && path !== HEALTH_PATH) throw tooManyConnections();
      } catch (thrown) {
        return new HttpResponse(incoming, outgoing, respond).sendError(thrown);
      }
      if (isApi(path) && incoming.method !== "OPTIONS") return void router.handle(incoming, outgoing, path);
      this.#serveOther(path, incoming, outgoing, page).then(
        (isServed) => (isServed ? undefined : router.handle(incoming, outgoing, path)),
        (thrown: unknown) => new HttpResponse(incoming, outgoing, respond).sendError(thrown),
      );
    };
    const options = {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(2000, headersMs / 2),
      keepAliveTimeout: 10_000,
      maxHeaderSize: 16 * 1024,
    };
    return tls ? createSecureServer({ ...tls, ...options }, onRequest) : createServer(options, onRequest);
  }

  /** A request that can be repeated without harm is not waited for. */
  #await({ method }: IncomingMessage, outgoing: ServerResponse): void {
    if (this.#isClosing) {
      outgoing.shouldKeepAlive = false;
      throw toolError("shutdown", "The server is shutting down", { next: "Try again in a moment." });
    }
    if (method === "GET" || method === "HEAD" || method === "OPTIONS") return;
    this.#awaited.add(outgoing);
    outgoing.once("close", () => this.#awaited.delete(outgoing));
  }

  /** Other protocols, the console, and the preflights of other pages. Returns whether the request was answered. */
  async #serveOther(
    path: string,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    page: ReturnType<typeof createFileServer> | undefined,
  ): Promise<boolean> {
    if (path.startsWith(RESOURCE_METADATA_PATH) && this.#describeResource(path, incoming, outgoing)) return true;
    const endpoint = this.#options.endpoints?.[path];
    if (endpoint) {
      const identity = await this.#authenticateClient(path, incoming);
      requireScope(identity, "call");
      await this.#load.enter(identity.id);
      await endpoint.handle(incoming, outgoing, identity);
      return true;
    }
    if (isApi(path)) {
      if (answerPreflight(incoming, outgoing, this.#originPolicy)) return true;
      throw new ApiError("forbidden", "Requests from that origin are not accepted");
    }
    const isRead = incoming.method === "GET" || incoming.method === "HEAD";
    return isRead && (await page?.(incoming, outgoing, path)) === true;
  }

  /** With a token only: the cookie is for the console. A refusal names the description of the endpoint (RFC 9728). */
  async #authenticateClient(path: string, incoming: IncomingMessage): Promise<Identity> {
    try {
      const headers = { authorization: incoming.headers.authorization };
      const { remoteAddress } = incoming.socket;
      return await this.#authenticator.authenticate({ headers, remoteAddress });
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.code !== "unauthorized") throw thrown;
      const metadata = `${this.#originOf(incoming)}${RESOURCE_METADATA_PATH}${path}`;
      const challenge = { "www-authenticate": `Bearer resource_metadata="${metadata}"` };
      throw new ApiError(thrown.code, thrown.message, thrown.next, { headers: { ...thrown.headers, ...challenge } });
    }
  }

  /** Says what a client needs to use an endpoint. There is no authorization server: a person creates tokens. */
  #describeResource(path: string, { method, headers }: IncomingMessage, outgoing: ServerResponse): boolean {
    const [only = ""] = Object.keys(this.#options.endpoints ?? {});
    const resource = path === RESOURCE_METADATA_PATH ? only : path.slice(RESOURCE_METADATA_PATH.length);
    if (method !== "GET" || !this.#options.endpoints?.[resource]) return false;
    const body = {
      resource: `${this.#originOf({ headers })}${resource}`,
      resource_name: "Haft",
      bearer_methods_supported: ["header"],
      scopes_supported: ["read", "call", "approve"],
    };
    outgoing.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
    outgoing.end(JSON.stringify(body));
    return true;
  }

  /** The host was checked before. */
  #originOf({ headers }: Pick<IncomingMessage, "headers">): string {
    return `${this.#options.tls ? "https" : "http"}://${headers.host ?? new URL(this.url).host}`;
  }

  /** Beyond this machine only with a token, and without TLS only with a warning. */
  async #checkExposure(host: string): Promise<void> {
    await requireToken(host, this.#tokens);
    if (isLoopback(host) || this.#options.tls) return;
    const warning =
      `Haft listens on ${host} WITHOUT TLS: tokens, inputs and results can be read and changed on their way. ` +
      "Give it a certificate (tls), or listen on 127.0.0.1 behind a proxy or tunnel that encrypts.";
    this.api.warnings.push(warning);
    this.#options.onWarning?.(warning);
  }
}

/** Throws if a server on this address would be open to everybody who reaches it. */
export async function requireToken(host: string, tokens: Pick<TokenStore, "list">): Promise<void> {
  if (isLoopback(host) || (await tokens.list()).some(({ kind }) => kind === "token")) return;
  throw new Error(
    `Haft does not listen on ${host} without a token: anyone who reaches it could run tools. ` +
      "Create a token first, or listen on 127.0.0.1.",
  );
}

function tooManyConnections(): ApiError {
  const { code, message, next, headers } = overloaded(1);
  return new ApiError(code, message, next, { headers: { ...headers, connection: "close" } });
}

/** Without the query. */
function pathOf({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "";
}

function isApi(path: string): boolean {
  return path.startsWith("/api/") || path === "/api";
}

function listen(server: Server, place: { host: string; port: number; backlog: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(explainListenFailure(error, place.host, place.port));
    server.once("error", fail);
    server.listen(place, () => {
      server.off("error", fail);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function explainListenFailure(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const { code = "", message } = error;
  const notHere = `${host} is not an address of this machine. Listen on 127.0.0.1, or on an address that it has.`;
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} on ${host} is in use, perhaps by another Haft. Open that one, end it, or choose another port (0 for any free one).`,
    EACCES: `Listening on port ${port} is not permitted. Choose one above 1023, such as ${DEFAULT_PORT}.`,
    EADDRNOTAVAIL: notHere,
    ENOTFOUND: notHere,
  };
  const other = `The server could not listen on ${host}:${port} (${code || message}).`;
  return new Error(reasons[code] ?? other, { cause: error });
}
