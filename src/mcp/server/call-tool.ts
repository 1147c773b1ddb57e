import type { CallToolResult, InputRequests, InputRequiredResult } from "@modelcontextprotocol/server";
import type { CallOptions } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import { supportsTasks } from "../task-protocol.ts";
import { approvalForm, QUESTION, requestPermission, takePermission } from "./approval-form.ts";
import type { McpConnection, McpService } from "./mcp-service.ts";
import { OpenRequest, type Round, waitWithClient } from "./open-requests.ts";
import { digestOf, type RequestState } from "./request-state.ts";
import type { McpQuestion, McpRuntime } from "./server-options.ts";
import { missingTasks, writeCreatedTask } from "./tasks.ts";
import { writePending, writeResult } from "./tool-result.ts";

type Params = { name: string; arguments?: Record<string, unknown> };
type ToolCallResponse = CallToolResult | InputRequiredResult;

const METHOD = "tools/call";
const INPUT_MS = 600_000;
/** Who answered through another door usually makes the call; it is given the time. */
const OTHERS_FIRST_MS = 2000;
/** Between using an answer and being known as made. */
const BEGINS_WITHIN_MS = 200;
const MAX_ROUNDS = 16;
const MAX_PENDING = 1000;

/**
 * One call, through the gate, whoever must be asked on the way: the person at the client where it can show a form, else
 * whoever answers through another door meanwhile. It never runs because nobody could be asked.
 */
