import type { Client, InputRequests, StandardSchemaV1, Transport } from "@modelcontextprotocol/client";
import { errorMessage } from "../../core/error.ts";
import { type Clock, pause } from "../../core/clock.ts";
import { isObject } from "../../schema/json-schema.ts";
import { type DetailedTask, type Task, TASKS } from "../task-protocol.ts";
import type { Intercept, Message } from "./connection.ts";
import { answerRequest, type ServerAnswers } from "./server-requests.ts";

interface FollowOptions extends ServerAnswers {
  client: Client;
  server: string;
  clock: Clock;
}

type RequestId = string | number;
type Deliver = (message: Message) => void;

const MIN_POLL_MS = 20;
const MAX_POLL_MS = 60_000;
const DEFAULT_POLL_MS = 1000;
const REQUEST_TIMEOUT_MS = 30_000;
/** The gate enforces the time limit of the call. */
const NO_LIMIT_MS = 2_147_483_647;
/** A server that restarts gets a few more requests. */
const MAX_FAILURES = 5;

/** Follows a call answered with a task. For the SDK, which knows no tasks, it is a long call with progress. */
export function followTasks(transport: Transport, options: FollowOptions): Intercept {
  const follower = new TaskFollower(options);
  const send = transport.send.bind(transport);
  transport.send = (message, sendOptions) => {
    follower.onSend(message, sendOptions?.requestSignal);
    return send(message, sendOptions);
  };
  return (message, deliver) => follower.onMessage(message, deliver);
}

class TaskFollower {
  readonly #options: FollowOptions;
  readonly #client: Client;
  /** Calls that may still be answered with a task, or are followed as one. */
  readonly #calls = new Map<RequestId, AbortController>();

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#client = options.client;
  }

  onSend(message: Message, signal: AbortSignal | undefined): void {
    if (!("method" in message) || !this.#knowsTasks()) return;
    if (message.method === "tools/call" && "id" in message) {
      const controller = new AbortController();
      this.#calls.set(message.id, controller);
      signal?.addEventListener("abort", () => controller.abort(), { once: true });
    } else if (message.method === "notifications/cancelled") {
      const requestId = message.params?.["requestId"];
      if (isRequestId(requestId)) this.#calls.get(requestId)?.abort();
    }
  }

  #knowsTasks(): boolean {
    const capabilities = this.#client.getServerCapabilities();
    return capabilities?.extensions?.[TASKS] !== undefined || capabilities?.tasks !== undefined;
  }

  /** Returns whether the SDK gets the message now. */
  onMessage(message: Message, deliver: Deliver): boolean {
    if (this.#calls.size === 0 || !("id" in message) || message.id === undefined) return true;
    const { id } = message;
    const call = this.#calls.get(id);
    if (!call) return true;
    const result = "result" in message ? message.result : undefined;
    const task = createdTask(result) ?? createdLegacyTask(result);
    if (!task) {
      this.#calls.delete(id);
      return true;
    }
    void this.#follow(task, { id, signal: call.signal, deliver })
      .then((answer) => answer && deliver(answer))
      .finally(() => this.#calls.delete(id));
    return false;
  }

  async #follow(task: Task, call: FollowedCall): Promise<Message | undefined> {
    try {
      return await (isLegacy(task) ? this.#awaitLegacy(task, call) : this.#poll(task, call));
    } catch (error) {
      // The SDK has already told the caller.
      if (call.signal.aborted) {
        await this.#request("tasks/cancel", { taskId: task.taskId }).catch(() => undefined);
        return undefined;
      }
      const message = errorMessage(error);
      return failure(call.id, { code: -32_603, message, data: { isLost: true } });
    }
  }

  async #poll({ taskId, pollIntervalMs }: Task, { id, signal, deliver }: FollowedCall): Promise<Message> {
    const answered = new Set<string>();
    let pauseMs = pollIntervalMs;
    let polls = 0;
    for (let failures = 0; ;) {
      await this.#pause(pauseMs, signal);
      let task: DetailedTask;
      try {
        task = await this.#request("tasks/get", { taskId }, signal);
        failures = 0;
      } catch (error) {
        // A JSON-RPC error is final; a connection may come back.
        if (signal.aborted || isRpcError(error) || ++failures >= MAX_FAILURES) throw error;
        continue;
      }
      pauseMs = task.pollIntervalMs;
      if (task.status === "completed") return done(id, task.result ?? { content: [] });
      if (task.status === "failed") return failure(id, task.error ?? { code: -32_603, message: "It failed." });
      if (task.status === "cancelled") return done(id, cancelledBy(this.#options.server, task));
      reportProgress(id, ++polls, task, deliver);
      if (task.inputRequests) await this.#answer(taskId, unanswered(task.inputRequests, answered), signal);
    }
  }

  /** A task of the revision 2025-11-25: one request waits for its result. What the server asks meanwhile, it asks as usual. */
  async #awaitLegacy({ taskId }: Task, { id, signal }: FollowedCall): Promise<Message> {
    const request = { method: "tasks/result", params: { taskId } };
    const result = await this.#client.request(request, anyTask, { signal, timeout: NO_LIMIT_MS });
    return { jsonrpc: "2.0", id, result: { ...result } };
  }

  async #answer(taskId: string, requests: InputRequests, signal: AbortSignal): Promise<void> {
    const { server } = this.#options;
    const responses = Object.entries(requests).map(
      async ([key, request]) => [key, await answerRequest(request, server, this.#options, signal)] as const,
    );
    if (responses.length === 0) return;
    const inputResponses = Object.fromEntries(await Promise.all(responses));
    await this.#request("tasks/update", { taskId, inputResponses });
  }

  #request(method: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<DetailedTask> {
    return this.#client.request({ method, params }, anyTask, { signal, timeout: REQUEST_TIMEOUT_MS });
  }

  async #pause(ms = DEFAULT_POLL_MS, signal: AbortSignal): Promise<void> {
    const requested = Number.isFinite(ms) ? ms : DEFAULT_POLL_MS;
    await pause(Math.min(Math.max(requested, MIN_POLL_MS), MAX_POLL_MS), signal, this.#options.clock);
    if (signal.aborted) throw new Error("cancelled");
  }
}

interface FollowedCall {
  id: RequestId;
  signal: AbortSignal;
  deliver: Deliver;
}

function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || typeof value === "number";
}

