import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import type { Haft } from "../runtime.ts";
import { type OriginPolicy, createOriginPolicy, checkOrigin, isLoopback } from "./allowed-places.ts";
import { createResponder, crossOrigin, type Refuse } from "./answer-request.ts";
import { createApiContext } from "./create-door.ts";
import type { ApiContext } from "./door.ts";
import { HttpError } from "./door-error.ts";
import type { FeedOptions } from "./event-feed.ts";
import { explainListenFailure } from "./explain-listen-failure.ts";
import type { HostCapabilities } from "./host-parts.ts";
import { createIdentify, type Identity, requireScope } from "./identify.ts";
import { logLine } from "./log-line.ts";
import { paramsOf } from "./match-path.ts";
import { loadSchemas } from "./read-body.ts";
import type { Resource, Route } from "./route.ts";
import { API_HEADERS } from "./security-headers.ts";
import { createFileServer } from "./serve-files.ts";
import { attachSocket } from "./socket.ts";
import type { StreamLimits } from "./streams.ts";
import { issueToken, MemoryTokenStore, SCOPES, type TokenStore } from "./tokens.ts";
import type { Scope, ServerInfo } from "./wire.ts";

export interface HttpServerOptions {
  /** Loopback unless said otherwise. */
  host?: string;
  /** 0 for any free one. */
  port?: number;
  tls?: { cert: string; key: string };
  /** Where tokens are kept, hashed; in memory where absent. */
  tokens?: TokenStore;
  /** Further names that the server is reached by, with the port: `haft.example:443`. */
  allowedHosts?: readonly string[];
  /** Pages of other origins that may use the API, with a token of their own. */
  allowedOrigins?: readonly string[];
  /** The folder of the built console; none is served where absent. */
  console?: string;
  parts?: HostCapabilities;
  info?: Partial<Pick<ServerInfo, "version" | "workspace" | "store" | "sandbox">>;
  /** Other protocols beside the API, each at its path: MCP at `/mcp`. */
  endpoints?: Readonly<Record<string, Endpoint>>;
  /** Further resources, of capabilities that bring their own. */
  resources?: readonly Resource<ApiContext>[];
  limits?: ServerLimits;
  /** One escaped line for everything that was refused or failed. */
  log?: (line: string) => void;
  /** What a person must not miss; also told in `ServerInfo.warnings`. */
  onWarning?: (warning: string) => void;
}

/** Another protocol that the server speaks at one path. Tokens, Host and Origin were looked at before. */
export interface Endpoint {
  handle(incoming: IncomingMessage, outgoing: ServerResponse, identity: Identity): Promise<void>;
  close(): Promise<void>;
}

export interface ServerLimits extends StreamLimits {
  bodyBytes?: number;
  /** How long the headers of a request may take, and how long the whole of it. */
  headersMs?: number;
  requestMs?: number;
  connections?: number;
  events?: FeedOptions;
  /** Wrong tokens of one address: how many at once, and how long until one of them is forgotten. */
  failures?: { burst?: number; refillMs?: number };
}

export interface HttpServer {
  /** `http://127.0.0.1:4117`. */
  readonly url: string;
  readonly port: number;
  readonly warnings: readonly string[];
  readonly api: ApiContext;
  /** A new address that logs a browser in, once, within ten minutes. */
  loginUrl(options?: { name?: string; scopes?: readonly Scope[] }): Promise<string>;
  /** Ends streams and connections. The runtime goes on. */
  close(): Promise<void>;
}

const LOGIN_MS = 10 * 60_000;
export const DEFAULT_PORT = 4117;

