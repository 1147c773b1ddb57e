import type { NodeIncomingMessageLike, NodeServerResponseLike } from "@modelcontextprotocol/node";
import type { MaybePromise } from "../../core/stage.ts";
import { createMcpServer } from "./create-server.ts";
import { LegacySessions, refuse, type SessionLimits } from "./legacy-sessions.ts";
import type { McpClientPeer } from "./mcp-client-peer.ts";
import type { McpIdentity, McpRuntime } from "./mcp-runtime.ts";
import type { McpServerOptions } from "./mcp-server-options.ts";
import { type ChangeListener, createMcpService } from "./mcp-service.ts";

export interface McpEndpointOptions extends McpServerOptions {
  /** Who sends a request, by its token. Needed unless the door says it with each request. */
  identify?(request: Request): MaybePromise<McpIdentity | undefined>;
  /** Host names, without port, under which it is reached: this machine's where absent. `checked`: the door has looked. */
  hosts?: readonly string[] | "checked";
  /** Host names of pages that may send requests: this machine's where absent. */
  origins?: readonly string[];
  maxBodyBytes?: number;
  sessions?: SessionLimits;
}

export interface McpRequestOptions {
  identity?: McpIdentity;
}

/** MCP over Streamable HTTP, both eras at one address. */
export interface McpEndpoint {
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