export async function callTool(
  { name, arguments: input = {} }: Params,
  round: Round,
  { identity, session }: McpConnection,
  service: McpService,
): Promise<ToolCallResponse> {
  const { sdk, runtime, clock, options, toolCatalog } = service;
  if (!identity.rights.includes("call")) {
    throw new sdk.ProtocolError(
      sdk.ProtocolErrorCode.InvalidRequest,
      `"${identity.name}" may not call tools: its token lacks the right.`,
    );
  }
  const tool = runtime.registry.get(toolCatalog.nameOf(name));
  const mayFollow = round.isModern && supportsTasks(round.capabilities);
  if (!mayFollow && tool && options.needsTask?.(tool)) throw missingTasks(sdk);
  const wishesLater = mayFollow && round.meta["haft/background"] === true;
  const isForLater = runtime.jobs !== undefined && (wishesLater || tool?.mode === "background");
  const binding = { owner: identity.id, method: METHOD, params: [name, input] };
  const pendingKey = (): string => digestOf(binding);
  const state = round.state === undefined ? undefined : service.states.open(round.state, binding);
  if (round.state !== undefined && !state) throw badState();
  const left = service.pending.size > 0 ? service.pending.get(pendingKey()) : undefined;
  const call = state ? restore(state) : new OpenRequest<ToolResult>(left?.id ?? service.nextCallId(), round);
  let jobId = left?.jobId;
  const leave = call.enter(round);
  try {
    return await follow();
  } finally {
    leave();
  }

  async function follow(): Promise<ToolCallResponse> {
    if (jobId !== undefined) call.serve(() => waitForJob());
    else if (!state) call.serve(() => execute({ isRetry: left !== undefined }));
    else if (state.question === undefined) resumeInputs();
    const again = state?.question === undefined ? undefined : await handleQuestion(state.question, takePermission);
    if (again) return again;
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
      const end = await call.next();
      if (end.kind === "inputs" && !call.isQueued) return requireInputs(end.requests);
      const result = end.kind === "question" ? undefined : end.kind === "result" ? end.result : await call.result;
      if (jobId === undefined && result?.status === "pending" && result.pending.kind === "job" && runtime.jobs) {
        jobId = result.pending.id;
        if (mayFollow) return returnTask(jobId);
        call.serve(() => waitForJob());
        continue;
      }
      if (result && !(result.status === "pending" && result.pending.kind === "approval")) return finish(result);
      if (result) call.needsServing = true;
      const id = end.kind === "question" ? end.id : result?.status === "pending" ? result.pending.id : "";
      const answer = await handleQuestion(id, requestPermission);
      if (answer) return answer;
    }
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, "The call was asked about too many times.");
  }

  /** Of a server that was started anew, or a gate that does not wait, nothing is left; the call is made again under its id. */
  function restore({ id }: RequestState): OpenRequest<ToolResult> {
    const suspended = service.suspended.take(id, identity.id);
    if (suspended?.isFirst) return suspended.request as OpenRequest<ToolResult>;
    const open = new OpenRequest<ToolResult>(id, round);
    // Sent twice: both are given the result of the one call.
    if (suspended) open.serve(() => suspended.request.result as Promise<ToolResult>);
    return open;
  }

  /** Only a call that may be made again has a key: to find the others again would be of no use, and is not free. */
  function execute({ isRetry }: { isRetry: boolean }): Promise<ToolResult> {
    const key = round.meta["haft/idempotencyKey"];
    const callOptions: CallOptions = {
      ...options.call,
      id: call.id,
      idempotencyKey: typeof key === "string" && key !== "" ? key : isRetry ? call.id : false,
      caller: { user: identity.name, session, agent: agentNameOf(round.clientName) },
      ...(wishesLater ? { background: true } : {}),
      signal: call.signal,
      onUpdate: (update) => call.round.progress(update),
    };
    service.calls.set(call.id, call);
    if (isForLater) service.subscribeToJobs();
    return toolCatalog.call(name, input, callOptions).finally(() => {
      if (!call.isQueued) forget();
    });
  }

  function forget(): void {
    if (service.calls.get(call.id) === call) service.calls.delete(call.id);
  }

  /** For a client that knows no tasks: it waits, though not longer than most would. */
  async function waitForJob(): Promise<ToolResult> {
    call.isQueued = false;
    service.calls.set(call.id, call);
    try {
      return await waitForJobResult(jobId!, { call, service });
    } finally {
      forget();
    }
  }

  async function returnTask(id: string): Promise<ToolCallResponse> {
    call.becomeTask();
    const job = await runtime.jobs!.get(id);
    if (!job) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, "The job of this call is gone.");
    if (job.endedAt !== undefined) forget();
    // Nobody will hear of the task.
    else if (call.signal.aborted) await runtime.jobs!.cancel(id, "its client cancelled it");
    return writeCreatedTask(job, { owner: identity.id, service });
  }

  /** The client comes back with what a tool asked for; where something is missing, it is asked again. */
  function resumeInputs(): void {
    // A tool that waited is gone with its process; what it has done is not known.
    if (call.needsServing) throw badState();
    call.answer(round.responses);
  }

  /** Undefined: the question was answered, and the call goes on. */
  async function handleQuestion(id: string, ask: typeof requestPermission): Promise<ToolCallResponse | undefined> {
    const watch = watchCall(runtime, call.id);
    try {
      const end = await ask(id, { call, round, identity, service });
      if (end.kind === "ask") return requireAnswer(end.question);
      if (end.kind === "pending") return returnPending(end.question);
      await resume(id, watch.made);
      return undefined;
    } finally {
      watch.stop();
    }
  }

  /** After an answer: a gate that waited goes on by itself; else the call is made again under its id, and finds the answer. */
  async function resume(id: string, madeElsewhere: Promise<void>): Promise<void> {
    call.setQuestion(undefined);
    if (!call.needsServing) return;
    const question = await runtime.approvals.get(id);
    const isUsed = question?.state === "approved" || question?.state === "used";
    if (isUsed && question.answeredBy !== identity.name) {
      const used = runtime.approvals.waitUntilUsed(id, OTHERS_FIRST_MS).then(() => pause(clock, BEGINS_WITHIN_MS));
      await Promise.race([madeElsewhere, used]);
    }
    call.serve(() => execute({ isRetry: true }));
  }

  function requireAnswer(question: McpQuestion): ToolCallResponse {
    const form = approvalForm(question, options.describe(question), { isModern: true });
    const until = question.expiresAt;
    return suspend({ [QUESTION]: { method: "elicitation/create", params: form } }, { question: question.id, until });
  }

  function requireInputs(requests: InputRequests): ToolCallResponse {
    return suspend(requests, { until: clock.now() + INPUT_MS });
  }

  function suspend(inputRequests: InputRequests, more: Omit<RequestState, "id">): ToolCallResponse {
    const suspendedFor = more.question === undefined ? "inputs" : "permission";
    if (!call.needsServing && !call.isSettled) {
      service.suspended.add(call, { owner: identity.id, suspendedFor, ms: more.until - clock.now() });
    }
    return sdk.inputRequired({ inputRequests, requestState: service.states.seal({ id: call.id, ...more }, binding) });
  }

  function returnPending({ id }: McpQuestion): ToolCallResponse {
    savePending({ id: call.id });
    return writePending(call.id, { name, kind: "approval", id }, options.approvalAddress?.(id));
  }

  function savePending(pending: { id: string; jobId?: string }): void {
    service.pending.set(pendingKey(), pending);
    if (service.pending.size > MAX_PENDING) service.pending.delete(service.pending.keys().next().value!);
  }

  function finish(result: ToolResult): ToolCallResponse {
    if (service.pending.size > 0 && service.pending.get(pendingKey())?.id === call.id)
      service.pending.delete(pendingKey());
    const { loadedTools } = result.metadata;
    if (options.defers && Array.isArray(loadedTools) && loadedTools.length > 0) service.toolsLoaded(session);
    if (result.status === "pending") {
      if (jobId !== undefined) savePending({ id: call.id, jobId });
      return writePending(result.callId, { name, ...result.pending }, undefined);
    }
    if (call.missing && round.isModern && result.status === "failed") {
      throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: call.missing });
    }
    const hasOutputSchema = runtime.registry.get(result.toolName)?.output !== undefined;
    return writeResult(result, { hasOutputSchema, whole: service.outputs.link(result, identity) });
  }

  function badState(): Error {
    const data = { reason: "invalid_request_state" };
    return new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, "Invalid or expired requestState", data);
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve).setRef(false);
  });
}