/** The task in a result, if it is one. */
function createdTask(result: unknown): Task | undefined {
  const isTask = isObject(result) && result["resultType"] === "task" && typeof result["taskId"] === "string";
  return isTask ? (result as unknown as Task) : undefined;
}

/** The revision 2025-11-25 has the task in a field of the result. */
function createdLegacyTask(result: unknown): Task | undefined {
  const task = isObject(result) ? result["task"] : undefined;
  const isTask = isObject(task) && typeof task["taskId"] === "string" && !("content" in (result as object));
  return isTask ? (task as unknown as Task) : undefined;
}

/** Only the newer revision has a `resultType`. */
function isLegacy(task: Task): boolean {
  return !("resultType" in task);
}

function isRpcError(error: unknown): boolean {
  return isObject(error) && typeof error["code"] === "number";
}

function reportProgress(id: RequestId, progress: number, { statusMessage }: Task, deliver: Deliver): void {
  if (!statusMessage) return;
  const params = { progressToken: id, progress, message: statusMessage };
  deliver({ jsonrpc: "2.0", method: "notifications/progress", params });
}

/** The requests that were not answered before, by key: a person is asked once. */
function unanswered(requests: InputRequests, answered: Set<string>): InputRequests {
  const open = Object.entries(requests).filter(([key]) => !answered.has(key));
  for (const [key] of open) answered.add(key);
  return Object.fromEntries(open);
}

function done(id: RequestId, result: object): Message {
  return { jsonrpc: "2.0", id, result: { ...result, resultType: "complete" } };
}

function failure(id: RequestId, error: { code: number; message: string; data?: unknown }): Message {
  return { jsonrpc: "2.0", id, error };
}

function cancelledBy(server: string, { statusMessage }: Task): object {
  const reason = statusMessage ? `: ${statusMessage}` : "";
  return { content: [{ type: "text", text: `MCP server "${server}" cancelled the task${reason}` }], isError: true };
}

/** A task, or an acknowledgement. Missing fields are treated as absent. */
const anyTask: StandardSchemaV1<unknown, DetailedTask> = {
  "~standard": {
    version: 1,
    vendor: "haft",
    validate(value) {
      if (typeof value === "object" && value !== null) return { value: value as DetailedTask };
      return { issues: [{ message: "a task must be an object" }] };
    },
  },
};
