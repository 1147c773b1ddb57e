import { checkKeys, keysOf, withDefaults } from "../../core/options.ts";
import { randomUUID } from "node:crypto";
import type { NodeIncomingMessageLike, NodeServerResponseLike } from "@modelcontextprotocol/node";
import type { JSONRPCRequest, Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Timer } from "../../core/clock.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { isObject } from "../../schema/json-schema.ts";
import { createMcpServer } from "./mcp-server.ts";
import { listenOverHttp } from "./task-notifications.ts";
import { type ChangeListener, createMcpService, type McpService } from "./mcp-service.ts";
import {
  MCP_SERVER_KEYS,
  type McpClientPeer,
  type McpIdentity,
  type McpRuntime,
  type McpServerOptions,
} from "./server-options.ts";

/** How MCP over HTTP is served. */
export interface McpEndpointOptions extends McpServerOptions {
  /** Identifies the client by its token. Not needed if every request is passed with an identity. */
  identify?(request: Request): MaybePromise<McpIdentity | undefined>;
  /** Allowed host names, without port. Default: those of this machine. `checked`: the caller has checked them. */
  hosts?: readonly string[] | "checked";
  /** Host names of pages that may send requests. Default: those of this machine. */
  origins?: readonly string[];
  /** Larger requests are refused. */
  maxBodyBytes?: number;
  /** How many there may be, and for how long. */
  sessions?: SessionLimits;
}

const OPTION_KEYS = keysOf<McpEndpointOptions>({
  identify: true,
  hosts: true,
  origins: true,
  maxBodyBytes: true,
  sessions: true,
  ...MCP_SERVER_KEYS,
});

interface McpRequestOptions {
  identity?: McpIdentity;
}

/** MCP over Streamable HTTP, for both eras at one address. */
export interface McpEndpoint {
  /** Answers a request. */
  fetch(request: Request, options?: McpRequestOptions): Promise<Response>;
  /** Like `fetch`, for requests of Node. Writes the response; never rejects. */
  handle(
    incoming: NodeIncomingMessageLike,
    outgoing: NodeServerResponseLike,
    options?: McpRequestOptions,
  ): Promise<void>;
  /** The client of a running call, for tools that send input requests. */
  clientOf(callId: string): McpClientPeer | undefined;
  /** Call this after changes that the server cannot see, such as a new policy. */
  toolsChanged(): void;
  /** Ends every session. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** The endpoint at `/mcp`. Requests without an identity are rejected. */
export async function createMcpEndpoint(runtime: McpRuntime, options: McpEndpointOptions): Promise<McpEndpoint> {
  checkKeys("createMcpEndpoint", options, OPTION_KEYS);
  const service = await createMcpService(runtime, options);
  const { sdk } = service;
  const { toNodeHandler } = await import("@modelcontextprotocol/node");
  const maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES;
  const legacy = new LegacySessions(service, options.sessions);
  const identities = new WeakMap<Request, McpIdentity>();
  const modern = sdk.createMcpHandler(
    ({ requestInfo }) => {
      const identity = requestInfo && identities.get(requestInfo);
      if (!identity) throw new Error("The request has no identity.");
      // There are no sessions, so all calls of one identity are grouped.
      return createMcpServer(service, { identity, session: `mcp:${identity.id}` }, "modern");
    },
    { legacy: "reject", onerror: (error) => options.onError?.(error), maxRequestBodySize: maxBodyBytes },
  );
  const listener: ChangeListener = (change) => {
    if (change.of === "tools") modern.notify.toolsChanged();
    else if (change.of === "prompts") modern.notify.promptsChanged();
    else if (change.of === "resources") modern.notify.resourcesChanged();
    else if (change.of === "resource") modern.notify.resourceUpdated(change.uri);
  };
  service.changeListeners.add(listener);
  let isClosed = false;

  return {
    fetch: serve,
    handle(incoming, outgoing, requestOptions) {
      const onerror = (error: Error): void => options.onError?.(error);
      const handler = { fetch: (request: Request) => serve(request, requestOptions) };
      return toNodeHandler(handler, { onerror, maxRequestBodySize: maxBodyBytes })(incoming, outgoing);
    },
    clientOf: service.clientOf,
    toolsChanged: service.toolsChanged,
    async close() {
      isClosed = true;
      service.changeListeners.delete(listener);
      service.close();
      await Promise.all([modern.close(), legacy.close()]);
    },
  };

  async function serve(request: Request, { identity: given }: McpRequestOptions = {}): Promise<Response> {
    if (isClosed) return refuse(503, "The server is shutting down.");
    const rejection = checkOrigin(request);
    if (rejection) return rejection;
    const identity = given ?? (await options.identify?.(request));
    if (!identity)
      return refuse(401, "A token is required. Send `Authorization: Bearer TOKEN`.", { "www-authenticate": "Bearer" });
    const body = request.method === "POST" ? await readBody(request) : undefined;
    if (body instanceof Response) return body;
    if (await sdk.isLegacyRequest(request, body?.json, { maxRequestBodySize: maxBodyBytes })) {
      return legacy.serve(request, body?.json, identity);
    }
    const forward = (message: unknown, from = request): Promise<Response> => {
      identities.set(from, identity);
      return modern.fetch(from, { parsedBody: message });
    };
    const asClient = (message: JSONRPCRequest): Promise<Response> => {
      const headers = new Headers(request.headers);
      headers.set("mcp-method", message.method);
      headers.set("mcp-name", String(message.params?.["taskId"]));
      return forward(message, new Request(request.url, { method: "POST", headers }));
    };
    return listenOverHttp(body?.json, { clock: service.clock, forward: asClient }) ?? forward(body?.json);
  }

  function checkOrigin(request: Request): Response | undefined {
    if (options.hosts === "checked") return undefined;
    const hosts = options.hosts ? [...options.hosts] : sdk.localhostAllowedHostnames();
    const origins = options.origins ? [...options.origins] : sdk.localhostAllowedOrigins();
    return sdk.hostHeaderValidationResponse(request, hosts) ?? sdk.originValidationResponse(request, origins);
  }

  /** Reads the body once, for both eras. */
  async function readBody(request: Request): Promise<{ json: unknown } | Response> {
    if (!sdk.isJsonContentType(request.headers.get("content-type"))) {
      return refuse(415, "Unsupported Media Type: send application/json.");
    }
    const read = await sdk.readRequestBody(request, maxBodyBytes);
    if (read.tooLarge) return refuse(413, `The request is longer than ${maxBodyBytes} bytes.`);
    try {
      return { json: JSON.parse(read.text) };
    } catch {
      const error = { code: sdk.PARSE_ERROR, message: "Parse error: the request body is not valid JSON" };
      return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 400 });
    }
  }
}

