import { randomUUID } from "node:crypto";
import type { Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Timer } from "../../core/clock.ts";
import { createMcpServer } from "./create-server.ts";
import type { McpIdentity } from "./mcp-runtime.ts";
import type { McpService } from "./mcp-service.ts";

export interface SessionLimits {
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
export class LegacySessions {
  readonly #service: McpService;
  readonly #limits: Required<SessionLimits>;
  readonly #sessions = new Map<string, Session>();

  constructor(service: McpService, limits: SessionLimits = {}) {
    this.#service = service;
    this.#limits = { idleMs: IDLE_MS, max: MAX_SESSIONS, maxPerOwner: MAX_PER_OWNER, ...limits };
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

export function refuse(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }, { status, headers });
}
