import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, RequestId, Server, Transport } from "@modelcontextprotocol/server";
import { checkKeys, keysOf } from "../../core/options.ts";
import { createMcpServer } from "./mcp-server.ts";
import {
  MCP_SERVER_KEYS,
  type McpClientPeer,
  type McpIdentity,
  type McpRuntime,
  type McpServerOptions,
} from "./server-options.ts";
import { createMcpService, forwardChanges, loadServerSdk, type McpConnection, type McpService } from "./mcp-service.ts";
import { isObject } from "../../schema/json-schema.ts";
import { answerToolCall } from "./call-tool.ts";
import { createLegacyRound } from "./round.ts";
import { createTaskSubscriptions } from "./task-notifications.ts";

/** How one connection is served. */
export interface ServeMcpOptions extends McpServerOptions {
  /** The identity of the client. Default: the local user, who may approve calls. */
  identity?: McpIdentity;
}

const OPTION_KEYS = keysOf<ServeMcpOptions>({
  identity: true,
  ...MCP_SERVER_KEYS,
});

/** A connection that is being served. */
export interface McpServing {
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<void>;
  /** The client that made a call. */
  clientOf(callId: string): McpClientPeer | undefined;
  /** Notifies the client that the list of tools changed. */
  toolsChanged(): void;
  /** Ends the connection. */
  close(): Promise<void>;
}

const LOCAL: McpIdentity = { id: "local", name: "local", rights: ["read", "call", "approve"] };
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** Serves one client over stdio, for `haft mcp`. Nothing else may write to `output`. */
export async function serveMcpStdio(
  runtime: McpRuntime,
  {
    input = process.stdin,
    output = process.stdout,
    ...options
  }: ServeMcpOptions & { input?: Readable; output?: Writable },
): Promise<McpServing> {
  const { StdioServerTransport } = await loadServerSdk();
  return serveMcp(runtime, new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE_BYTES }), options);
}

/** Serves one client over any transport, in the era of the client. */
export async function serveMcp(
  runtime: McpRuntime,
  transport: Transport,
  options: ServeMcpOptions,
): Promise<McpServing> {
  checkKeys("serveMcp", options, OPTION_KEYS);
  const service = await createMcpService(runtime, options);
  const { identity = LOCAL } = options;
  const session = `mcp:${crypto.randomUUID()}`;
  const direct = new DirectCalls(service, { identity, session }, transport);
  const serving = service.sdk.serveStdio(
    ({ era }) => {
      const server = createMcpServer(service, { identity, session }, era);
      // The SDK itself notifies only clients that subscribed.
      if (era === "modern") forwardChanges(service, server, { session });
      else direct.use(server);
      return server;
    },
    { transport, onerror: (error) => options.onError?.(error) },
  );
  const forward = transport.onmessage;
  const tasks = createTaskSubscriptions(transport, {
    clock: service.clock,
    forward: (message) => forward?.(message),
  });
  transport.onmessage = (message, extra) => {
    if (!direct.take(message) && !tasks.take(message)) forward?.(message, extra);
  };
  const closed = new Promise<void>((resolve) => {
    const before = transport.onclose;
    transport.onclose = () => {
      direct.close();
      tasks.close();
      before?.();
      service.close();
      resolve();
    };
  });
  return { closed, clientOf: service.clientOf, toolsChanged: service.toolsChanged, close: () => serving.close() };
}

interface PlainCall {
  id: RequestId;
  params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> };
}

/**
 * Answers `tools/call` of a legacy client without the protocol layer of the SDK, which validates every message five times with
 * Zod and takes longer than the call. It is the same call, and the SDK gets every other message, and every call that is not plain.
 */
class DirectCalls {
  readonly #service: McpService;
  readonly #connection: McpConnection;
  readonly #transport: Transport;
  readonly #running = new Map<RequestId, AbortController>();
  #server: Server | undefined;

  constructor(service: McpService, connection: McpConnection, transport: Transport) {
    this.#service = service;
    this.#connection = connection;
    this.#transport = transport;
  }

  /** The server of the connection, if it is a legacy one. */
  use(server: Server): void {
    this.#server = server;
  }

  /** Whether the message is handled here. */
  take(message: JSONRPCMessage): boolean {
    const server = this.#server;
    // Before `initialize` there are no capabilities.
    if (!server?.getClientCapabilities() || !("method" in message)) return false;
    if (message.method === "notifications/cancelled") return this.#cancel(message.params);
    const call = readPlainCall(message);
    if (!call || this.#running.has(call.id)) return false;
    void this.#answer(call, server);
    return true;
  }

  /** The client is gone. */
  close(): void {
    for (const call of this.#running.values()) call.abort(new Error("Connection closed"));
    this.#running.clear();
  }

  #cancel(params: unknown): boolean {
    if (!isObject(params)) return false;
    const { requestId, reason } = params;
    const call =
      typeof requestId === "string" || typeof requestId === "number" ? this.#running.get(requestId) : undefined;
    call?.abort(reason);
    return call !== undefined;
  }

  async #answer({ id, params }: PlainCall, server: Server): Promise<void> {
    const [service, connection] = [this.#service, this.#connection];
    const controller = new AbortController();
    const { signal } = controller;
    const round = createLegacyRound({ server, signal, meta: params._meta ?? {}, clock: service.clock });
    this.#running.set(id, controller);
    try {
      const response = await answerToolCall(params, { round, server, connection, service }).then(
        (result): JSONRPCMessage => ({ jsonrpc: "2.0", id, result }),
        (error: unknown): JSONRPCMessage => ({ jsonrpc: "2.0", id, error: describeError(error) }),
      );
      // As the SDK does: a cancelled request has no response.
      if (!signal.aborted) await this.#transport.send(response);
    } catch (error) {
      service.options.onError?.(new Error(`Failed to send response: ${String(error)}`));
    } finally {
      this.#running.delete(id);
    }
  }
}

const INTERNAL_ERROR = -32603;

function describeError(error: unknown): { code: number; message: string; data?: unknown } {
  const { code, message, data } =
    isObject(error) || error instanceof Error ? (error as Partial<Record<string, unknown>>) : {};
  return {
    code: Number.isSafeInteger(code) ? Number(code) : INTERNAL_ERROR,
    message: typeof message === "string" ? message : "Internal error",
    data,
  };
}

const PLAIN_KEYS = new Set(["name", "arguments", "_meta"]);

/** The SDK explains what is wrong with any other call, and knows the fields of other eras. */
function readPlainCall(message: JSONRPCMessage): PlainCall | undefined {
  if (!("method" in message) || message.method !== "tools/call" || !("id" in message)) return undefined;
  const { id, params, jsonrpc } = message;
  if (jsonrpc !== "2.0" || (typeof id !== "string" && !Number.isSafeInteger(id)) || !isObject(params)) return undefined;
  const { name, arguments: input, _meta } = params;
  if (typeof name !== "string" || !isOptionalRecord(input) || !isOptionalRecord(_meta)) return undefined;
  if (!Object.keys(params).every((key) => PLAIN_KEYS.has(key)) || (_meta && !isPlainMeta(_meta))) return undefined;
  return { id, params: { name, arguments: input, _meta } };
}

function isOptionalRecord(value: unknown): value is Record<string, unknown> | undefined {
  return value === undefined || isObject(value);
}

function isPlainMeta(meta: Record<string, unknown>): boolean {
  const { progressToken: token } = meta;
  const isToken = token === undefined || typeof token === "string" || Number.isSafeInteger(token);
  return isToken && !Object.keys(meta).some((key) => key.startsWith("io.modelcontextprotocol/"));
}
