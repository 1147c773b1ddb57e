import { withDefaults } from "../../core/with-defaults.ts";
import { randomUUID } from "node:crypto";
import type { NodeIncomingMessageLike, NodeServerResponseLike } from "@modelcontextprotocol/node";
import type { Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Timer } from "../../core/clock.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { createMcpServer } from "./mcp-server.ts";
import { type ChangeListener, createMcpService, type McpService } from "./mcp-service.ts";
import type { McpClientPeer, McpIdentity, McpRuntime, McpServerOptions } from "./server-options.ts";

/** How MCP over HTTP is served. */
export interface McpEndpointOptions extends McpServerOptions {
  /** Who sends a request, by its token. Needed unless the door says it with each request. */
  identify?(request: Request): MaybePromise<McpIdentity | undefined>;
  /** Host names, without port, under which it is reached: this machine's where absent. `checked`: the door has looked. */
  hosts?: readonly string[] | "checked";
  /** Host names of pages that may send requests: this machine's where absent. */
  origins?: readonly string[];
  /** Larger requests are refused. */
  maxBodyBytes?: number;
  /** How many there may be, and for how long. */
  sessions?: SessionLimits;
}

export interface McpRequestOptions {
  identity?: McpIdentity;
}

/** MCP over Streamable HTTP, both eras at one address. */
export interface McpEndpoint {
  /** Answers a request. */
  fetch(request: Request, options?: McpRequestOptions): Promise<Response>;
  /** The same for Node's own requests. Writes the answer; never rejects. */
  handle(
    incoming: NodeIncomingMessageLike,
    outgoing: NodeServerResponseLike,
    options?: McpRequestOptions,
  ): Promise<void>;
  /** The client that a running call came from, for a tool that wants to ask it something. */
  clientOf(callId: string): McpClientPeer | undefined;
  /** For what the server cannot see: a policy that shows other tools now. */
  toolsChanged(): void;
  /** Ends every session. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** What is served at `/mcp`. Every request must say whose it is; none is served without. */
export async function createMcpEndpoint(runtime: McpRuntime, options: McpEndpointOptions): Promise<McpEndpoint> {
  const service = await createMcpService(runtime, options);
  const { sdk } = service;
  const { toNodeHandler } = await import("@modelcontextprotocol/node");
  const maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES;
  const legacy = new LegacySessions(service, options.sessions);
  const identities = new WeakMap<Request, McpIdentity>();
  const modern = sdk.createMcpHandler(
    ({ requestInfo }) => {
      const identity = identities.get(requestInfo!)!;
      // There are no sessions: calls of one identity belong together.
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
      const face = { fetch: (request: Request) => serve(request, requestOptions) };
      return toNodeHandler(face, { onerror, maxRequestBodySize: maxBodyBytes })(incoming, outgoing);
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
    const misplaced = checkOrigin(request);
    if (misplaced) return misplaced;
    const identity = given ?? (await options.identify?.(request));
    if (!identity)
      return refuse(401, "This needs a token. Send `Authorization: Bearer TOKEN`.", { "www-authenticate": "Bearer" });
    const body = request.method === "POST" ? await readBody(request) : undefined;
    if (body instanceof Response) return body;
    if (await sdk.isLegacyRequest(request, body?.json, { maxRequestBodySize: maxBodyBytes })) {
      return legacy.serve(request, body?.json, identity);
    }
    identities.set(request, identity);
    return modern.fetch(request, { parsedBody: body?.json });
  }

  function checkOrigin(request: Request): Response | undefined {
    if (options.hosts === "checked") return undefined;
    const hosts = options.hosts ? [...options.hosts] : sdk.localhostAllowedHostnames();
    const origins = options.origins ? [...options.origins] : sdk.localhostAllowedOrigins();
    return sdk.hostHeaderValidationResponse(request, hosts) ?? sdk.originValidationResponse(request, origins);
  }

  /** Once, for whichever era it turns out to be of. */
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
  /** How long a session lives that nobody uses. */
  idleMs?: number;
  max?: number;
  maxPerOwner?: number;
}

interface Session {
  readonly id: string;
  readonly owner: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Requests and streams that are under way. */
  inUse: number;
  timer: Timer | undefined;
}

const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 1000;
const MAX_PER_OWNER = 100;

/**
 * Sessions of clients of 2025 and before: only in one can they be asked something. Each has a server and a transport of
 * its own, so that no answer can reach another client, and belongs to who opened it.
 */
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
      if (!isInitialize(parsedBody)) return refuse(400, "Bad Request: this needs a session; send initialize first.");
      return this.#open(request, parsedBody, identity);
    }
    const session = this.#sessions.get(id);
    // Somebody else's session is told from none by nobody.
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
    // Its own name: the id of the session opens it, and must not stand in records.
    const server = createMcpServer(this.#service, { identity, session: `mcp:${randomUUID()}` }, "legacy");
    await server.connect(transport);
    const session: Session = { id, owner: identity.id, server, transport, inUse: 0, timer: undefined };
    this.#sessions.set(id, session);
    const response = await this.#use(session, () => transport.handleRequest(request, { parsedBody }));
    if (!response.ok) await this.#end(session);
    return response;
  }

  /** Not ended while a request or a stream of it is open. */
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

  /** The oldest that nobody uses goes first. */
  async #evictOldest(owner: string): Promise<void> {
    const all = [...this.#sessions.values()];
    const own = all.filter((session) => session.owner === owner);
    const crowd = own.length >= this.#limits.maxPerOwner ? own : all.length >= this.#limits.max ? all : [];
    const idle = crowd.find(({ inUse }) => inUse === 0) ?? crowd[0];
    if (idle) await this.#end(idle);
  }

  async #end(session: Session): Promise<void> {
    this.#sessions.delete(session.id);
    session.timer?.cancel();
    await session.server.close().catch(() => undefined);
  }
}

function isInitialize(body: unknown): boolean {
  const messages = Array.isArray(body) ? body : [body];
  return messages.some((message) => (message as { method?: unknown } | null)?.method === "initialize");
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
