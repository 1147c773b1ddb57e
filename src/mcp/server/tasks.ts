import type { CallToolResult, Server, ServerContext, StandardSchemaV1 } from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import type { ToolResult } from "../../core/result.ts";
import { type DetailedTask, supportsTasks, type Task, TASKS } from "../task-protocol.ts";
import type { McpConnection, McpService, ServerSdk } from "./mcp-service.ts";
import { type OpenTask, readRound, type Round } from "./open-requests.ts";
import type { McpJob } from "./server-options.ts";
import { writePending, writeResult } from "./tool-result.ts";

/** What is kept of an ended job is kept longer, as a rule; this long a client may count on it. */
const RETENTION_MS = 60 * 60_000;
const POLL_MS = 1000;

/**
 * Background calls as tasks, for clients that know the extension. A task is its job: it outlives the connection and, where
 * jobs are kept, the process.
 */
export function serveTasks(server: Server, connection: McpConnection, service: McpService): void {
  const { sdk, clock } = service;
  const { identity } = connection;
  const { jobs } = service.runtime;
  if (!jobs) return;

  const find = async (context: ServerContext, taskId: string): Promise<{ job: McpJob; round: Round }> => {
    const round = readRound(context, server, clock);
    if (!supportsTasks(round.capabilities)) throw missingTasks(sdk);
    const id = service.taskIds.open(taskId, identity.id);
    const job = id === undefined ? undefined : await jobs.get(id);
    // Somebody else's task is told from none by nobody.
    if (!job)
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, "Task not found: it is not yours, or gone.");
    return { job, round };
  };
  const openTask = (job: McpJob): OpenTask | undefined => service.calls.get(job.call.callId)?.task;

  server.setRequestHandler("tasks/get", { params: taskParameters }, async ({ taskId }, context) => {
    const { job } = await find(context, taskId);
    const task: DetailedTask = { ...describe(job, taskId, clock) };
    const requests = job.result ? undefined : openTask(job)?.requests;
    if (requests) Object.assign(task, { status: "input_required", inputRequests: requests });
    else if (job.result) Object.assign(task, endOf(job.result, task.status));
    return { ...task };
  });
  server.setRequestHandler("tasks/update", { params: taskParameters }, async ({ taskId, inputResponses }, context) => {
    const { job, round } = await find(context, taskId);
    openTask(job)?.answer({ ...round.responses, ...inputResponses });
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params: taskParameters }, async ({ taskId }, context) => {
    const { job } = await find(context, taskId);
    if (!job.result) await jobs.cancel(job.id, "its client cancelled it");
    return {};
  });

  /** A tool that failed is a result like any other; only what would be an error of the protocol fails the task. */
  function endOf(result: ToolResult, status: Task["status"]): Partial<DetailedTask> {
    if (status === "cancelled") return {};
    const requiredCapabilities = missingIn(result);
    if (requiredCapabilities) {
      const { code, message, data } = new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities });
      return { status: "failed", statusMessage: result.display, error: { code, message, data } };
    }
    return { result: project(result) };
  }

  function project(result: ToolResult): CallToolResult {
    const { toolName } = result;
    if (result.status === "pending")
      return writePending(result.callId, { name: toolName, ...result.pending }, undefined);
    const output = service.runtime.registry.get(toolName)?.output;
    const whole = service.outputs.link(result, identity);
    const written = writeResult(result, { hasOutputSchema: output !== undefined, whole });
    return server.projectCallToolResult(written, output?.jsonSchema);
  }
}

/** What a call is answered with that goes on as a task; the job can be asked for already. */
export function writeCreatedTask(
  job: McpJob,
  { owner, service }: { owner: string; service: McpService },
): CallToolResult {
  const task = describe(job, service.taskIds.seal(job.id, owner), service.clock);
  // It says how the call began; how it stands is asked for.
  const created = { ...task, status: "working", resultType: "task" };
  return created as unknown as CallToolResult;
}

export function missingTasks(sdk: ServerSdk): Error {
  return new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS]: {} } } });
}

function describe(job: McpJob, taskId: string, clock: Clock): Task {
  const { createdAt, startedAt, endedAt, progress } = job;
  const message = progress?.message ?? (job.state === "running" ? undefined : WORDS[job.state]);
  const until = (endedAt ?? clock.now()) + RETENTION_MS;
  return {
    taskId,
    status: STATUSES[job.state] ?? "working",
    statusMessage: message,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(endedAt ?? startedAt ?? createdAt).toISOString(),
    ttlMs: Math.round(until - createdAt),
    pollIntervalMs: POLL_MS,
  };
}

const STATUSES: Readonly<Record<string, Task["status"]>> = {
  completed: "completed",
  failed: "completed",
  cancelled: "cancelled",
};

const WORDS: Readonly<Record<string, string>> = {
  queued: "Waits for its turn.",
  delayed: "Waits for its time.",
  cancelled: "Was cancelled.",
};

function missingIn(result: ToolResult): Record<string, object> | undefined {
  if (result.status !== "failed") return undefined;
  return (result.error.data as { requiredCapabilities?: Record<string, object> } | undefined)?.requiredCapabilities;
}

export interface TaskParameters {
  taskId: string;
  inputResponses?: Record<string, unknown>;
}

/** Of every request about a task. */
const taskParameters: StandardSchemaV1<unknown, TaskParameters> = {
  "~standard": {
    version: 1,
    vendor: "haft",
    validate(value) {
      const { taskId, inputResponses } = (value ?? {}) as Partial<Record<keyof TaskParameters, unknown>>;
      if (typeof taskId !== "string") return { issues: [{ message: "taskId must be a string", path: ["taskId"] }] };
      const isGiven = typeof inputResponses === "object" && inputResponses !== null;
      return { value: { taskId, inputResponses: isGiven ? (inputResponses as Record<string, unknown>) : undefined } };
    },
  },
};
