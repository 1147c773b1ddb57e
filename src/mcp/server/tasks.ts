import type { CallToolResult, Server, ServerContext, StandardSchemaV1 } from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import type { ToolResult } from "../../core/result.ts";
import { isObject } from "../../schema/json-schema.ts";
import { type DetailedTask, type Task, TASKS } from "../task-protocol.ts";
import { outputSchemaFor } from "./listed-tools.ts";
import type { TaskInputs } from "./mcp-call.ts";
import type { McpConnection, McpService, ServerSdk } from "./mcp-service.ts";
import { readRound, type Round } from "./round.ts";
import type { McpJob } from "./server-options.ts";
import { writePending, writeResult } from "./tool-result.ts";

/** How long the result of a task is available after its end. Jobs are usually kept longer. */
const RETENTION_MS = 60 * 60_000;
const POLL_MS = 1000;

/** Background calls as tasks of the extension: a task is a job, and outlives the connection. */
export function serveTasks(server: Server, connection: McpConnection, service: McpService): void {
  const { sdk, clock } = service;
  const { identity } = connection;
  const { jobs } = service.runtime;
  if (!jobs) return;

  const find = async (context: ServerContext, taskId: string): Promise<{ job: McpJob; round: Round }> => {
    const round = readRound(context, server, clock);
    if (!round.followsTasks) throw missingTasks(sdk);
    const id = service.taskIds.open(taskId, identity.id);
    const job = id === undefined ? undefined : await jobs.get(id);
    // The same error for tasks of others, so they cannot be discovered.
    if (!job) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, "Task not found.");
    return { job, round };
  };
  const inputsOf = (job: McpJob): TaskInputs | undefined => {
    const state = service.calls.get(job.call.callId)?.state;
    return state?.is === "task" ? state.inputs : undefined;
  };

  server.setRequestHandler("tasks/get", { params: taskParameters }, async ({ taskId }, context) => {
    const { job, round } = await find(context, taskId);
    const task = describe(job, taskId, clock);
    if (job.result) return { ...task, ...endOf(job.result, task.status, round) };
    const inputRequests = inputsOf(job)?.requests;
    return inputRequests ? { ...task, status: "input_required", inputRequests } : { ...task };
  });
  server.setRequestHandler("tasks/update", { params: taskParameters }, async ({ taskId, inputResponses }, context) => {
    const { job, round } = await find(context, taskId);
    inputsOf(job)?.answer({ ...round.responses, ...inputResponses });
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params: taskParameters }, async ({ taskId }, context) => {
    const { job } = await find(context, taskId);
    if (!job.result) await jobs.cancel(job.id, "its client cancelled it");
    return {};
  });

  /** A failed tool is a result. Only an error of the protocol fails the task. */
  function endOf(result: ToolResult, status: Task["status"], round: Round): Partial<DetailedTask> {
    if (status === "cancelled") return {};
    const requiredCapabilities = missingIn(result);
    if (requiredCapabilities) {
      const { code, message, data } = new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities });
      return { status: "failed", statusMessage: result.display, error: { code, message, data } };
    }
    return { result: project(result, round) };
  }

  function project(result: ToolResult, { clientName }: Round): CallToolResult {
    const { toolName } = result;
    if (result.status === "pending")
      return writePending(result.callId, { name: toolName, ...result.pending }, undefined);
    const outputSchema = outputSchemaFor(service.runtime.tools.registry.get(toolName), clientName);
    const fullOutput = service.outputs.link(result, { ...identity, session: connection.session });
    return server.projectCallToolResult(writeResult(result, { outputSchema, fullOutput }), outputSchema);
  }
}

/** The response to a call that continues as a task. */
export function writeCreatedTask(
  job: McpJob,
  { owner, service }: { owner: string; service: McpService },
): CallToolResult {
  const task = describe(job, service.taskIds.seal(job.id, owner), service.clock);
  // The status is always `working`: clients poll for the current one. The SDK's type does not know tasks.
  const created: object = { ...task, status: "working", resultType: "task" };
  return created as CallToolResult;
}

export function missingTasks(sdk: ServerSdk): Error {
  return new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS]: {} } } });
}

function describe(job: McpJob, taskId: string, clock: Clock): Task {
  const { createdAt, startedAt, endedAt, progress } = job;
  const message = progress?.message ?? (job.state === "running" ? undefined : MESSAGES[job.state]);
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

const MESSAGES: Readonly<Record<string, string>> = {
  queued: "Queued.",
  delayed: "Scheduled for later.",
  cancelled: "Cancelled.",
};

function missingIn(result: ToolResult): Record<string, unknown> | undefined {
  if (result.status !== "failed" || !isObject(result.error.data)) return undefined;
  const { requiredCapabilities } = result.error.data;
  return isObject(requiredCapabilities) ? requiredCapabilities : undefined;
}

interface TaskParameters {
  taskId: string;
  inputResponses?: Record<string, unknown>;
}

/** The parameters of all task requests. */
const taskParameters: StandardSchemaV1<unknown, TaskParameters> = {
  "~standard": {
    version: 1,
    vendor: "haft",
    validate(value) {
      const { taskId, inputResponses } = isObject(value) ? value : {};
      if (typeof taskId !== "string") return { issues: [{ message: "taskId must be a string", path: ["taskId"] }] };
      return { value: { taskId, inputResponses: isObject(inputResponses) ? inputResponses : undefined } };
    },
  },
};
