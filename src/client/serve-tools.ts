import type { ClientToolResult, ClientCall, ClientRequest, ClientTool, EventMessage } from "../http/wire.ts";
import { HaftClientError } from "./client-error.ts";
import type { ClientOptions } from "./connection.ts";

/** A tool that runs here. What `run` returns is the output: an answer with `content`, or plain data; what it throws, a failure. */
export interface ServedTool extends ClientTool {
  run(input: never, call: ClientCall & { signal: AbortSignal }): unknown;
}

export interface ServeToolsOptions {
  /** Under which the server knows it when it comes back; one name for one program at a time. */
  client?: string;
  signal?: AbortSignal;
  /** The runtime's own where absent; Node before 22 has none: give it that of `ws`. */
  WebSocket?: new (url: string, protocols?: string[]) => SocketLike;
  /** Told when the connection was lost and is made again. */
  onReconnect?: (why: string) => void;
}

/** What is used of a WebSocket. */
interface SocketLike {
  send(data: string): void;
  close(): void;
  addEventListener(type: "open" | "message" | "close" | "error", listener: (event: never) => void): void;
}

export interface ServingTools {
  /** Once the server has the tools; rejects where it refuses them. */
  readonly ready: Promise<void>;
  /** Takes the tools away. */
  stop(): void;
}

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;
/** Answers that were given are remembered for the case that the server did not hear them. */
const MAX_REMEMBERED = 1_000;

/** Brings tools to a server and runs what it asks for: each call once, also where the connection is lost in between. */
export function serveTools(
  { url, token }: ClientOptions,
  tools: readonly ServedTool[],
  { client, signal, onReconnect, WebSocket = defaultWebSocket() }: ServeToolsOptions = {},
): ServingTools {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const answers = new Map<string, Promise<ClientToolResult>>();
  const running = new Map<string, AbortController>();
  const address = new URL("/api/socket?types=tool_registered", url);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  let socket: SocketLike | undefined;
  let isStopped = false;
  let wait = FIRST_WAIT_MS;
  let settle!: { resolve(): void; reject(error: Error): void };
  const ready = new Promise<void>((resolve, reject) => (settle = { resolve, reject }));
  // Whoever does not ask is not to be ended by it.
  ready.catch(() => undefined);
  const stop = (): void => {
    if (isStopped) return;
    isStopped = true;
    for (const controller of running.values()) controller.abort();
    try {
      send({ type: "unregister", request: "unregister" });
    } catch {
      // Not connected: the server finds out by itself.
    }
    socket?.close();
    settle.reject(new Error("The tools were taken away before the server had them."));
  };
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  else connect();
  return { ready, stop };

  function connect(): void {
    const opened = new WebSocket(address.href, token === undefined ? ["haft"] : ["haft", `haft.token.${token}`]);
    socket = opened;
    opened.addEventListener("open", () => {
      const described = tools.map(({ run: _, ...tool }) => tool);
      send({ type: "register", request: "register", client, tools: described });
    });
    opened.addEventListener("message", ({ data }: { data: unknown }) =>
      onMessage(JSON.parse(String(data)) as EventMessage),
    );
    opened.addEventListener("error", () => undefined);
    opened.addEventListener("close", ({ reason }: { reason?: string }) => {
      if (isStopped || socket !== opened) return;
      onReconnect?.(reason || "the connection was lost");
      setTimeout(() => isStopped || connect(), wait);
      wait = Math.min(wait * 2, MAX_WAIT_MS);
    });
  }

  function onMessage(message: EventMessage): void {
    if (message.type === "client_call") void take(message.data);
    if (message.type === "client_call_ended") running.get(message.data.id)?.abort();
    if (message.type !== "answer" || message.data.request !== "register") return;
    if ("error" in message.data) {
      // What the server refuses it will refuse again.
      isStopped = true;
      settle.reject(new HaftClientError(0, message.data.error));
      return socket?.close();
    }
    wait = FIRST_WAIT_MS;
    settle.resolve();
  }

  async function take(call: ClientCall): Promise<void> {
    let answer = answers.get(call.id);
    if (!answer) {
      answers.set(call.id, (answer = run(call)));
      const [oldest] = answers.keys();
      if (answers.size > MAX_REMEMBERED && oldest !== undefined) answers.delete(oldest);
    }
    const result = await answer;
    try {
      send({ type: "result", request: call.id, id: call.id, ...result });
    } catch {
      // Asked again when the connection is back, and then answered with the same.
    }
  }

  async function run(call: ClientCall): Promise<ClientToolResult> {
    const controller = new AbortController();
    running.set(call.id, controller);
    try {
      const tool = byName.get(call.tool);
      if (!tool) return { error: `This client has no tool "${call.tool}".` };
      return toAnswer(await tool.run(call.input as never, { ...call, signal: controller.signal }));
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    } finally {
      running.delete(call.id);
    }
  }

  function send(request: ClientRequest): void {
    socket?.send(JSON.stringify(request));
  }
}

function toAnswer(output: unknown): ClientToolResult {
  if (typeof output === "string") return { content: output };
  if (typeof output !== "object" || output === null) return { details: output ?? null };
  const { content, details } = output as ClientToolResult;
  if (typeof content !== "string" && !Array.isArray(content)) return { details: output };
  return { content, details };
}

function defaultWebSocket(): NonNullable<ServeToolsOptions["WebSocket"]> {
  const { WebSocket } = globalThis as { WebSocket?: NonNullable<ServeToolsOptions["WebSocket"]> };
  if (!WebSocket) throw new TypeError("There is no WebSocket here: give `WebSocket` of the package `ws` as an option.");
  return WebSocket;
}