interface SessionLimits {
  /** How long an unused session is kept. Default: 30 minutes. */
  idleMs?: number;
  max?: number;
  maxPerOwner?: number;
}

interface Session {
  readonly id: string;
  readonly owner: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** The number of open requests and streams. */
  inUse: number;
  timer: Timer | undefined;
}

const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 1000;
const MAX_PER_OWNER = 100;

/** Sessions of legacy clients, which alone can receive requests: each with a server of its own, for one identity. */
class LegacySessions {
  readonly #service: McpService;
  readonly #limits: Required<SessionLimits>;
  readonly #sessions = new Map<string, Session>();

  constructor(service: McpService, limits: SessionLimits = {}) {
    this.#service = service;
    this.#limits = withDefaults({ idleMs: IDLE_MS, max: MAX_SESSIONS, maxPerOwner: MAX_PER_OWNER }, limits);
  }

  get size(): number {
    return this.#sessions.size;
  }

  async serve(request: Request, parsedBody: unknown, identity: McpIdentity): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) {
      if (!isInitialize(parsedBody)) return refuse(400, "Bad Request: a session is required; send initialize first.");
      return this.#open(request, parsedBody, identity);
    }
    const session = this.#sessions.get(id);
    // The same response as for a missing session, so other sessions cannot be discovered.
    if (session?.owner !== identity.id) return refuse(404, "Session not found");
    return this.#use(session, () => session.transport.handleRequest(request, { parsedBody }));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => this.#end(session)));
  }

  async #open(request: Request, parsedBody: unknown, identity: McpIdentity): Promise<Response> {
    const { sdk } = this.#service;
    await this.#evictOldest(identity.id);
    const id = randomUUID();
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => void this.#sessions.delete(id),
    });
    // Not the session id, which is a secret and must not appear in records.
    const server = createMcpServer(this.#service, { identity, session: `mcp:${randomUUID()}` }, "legacy");
    await server.connect(transport);
    const session: Session = { id, owner: identity.id, server, transport, inUse: 0, timer: undefined };
    this.#sessions.set(id, session);
    const response = await this.#use(session, () => transport.handleRequest(request, { parsedBody }));
    if (!response.ok) await this.#end(session);
    return response;
  }

  /** The session does not expire while a request or a stream is open. */
  async #use(session: Session, handle: () => Promise<Response>): Promise<Response> {
    session.timer?.cancel();
    session.inUse++;
    const done = (): void => {
      if (--session.inUse > 0 || !this.#sessions.has(session.id)) return;
      session.timer = this.#service.clock.after(this.#limits.idleMs, () => void this.#end(session));
      session.timer.setRef(false);
    };
    try {
      const response = await handle();
      if (!response.body) done();
      return response.body ? new Response(onceConsumed(response.body, done), response) : response;
    } catch (error) {
      done();
      throw error;
    }
  }

  /** Ends the oldest session if there are too many, preferably an unused one. */
  async #evictOldest(owner: string): Promise<void> {
    const all = [...this.#sessions.values()];
    const owned = all.filter((session) => session.owner === owner);
    const candidates = owned.length >= this.#limits.maxPerOwner ? owned : all.length >= this.#limits.max ? all : [];
    const oldest = candidates.find(({ inUse }) => inUse === 0) ?? candidates[0];
    if (oldest) await this.#end(oldest);
  }

  async #end(session: Session): Promise<void> {
    this.#sessions.delete(session.id);
    session.timer?.cancel();
    await session.server.close().catch(() => undefined);
  }
}

function isInitialize(body: unknown): boolean {
  const messages = Array.isArray(body) ? body : [body];
  return messages.some((message) => isObject(message) && message["method"] === "initialize");
}

function onceConsumed(body: ReadableStream<Uint8Array>, done: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let isDone = false;
  const once = (): void => {
    if (!isDone) done();
    isDone = true;
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done: isOver, value } = await reader.read();
        if (!isOver) return controller.enqueue(value);
        once();
        controller.close();
      } catch (error) {
        once();
        controller.error(error);
      }
    },
    async cancel(reason) {
      once();
      await reader.cancel(reason);
    },
  });
}

function refuse(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }, { status, headers });
}