/** Of clients, and never the name of an agent of ours. */
function agentNameOf(clientName: string): string {
  return `mcp:${clientName.replaceAll(/[^\w.-]/g, "_").slice(0, 60)}`;
}

/** The result of a job, for a client that waits for it; `pending` where it takes longer. Who cancels the call, cancels the job. */
async function waitForJobResult(
  id: string,
  { call, service }: { call: OpenRequest<unknown>; service: McpService },
): Promise<ToolResult> {
  const jobs = service.runtime.jobs!;
  const result = await waitWithClient(call, service, (signal) => jobs.wait(id, { signal }));
  if (result) return result;
  if (call.signal.aborted) await jobs.cancel(id, "its client cancelled it").catch(() => undefined);
  const job = await jobs.get(id);
  if (!job)
    throw toolError("unavailable", `Job ${id} is gone`, { next: "Look at the state of things before you call again." });
  const { callId, toolName } = job.call;
  const message = `Job ${id} has not ended.`;
  return {
    ...{ callId, toolName, status: "pending", success: false, content: [{ type: "text", text: message }] },
    ...{ display: message, pending: { kind: "job", id }, metadata: {}, startedAt: job.createdAt },
  };
}

/**
 * Settles when the call is made here by whoever answered for it: once it has started, or ended without. From then on the
 * same call, made again, is given that one's result.
 */
function watchCall(runtime: McpRuntime, callId: string): { made: Promise<void>; stop(): void } {
  let resolveMade!: () => void;
  const made = new Promise<void>((resolve) => (resolveMade = resolve));
  const onCallEvent = (event: { callId: string }): void => {
    if (event.callId === callId) resolveMade();
  };
  const stops = [
    runtime.on("tool_call_started", onCallEvent),
    runtime.on("tool_call_completed", onCallEvent),
    runtime.on("tool_call_failed", onCallEvent),
  ];
  return { made, stop: () => stops.forEach((stop) => stop()) };
}
