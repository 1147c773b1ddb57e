import type { JSONRPCMessage, RequestId, Server, Transport } from "@modelcontextprotocol/server";
import { isObject } from "../../schema/json-schema.ts";
import type { McpConnection, McpService } from "./mcp-service.ts";
import { answerToolCall } from "./call-tool.ts";
import { createProgress, pushToClient, type Round } from "./round.ts";

interface PlainCall {
  id: RequestId;
  params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> };
}

/**
 * Answers `tools/call` of a legacy client without the protocol layer of the SDK, which validates every message five times with
 * Zod and takes longer than the call. It is the same call, and the SDK gets every other message, and every call that is not plain.
 */
export class DirectCalls {
  readonly #service: McpService;
  readonly #connection: McpConnection;
  readonly #transport: Transport;
  readonly #running = new Map<RequestId, DirectRound>();
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
    for (const round of this.#running.values()) round.abort(new Error("Connection closed"));
    this.#running.clear();
  }

  #cancel(params: unknown): boolean {
    if (!isObject(params)) return false;
    const { requestId, reason } = params;
    const round =
      typeof requestId === "string" || typeof requestId === "number" ? this.#running.get(requestId) : undefined;
    round?.abort(reason);
    return round !== undefined;
  }

  async #answer({ id, params }: PlainCall, server: Server): Promise<void> {
    const round = new DirectRound(server, params._meta ?? {}, this.#service);
    this.#running.set(id, round);
    try {
      const response = await answerToolCall(params, {
        round,
        server,
        connection: this.#connection,
        service: this.#service,
      }).then(
        (result): JSONRPCMessage => ({ jsonrpc: "2.0", id, result }),
        (error: unknown): JSONRPCMessage => ({ jsonrpc: "2.0", id, error: describeError(error) }),
      );
      // As the SDK does: a cancelled request has no response.
      if (!round.isAborted) await this.#transport.send(response);
    } catch (error) {
      this.#service.options.onError?.(new Error(`Failed to send response: ${String(error)}`));
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

/** One request of a legacy client. Its abort signal is created when it is used. */
class DirectRound implements Round {
  readonly isModern = false;
  readonly followsTasks = false;
  readonly responses = {};
  readonly state = undefined;
  readonly progress: Round["progress"];
  readonly #server: Server;
  #controller: AbortController | undefined;
  isAborted = false;

  constructor(
    server: Server,
    readonly meta: Readonly<Record<string, unknown>>,
    { clock }: McpService,
  ) {
    this.#server = server;
    this.progress = createProgress(meta["progressToken"], (notification) => server.notification(notification), clock);
  }

  get capabilities(): Round["capabilities"] {
    return this.#server.getClientCapabilities() ?? {};
  }

  get clientName(): string {
    return this.#server.getClientVersion()?.name ?? "unknown";
  }

  get signal(): AbortSignal {
    return (this.#controller ??= new AbortController()).signal;
  }

  abort(reason: unknown): void {
    this.isAborted = true;
    (this.#controller ??= new AbortController()).abort(reason);
  }

  log(...[level, data]: Parameters<Round["log"]>): Promise<void> {
    return this.#server.sendLoggingMessage({ level, data }).catch(() => undefined);
  }

  push(...[request, options]: Parameters<Round["push"]>): Promise<unknown> {
    return pushToClient(this.#server, request, options);
  }
}
