// The status of tasks for clients that listen to it: what `tasks/get` answers, sent whenever it has changed. The SDK does not
// know this part of the extension, so a subscription to tasks is served here, and has nothing else.
import type { JSONRPCMessage, JSONRPCRequest, RequestId, Transport } from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import { isObject } from "../../schema/json-schema.ts";

type Meta = NonNullable<JSONRPCRequest["params"]>["_meta"];

interface Listen {
  id: RequestId;
  taskIds: readonly string[];
  _meta: Meta;
}

interface Answer {
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

const MAX_TASKS = 20;
const POLL_MS = 500;
const MISSING_CAPABILITY = -32021;

/** `subscriptions/listen` with ids of tasks; undefined for any other message. */
function readListen(message: unknown): Listen | undefined {
  if (!isObject(message) || message["method"] !== "subscriptions/listen" || !isObject(message["params"]))
    return undefined;
  const { notifications, _meta } = message["params"];
  const ids = isObject(notifications) ? notifications["taskIds"] : undefined;
  if (!Array.isArray(ids) || ids.length === 0 || message["id"] === undefined) return undefined;
  const taskIds = [...new Set(ids)].filter((id) => typeof id === "string").slice(0, MAX_TASKS);
  return { id: message["id"] as RequestId, taskIds, _meta: _meta as Meta };
}

interface FollowOptions {
  clock: Clock;
  signal: AbortSignal;
  /** Asks the server as the client could, and so with its rights. */
  ask(message: JSONRPCRequest): Promise<Answer>;
  send(message: JSONRPCMessage): void;
}

/** By polling, because another process may run the task. The subscription ends with its last task. */
async function followTasks({ id, taskIds, _meta }: Listen, { clock, signal, ask, send }: FollowOptions): Promise<void> {
  const meta = { "io.modelcontextprotocol/subscriptionId": id };
  const get = (taskId: string): Promise<Answer> =>
    ask({ jsonrpc: "2.0", id: crypto.randomUUID(), method: "tasks/get", params: { taskId, _meta } }).catch(() => ({}));
  const sent = new Map<string, string>();
  for (const taskId of taskIds) {
    const { result, error } = await get(taskId);
    if (error?.code === MISSING_CAPABILITY) return send({ jsonrpc: "2.0", id, error });
    if (result) sent.set(taskId, "");
  }
  const params = { notifications: { taskIds: [...sent.keys()] }, _meta: meta };
  send({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params });
  while (sent.size > 0 && !signal.aborted) {
    for (const [taskId, before] of sent) {
      const { result: { resultType: _type, _meta: _serverInfo, ...task } = {} } = await get(taskId);
      // As long as it runs, it is kept longer each time.
      const state = JSON.stringify({ ...task, ttlMs: undefined });
      sent.set(taskId, state);
      if (task["status"] !== "working" && task["status"] !== "input_required") sent.delete(taskId);
      if (signal.aborted || state === before || task["taskId"] === undefined) continue;
      send({ jsonrpc: "2.0", method: "notifications/tasks", params: { ...task, _meta: meta } });
    }
    if (sent.size > 0) await new Promise<void>((resolve) => clock.after(POLL_MS, resolve).setRef(false));
  }
  if (!signal.aborted) send({ jsonrpc: "2.0", id, result: { resultType: "complete", _meta: meta } });
}

/** Serves such a subscription over HTTP. Undefined for other messages. */
export function listenOverHttp(
  body: unknown,
  { clock, forward }: { clock: Clock; forward(message: JSONRPCRequest): Promise<Response> },
): Response | undefined {
  const listen = readListen(body);
  if (!listen) return undefined;
  const stop = new AbortController();
  const { signal } = stop;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (text: string): void => void (signal.aborted || controller.enqueue(new TextEncoder().encode(text)));
      const beat = setInterval(() => write(": keepalive\n\n"), 15_000);
      signal.addEventListener("abort", () => clearInterval(beat));
      const ask = async (message: JSONRPCRequest): Promise<Answer> => (await (await forward(message)).json()) as Answer;
      const send = (message: JSONRPCMessage): void => write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      void followTasks(listen, { clock, signal, ask, send }).finally(() => {
        if (!signal.aborted) controller.close();
        stop.abort();
      });
    },
    cancel: () => stop.abort(),
  });
  return new Response(stream, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform" },
  });
}

/**
 * The same for a connection, such as stdio: `take` says whether a message of the client is handled here. What the SDK answers
 * to the questions from here does not go to the client.
 */
export function createTaskSubscriptions(
  transport: Transport,
  { clock, forward }: { clock: Clock; forward(message: JSONRPCMessage): void },
): { take(message: JSONRPCMessage): boolean; close(): void } {
  const open = new Map<unknown, AbortController>();
  const asked = new Map<RequestId, (answer: Answer) => void>();
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const answer = "id" in message && message.id !== undefined ? asked.get(message.id) : undefined;
    await (answer ? answer(message as Answer) : send(message, options));
  };
  const ask = (message: JSONRPCRequest): Promise<Answer> =>
    new Promise<Answer>((resolve) => {
      asked.set(message.id, resolve);
      forward(message);
    }).finally(() => asked.delete(message.id));
  return {
    take(message) {
      if ("method" in message && message.method === "notifications/cancelled")
        open.get(message.params?.["requestId"])?.abort();
      const listen = readListen(message);
      if (!listen) return false;
      const stop = new AbortController();
      const { signal } = stop;
      open.set(listen.id, stop);
      const options = { clock, signal, ask, send: (sent: JSONRPCMessage) => void send(sent).catch(() => stop.abort()) };
      void followTasks(listen, options).finally(() => open.delete(listen.id));
      return true;
    },
    close: () => open.forEach((stop) => stop.abort()),
  };
}
