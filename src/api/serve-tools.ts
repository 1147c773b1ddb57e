import { BoundedMap } from "../core/bounded-map.ts";
import { errorMessage } from "../core/error.ts";
import { ApiError } from "../contracts/errors.ts";
import { checkKeys, keysOf } from "../core/options.ts";
import type { EventMessage } from "../contracts/events.ts";
import {
  type ClientAnswer,
  type ClientCall,
  type ClientRequest,
  type ClientTool,
  SOCKET_PATH,
} from "../contracts/socket.ts";
import type { HttpClientOptions } from "./http-client.ts";

/** A tool that runs in this program. `run` returns an answer with `content`, or plain data; if it throws, the call fails. */
export interface ServedTool extends ClientTool {
  /** Its code, in this program. */
  run(input: never, call: ClientCall & { signal: AbortSignal }): unknown;
}

/** How the tools are served. */
export interface ServeToolsOptions {
  /** The name that the server knows this program by when it reconnects; for one program at a time. */
  client?: string;
  /** Ends it. */
  signal?: AbortSignal;
  /** Default: the runtime's own. Node before 22 has none: use that of the package `ws`. */
  WebSocket?: new (url: string, protocols?: string[]) => SocketLike;
  /** Called when the connection was lost, before it is opened again. */
  onReconnect?: (reason: string) => void;
}

/** The part of a WebSocket that is used. */
interface SocketLike {
  send(data: string): void;
  close(): void;
  // `ws` and browsers type their events differently.
  // oxlint-disable-next-line typescript/no-explicit-any
  addEventListener(type: "open" | "message" | "close" | "error", listener: (event: any) => void): void;
}

/** Tools that a server can call here. */
export interface ServingTools {
  /** Resolves when the server has the tools; rejects if it refuses them. */
  readonly ready: Promise<void>;
  /** Removes the tools from the server. */
  stop(): void;
}

const OPTION_KEYS = keysOf<ServeToolsOptions>({ client: true, signal: true, WebSocket: true, onReconnect: true });
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;
/** Answers are kept, in case the server did not get them. */
const MAX_KEPT = 1_000;

/** Registers tools at a server and runs the calls that it sends: each once, even if the connection is lost meanwhile. */
export function serveTools(
  server: Pick<HttpClientOptions, "url" | "token">,
  tools: readonly ServedTool[],
  options: ServeToolsOptions = {},
): ServingTools {
  checkKeys("serveTools", options, OPTION_KEYS);
  return new ToolClient(server, tools, options);
}

class ToolClient implements ServingTools {
  readonly ready: Promise<void>;
  readonly #address: URL;
  readonly #protocols: string[];
  readonly #tools: ReadonlyMap<string, ServedTool>;
  readonly #options: ServeToolsOptions;
  readonly #WebSocket: NonNullable<ServeToolsOptions["WebSocket"]>;
  readonly #answers = new BoundedMap<string, Promise<ClientAnswer>>(MAX_KEPT);
  readonly #running = new Map<string, AbortController>();
  #socket: SocketLike | undefined;
  #isStopped = false;
  #waitMs = FIRST_WAIT_MS;
  #resolveReady: () => void = () => undefined;
  #rejectReady: (error: Error) => void = () => undefined;

  constructor(
    { url, token }: Pick<HttpClientOptions, "url" | "token">,
    tools: readonly ServedTool[],
    options: ServeToolsOptions,
  ) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#options = options;
    this.#WebSocket = options.WebSocket ?? defaultWebSocket();
    this.#address = new URL(`${SOCKET_PATH}?types=tool_registered`, url);
    this.#address.protocol = this.#address.protocol === "https:" ? "wss:" : "ws:";
    this.#protocols = token === undefined ? ["haft"] : ["haft", `haft.token.${token}`];
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve;
      this.#rejectReady = reject;
    });
    // A program that does not wait for it must not end because of it.
    this.ready.catch(() => undefined);
    const { signal } = options;
    signal?.addEventListener("abort", this.stop, { once: true });
    if (signal?.aborted) this.stop();
    else this.#connect();
  }

  readonly stop = (): void => {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const controller of this.#running.values()) controller.abort();
    try {
      this.#send({ type: "unregister", request: "unregister" });
    } catch {
      // Not connected: the server notices it.
    }
    this.#socket?.close();
    this.#rejectReady(new Error("The tools were removed before the server had them."));
  };

  #connect(): void {
    const socket = new this.#WebSocket(this.#address.href, this.#protocols);
    this.#socket = socket;
    socket.addEventListener("open", () => {
      const tools = Array.from(this.#tools.values(), ({ run: _run, ...tool }) => tool);
      this.#send({ type: "register", request: "register", client: this.#options.client, tools });
    });
    socket.addEventListener("message", ({ data }: { data: unknown }) =>
      this.#onMessage(JSON.parse(String(data)) as EventMessage),
    );
    socket.addEventListener("error", () => undefined);
    socket.addEventListener("close", ({ reason }: { reason?: string }) => {
      if (this.#isStopped || this.#socket !== socket) return;
      this.#options.onReconnect?.(reason || "the connection was lost");
      setTimeout(() => this.#isStopped || this.#connect(), this.#waitMs);
      this.#waitMs = Math.min(this.#waitMs * 2, MAX_WAIT_MS);
    });
  }

  #onMessage(message: EventMessage): void {
    if (message.type === "client_call") void this.#answer(message.data);
    if (message.type === "client_call_ended") this.#running.get(message.data.id)?.abort();
    if (message.type !== "answer" || message.data.request !== "register") return;
    if ("error" in message.data) {
      // The server would refuse them again.
      this.#isStopped = true;
      const { code, message: text, next, data } = message.data.error;
      this.#rejectReady(new ApiError(code, text, next, { data }));
      this.#socket?.close();
      return;
    }
    this.#waitMs = FIRST_WAIT_MS;
    this.#resolveReady();
  }

  async #answer(call: ClientCall): Promise<void> {
    let answer = this.#answers.get(call.id);
    if (!answer) {
      this.#answers.set(call.id, (answer = this.#run(call)));
    }
    const result = await answer;
    try {
      this.#send({ type: "result", request: call.id, id: call.id, ...result });
    } catch {
      // The server sends the call again after the reconnect, and gets the same answer.
    }
  }

  async #run(call: ClientCall): Promise<ClientAnswer> {
    const controller = new AbortController();
    this.#running.set(call.id, controller);
    try {
      const tool = this.#tools.get(call.tool);
      if (!tool) return { error: `This client has no tool "${call.tool}".` };
      return toAnswer(await tool.run(call.input as never, { ...call, signal: controller.signal }));
    } catch (error) {
      return { error: errorMessage(error) };
    } finally {
      this.#running.delete(call.id);
    }
  }

  #send(request: ClientRequest): void {
    this.#socket?.send(JSON.stringify(request));
  }
}

function toAnswer(output: unknown): ClientAnswer {
  if (typeof output === "string") return { content: output };
  if (typeof output !== "object" || output === null) return { details: output ?? null };
  const { content, details } = output as ClientAnswer;
  if (typeof content !== "string" && !Array.isArray(content)) return { details: output };
  return { content, details };
}

function defaultWebSocket(): NonNullable<ServeToolsOptions["WebSocket"]> {
  const { WebSocket } = globalThis as { WebSocket?: NonNullable<ServeToolsOptions["WebSocket"]> };
  if (!WebSocket)
    throw new TypeError("This runtime has no WebSocket: pass that of the package `ws` as the option `WebSocket`.");
  return WebSocket;
}
