import type { Client, InputRequests, StandardSchemaV1, Transport } from "@modelcontextprotocol/client";
import type { Clock } from "../../core/clock.ts";
import { type DetailedTask, type Task, TASKS } from "../task-protocol.ts";
import type { Intercept, Message } from "./connection.ts";
import { answerRequest, type ServerAnswers } from "./server-requests.ts";

export interface FollowOptions extends ServerAnswers {
  client: Client;
  server: string;
  clock: Clock;
}

type RequestId = string | number;

const MIN_POLL_MS = 20;
const MAX_POLL_MS = 60_000;
const DEFAULT_POLL_MS = 1000;
const ASK_MS = 30_000;
/** A server that is being started again is asked a few times more. */
const MAX_FAILURES = 5;

/**
 * A server may answer a call with a task. The SDK takes only results, so the task is followed below it: to the SDK, and to
 * whoever called, it is a call that takes its time, with progress and cancellation.
 */
export function followTasks(transport: Transport, options: FollowOptions): Intercept {
  const { client, server, clock } = options;
  /** Calls that may still be answered with a task, or are being followed as one. */
  const calls = new Map<RequestId, AbortController>();
  const send = transport.send.bind(transport);
  transport.send = (message, sendOptions) => {
    if (client.getServerCapabilities()?.extensions?.[TASKS] !== undefined) {
      const { method, id, params } = message as { method?: string; id?: RequestId; params?: { requestId?: RequestId } };
      if (method === "tools/call" && id !== undefined) watch(id, sendOptions?.requestSignal);
      else if (method === "notifications/cancelled") calls.get(params?.requestId ?? "")?.abort();
    }
    return send(message, sendOptions);
  };

  return (message, deliver) => {
    if (calls.size === 0) return true;
    const { id, result } = message as { id?: RequestId; result?: Task & { resultType?: unknown } };
    const call = id === undefined ? undefined : calls.get(id);
    if (id === undefined || !call) return true;
    if (result?.resultType !== "task" || typeof result.taskId !== "string") {
      calls.delete(id);
      return true;
    }
    void follow(result, id, call.signal)
      .then((answer) => answer && deliver(answer))
      .finally(() => calls.delete(id));
    return false;

    async function follow(created: Task, callId: RequestId, signal: AbortSignal): Promise<Message | undefined> {
      try {
        return await end(created, callId, signal);
      } catch (error) {
        // Whoever called is not there any more, and was told so by the SDK.
        if (signal.aborted) {
          await cancel(created.taskId);
          return undefined;
        }
        return failure(callId, { code: -32_603, message: (error as Error).message, data: { isLost: true } });
      }
    }

    async function end({ taskId, pollIntervalMs }: Task, callId: RequestId, signal: AbortSignal): Promise<Message> {
      const answered = new Set<string>();
      let pauseMs = pollIntervalMs;
      let polls = 0;
      for (let failures = 0; ;) {
        await pause(pauseMs, signal);
        let task: DetailedTask;
        try {
          task = await client.request({ method: "tasks/get", params: { taskId } }, anyTask, {
            signal,
            timeout: ASK_MS,
          });
          failures = 0;
        } catch (error) {
          // A refusal is final; a connection may come back.
          if (signal.aborted || typeof (error as { code?: unknown }).code === "number" || ++failures >= MAX_FAILURES)
            throw error;
          continue;
        }
        pauseMs = task.pollIntervalMs;
        if (task.status === "completed") return done(callId, task.result ?? { content: [] });
        if (task.status === "failed") return failure(callId, task.error ?? { code: -32_603, message: "It failed." });
        if (task.status === "cancelled") return done(callId, cancelledBy(server, task));
        reportProgress(callId, ++polls, task);
        if (task.inputRequests) await answer(taskId, unanswered(task.inputRequests, answered), signal);
      }
    }

    function reportProgress(callId: RequestId, progress: number, { statusMessage }: Task): void {
      const params = { progressToken: callId, progress, message: statusMessage || undefined };
      if (statusMessage) deliver({ jsonrpc: "2.0", method: "notifications/progress", params });
    }
  };

  function watch(id: RequestId, signal: AbortSignal | undefined): void {
    const controller = new AbortController();
    calls.set(id, controller);
    signal?.addEventListener("abort", () => controller.abort(), { once: true });
  }

  async function answer(taskId: string, requests: InputRequests, signal: AbortSignal): Promise<void> {
    const requested = Object.entries(requests).map(
      async ([key, request]) => [key, await answerRequest(request, server, options, signal)] as const,
    );
    const inputResponses = Object.fromEntries(await Promise.all(requested));
    if (requested.length === 0) return;
    await client.request({ method: "tasks/update", params: { taskId, inputResponses } }, anyTask, { timeout: ASK_MS });
  }

  async function cancel(taskId: string): Promise<void> {
    await client
      .request({ method: "tasks/cancel", params: { taskId } }, anyTask, { timeout: ASK_MS })
      .catch(() => undefined);
  }

  function pause(ms: number | undefined, signal: AbortSignal): Promise<void> {
    const wanted = Number.isFinite(ms) ? ms! : DEFAULT_POLL_MS;
    return new Promise((resolve, reject) => {
      const stop = (): void => (timer.cancel(), reject(new Error("cancelled")));
      const timer = clock.after(Math.min(Math.max(wanted, MIN_POLL_MS), MAX_POLL_MS), () => {
        signal.removeEventListener("abort", stop);
        resolve();
      });
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true });
    });
  }
}

/** What was not asked before, by its key: a person is asked once. */
function unanswered(requests: InputRequests, answered: Set<string>): InputRequests {
  const fresh = Object.entries(requests).filter(([key]) => !answered.has(key));
  for (const [key] of fresh) answered.add(key);
  return Object.fromEntries(fresh);
}

function done(id: RequestId, result: object): Message {
  return { jsonrpc: "2.0", id, result: { ...result, resultType: "complete" } };
}

function failure(id: RequestId, error: { code: number; message: string; data?: unknown }): Message {
  return { jsonrpc: "2.0", id, error };
}

function cancelledBy(server: string, { statusMessage }: Task): object {
  const why = statusMessage ? `: ${statusMessage}` : "";
  return { content: [{ type: "text", text: `MCP server "${server}" cancelled the task${why}` }], isError: true };
}

/** What a server says of a task, or that it has heard. What is missing in it is treated as not there. */
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