/** Opens the HTTP and WebSocket door of a runtime. Rejects, with what to do, where it cannot listen or would not be safe. */
export async function serveHttp(haft: Haft, options: HttpServerOptions = {}): Promise<HttpServer> {
  const { host = "127.0.0.1", port = DEFAULT_PORT, tls, tokens = new MemoryTokenStore(), limits = {} } = options;
  const log = options.log ?? (() => {});
  const { clock } = haft;
  const warnings = await checkExposure(host, tls !== undefined, tokens);
  for (const warning of warnings) options.onWarning?.(warning);

  let originPolicy: OriginPolicy = { hosts: new Set(), ownOrigins: new Set(), otherOrigins: new Set() };
  let cookieName = "haft";
  const {
    api,
    resources,
    routes,
    listen: startListening,
  } = createApiContext(haft, {
    ...options,
    tokens,
    warnings,
    secure: tls !== undefined,
    cookieName: () => cookieName,
    originPolicy: () => originPolicy,
  });
  const identify = createIdentify({ tokens, clock, limit: api.limit, cookieName: () => cookieName });
  const maxBodyBytes = limits.bodyBytes ?? 4 * 1024 * 1024;
  const answering = createResponder({ identify, originPolicy: () => originPolicy, maxBodyBytes, log });
  const app = mountRoutes(routes, answering.answer);
  const page = options.console === undefined ? undefined : createFileServer(options.console);
  app.notFound(async ({ env: { incoming, outgoing }, req }) => {
    const isGet = incoming.method === "GET" || incoming.method === "HEAD";
    const endpoint = options.endpoints?.[req.path];
    if (endpoint) {
      await serveEndpoint(endpoint, incoming, outgoing);
      return RESPONSE_ALREADY_SENT;
    }
    if (!isApi(req.path) && isGet && (await page?.(incoming, outgoing, req.path))) return RESPONSE_ALREADY_SENT;
    if (incoming.method === "OPTIONS" && isApi(req.path))
      handlePreflight(incoming, outgoing, originPolicy, answering.refuse);
    else answering.refuse(incoming, outgoing, notFound(req.path, routes, resources));
    return RESPONSE_ALREADY_SENT;
  });

  /** With a token alone: a browser's cookie is for the console. */
  async function serveEndpoint(
    { handle }: Endpoint,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> {
    try {
      const { authorization } = incoming.headers;
      const address = incoming.socket.remoteAddress ?? "";
      const identity = await identify({ headers: authorization === undefined ? {} : { authorization }, address });
      requireScope(identity, "call");
      await handle(incoming, outgoing, identity);
    } catch (thrown) {
      answering.refuse(incoming, outgoing, thrown);
    }
  }

  const server = createAdaptorServer({
    fetch: (request, env) => {
      const { incoming, outgoing } = env as HttpBindings;
      try {
        checkOrigin(incoming.headers, originPolicy, { isPage: !isApi(incoming.url ?? "") });
      } catch (thrown) {
        answering.refuse(incoming, outgoing, thrown);
        return RESPONSE_ALREADY_SENT;
      }
      return app.fetch(request, env);
    },
    // The globals of the host's process are not ours to replace.
    overrideGlobalObjects: false,
    createServer: (tls ? createSecureServer : createServer) as typeof createServer,
    serverOptions: {
      ...tls,
      headersTimeout: limits.headersMs ?? 10_000,
      requestTimeout: limits.requestMs ?? 60_000,
      connectionsCheckingInterval: Math.min(2000, (limits.headersMs ?? 10_000) / 2),
      keepAliveTimeout: 10_000,
      maxHeaderSize: 16 * 1024,
    },
  }) as Server;
  server.maxConnections = limits.connections ?? 5000;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    log(logLine("refused", { status: 400, reason: error.code ?? error.message }));
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    else socket.destroy();
  });
  attachSocket(server, { api, identify, originPolicy: () => originPolicy, maxBodyBytes, log });

  const bound = await listen(server, host, port);
  originPolicy = createOriginPolicy({ ...options, host, port: bound, secure: tls !== undefined });
  cookieName = `haft_${bound}`;
  const stop = startListening();
  // Meanwhile, so that the first request with a body need not wait for it.
  setImmediate(() => void loadSchemas());
  const url = `${tls ? "https" : "http"}://${shownHost(host)}:${bound}`;
  return {
    url,
    port: bound,
    warnings,
    api,
    async loginUrl({ name = "owner", scopes = SCOPES } = {}) {
      const { token } = await issueToken(tokens, clock, { name, scopes, kind: "login", expiresInMs: LOGIN_MS });
      // Behind the #: it is not sent with the request for the page, and stands in no log.
      return `${url}/#login=${token}`;
    },
    async close() {
      for (const endpoint of Object.values(options.endpoints ?? {})) await endpoint.close();
      await api.clients.close();
      await closeServer(server, () => (stop(), api.streams.close()));
    },
  };
}

/** Beyond this machine only with tokens, and in the clear only with a warning that cannot be missed. */
async function checkExposure(host: string, secure: boolean, tokens: TokenStore): Promise<string[]> {
  if (isLoopback(host)) return [];
  if (!(await tokens.list()).some(({ kind }) => kind === "token")) {
    throw new Error(
      `Haft does not listen on ${host} without a token: everybody who reaches it could run tools. ` +
        "Make a token first, or listen on 127.0.0.1.",
    );
  }
  if (secure) return [];
  return [
    `Haft listens on ${host} WITHOUT TLS: tokens, inputs and results can be read and changed by everybody on the way. ` +
      "Give it a certificate (tls), or listen on 127.0.0.1 behind a proxy or tunnel that encrypts.",
  ];
}

function mountRoutes(
  routes: readonly Route[],
  answer: (
    route: Route,
    params: Record<string, string>,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ) => Promise<void>,
): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  for (const route of routes) {
    app.on(route.method, route.path.replaceAll(/\{(\w+)\}/g, ":$1"), async ({ env, req }) => {
      await answer(route, req.param(), env.incoming, env.outgoing);
      return RESPONSE_ALREADY_SENT;
    });
  }
  return app;
}

function isApi(path: string): boolean {
  return /^\/api(?:[/?]|$)/.test(path);
}

function notFound(path: string, routes: readonly Route[], resources: readonly Resource<ApiContext>[]): HttpError {
  const allowed = routes.filter((route) => paramsOf(route.path, path)).map(({ method }) => method);
  if (allowed.length > 0) {
    const headers = { allow: allowed.join(", ") };
    return new HttpError("method_not_allowed", "That cannot be done here", `Use ${allowed.join(" or ")}.`, { headers });
  }
  const missing = resources.find((resource) => path === resource.path || path.startsWith(`${resource.path}/`));
  if (missing && !routes.some((route) => route.path.startsWith(missing.path))) {
    return new HttpError("not_here", "This server does not have that", "GET /api/server tells what it has.");
  }
  return new HttpError("not_found", "There is nothing here", "GET /api/openapi.json tells what there is.");
}

/** A page of an allowed origin asks before it sends a token. */
function handlePreflight(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  originPolicy: OriginPolicy,
  refuse: Refuse,
): void {
  const headers = crossOrigin(incoming, originPolicy);
  if (Object.keys(headers).length === 0) {
    return refuse(incoming, outgoing, new HttpError("forbidden", "Requests from that origin are not accepted"));
  }
  outgoing.writeHead(204, {
    ...API_HEADERS,
    ...headers,
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "authorization, content-type, last-event-id",
    "access-control-max-age": "600",
  });
  outgoing.end();
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(explainListenFailure(error, host, port));
    server.once("error", fail);
    server.listen(port, host, () => {
      server.off("error", fail);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function shownHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

function closeServer(server: Server, endStreams: () => void): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    endStreams();
    server.closeIdleConnections();
    // What is still being answered has a moment; nobody keeps a server from ending.
    setTimeout(() => server.closeAllConnections(), 500).unref();
  });
}
