import type { CallToolResult, InputRequests, InputRequiredResult, Server } from "@modelcontextprotocol/server";
import type { CallOptions } from "../../core/call.ts";
import { toolError } from "../../core/error.ts";
import type { Update } from "../../core/events.ts";
import { isForPerson, pendingResult, type ToolResult } from "../../core/result.ts";
import { supportsTasks } from "../task-protocol.ts";
import { approvalForm, QUESTION, requestPermission, takePermission } from "./approval-form.ts";
import { outputSchemaFor } from "./listed-tools.ts";
import type { McpConnection, McpService, PendingCall } from "./mcp-service.ts";
import { DEFAULT_HOLD_MS, OpenRequest, type Round, type RoundEnd, waitWithClient } from "./open-requests.ts";
import { digestOf, type RequestState, type StateBinding } from "./request-state.ts";
import type { McpIdentity, McpQuestion } from "./server-options.ts";
import { missingTasks, writeCreatedTask } from "./tasks.ts";
import type { NoAnswer } from "./question-form.ts";
import { writePending, writeResult } from "./tool-result.ts";

type ToolCallParams = { name: string; arguments?: Record<string, unknown> };
type ToolCallResponse = CallToolResult | InputRequiredResult;

const METHOD = "tools/call";
const INPUT_MS = 600_000;
const MAX_ROUNDS = 16;
const MAX_PENDING = 1000;

/** Runs one call, and writes its result for the era of the client. */
export async function answerToolCall(
  params: ToolCallParams,
  {
    round,
    server,
    connection,
    service,
  }: { round: Round; server: Server; connection: McpConnection; service: McpService },
): Promise<ToolCallResponse> {
  const response = await callTool(params, round, connection, service);
  // Only structured content is written differently for legacy clients.
  return "content" in response && response.structuredContent !== undefined
    ? server.projectCallToolResult(response as CallToolResult, service.tools.find(params.name)?.output?.jsonSchema)
    : response;
}

/**
 * Runs one call through the gate. If it needs an approval, the person at the client is asked with a form, or another client
 * may answer in the meantime. Without an answer the call does not run.
 */
async function callTool(
  params: ToolCallParams,
  round: Round,
  connection: McpConnection,
  service: McpService,
): Promise<ToolCallResponse> {
  const { sdk } = service;
  const { identity } = connection;
  if (!identity.rights.includes("call")) {
    const message = `"${identity.name}" may not call tools: its token lacks the right.`;
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidRequest, message);
  }
  return new ToolCallRound(params, round, connection, service).run();
}

/** One round of a call: one request of the client. A modern client may need several rounds for a call. */
class ToolCallRound {
  readonly #name: string;
  readonly #input: Record<string, unknown>;
  readonly #round: Round;
  readonly #identity: McpIdentity;
  readonly #session: string;
  readonly #service: McpService;
  readonly #binding: StateBinding;
  readonly #canFollowTasks: boolean;
  readonly #wantsBackground: boolean;
  readonly #isBackground: boolean;
  readonly #state: RequestState | undefined;
  /** The pending call that this request repeats. */
  readonly #repeated: PendingCall | undefined;
  readonly #call: OpenRequest<ToolResult>;
  #jobId: string | undefined;

  constructor(params: ToolCallParams, round: Round, { identity, session }: McpConnection, service: McpService) {
    const { name, arguments: input = {} } = params;
    const { sdk, runtime, options, tools } = service;
    const tool = runtime.registry.get(tools.nameOf(name));
    this.#name = name;
    this.#input = input;
    this.#round = round;
    this.#identity = identity;
    this.#session = session;
    this.#service = service;
    this.#canFollowTasks = round.isModern && supportsTasks(round.capabilities);
    if (!this.#canFollowTasks && tool && options.needsTask?.(tool)) throw missingTasks(sdk);
    this.#wantsBackground = this.#canFollowTasks && round.meta["haft/background"] === true;
    this.#isBackground = runtime.jobs !== undefined && (this.#wantsBackground || tool?.mode === "background");
    this.#binding = { owner: identity.id, method: METHOD, params: [name, input] };
    this.#state = round.state === undefined ? undefined : service.states.open(round.state, this.#binding);
    if (round.state !== undefined && !this.#state) throw this.#invalidState();
    this.#repeated = service.pending.size > 0 ? service.pending.get(this.#pendingKey()) : undefined;
    this.#call = this.#state
      ? this.#restore(this.#state)
      : new OpenRequest<ToolResult>(this.#repeated?.id ?? service.nextCallId(), round);
    this.#jobId = this.#repeated?.jobId;
  }

  async run(): Promise<ToolCallResponse> {
    const leave = this.#call.enter(this.#round);
    try {
      return await this.#run();
    } finally {
      leave();
    }
  }

  async #run(): Promise<ToolCallResponse> {
    const call = this.#call;
    const question = this.#state?.question;
    const repeated = this.#repeated?.approvalId;
    if (this.#jobId !== undefined) this.#serveJob(this.#jobId);
    else if (!this.#state && repeated !== undefined) return this.#continue(await this.#ask(repeated));
    else if (!this.#state) call.serve(() => this.#execute({ isRetry: this.#repeated !== undefined }));
    else if (question === undefined) this.#resumeInputs();
    return this.#continue(question === undefined ? undefined : await this.#handleQuestion(question, takePermission));
  }

  /** Serves the call until there is a response. */
  async #continue(first: ToolCallResponse | undefined): Promise<ToolCallResponse> {
    if (first) return first;
    const { sdk } = this.#service;
    const call = this.#call;
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
      const end = await call.next();
      if (end.kind === "inputs" && !call.isQueued) return this.#requireInputs(end.requests);
      const response = end.kind === "question" ? await this.#ask(end.id) : await this.#handleResult(end);
      if (response) return response;
    }
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, "The call needed too many approvals.");
  }

  /** Returns undefined if the call continues. */
  async #handleResult(end: Exclude<RoundEnd<ToolResult>, { kind: "question" }>): Promise<ToolCallResponse | undefined> {
    const result = end.kind === "result" ? end.result : await this.#call.result;
    if (result.status !== "pending") return this.#finish(result);
    const { kind, id } = result.pending;
    if (kind === "job" && this.#jobId === undefined && this.#service.runtime.jobs) {
      this.#jobId = id;
      if (this.#canFollowTasks) return this.#returnTask(id);
      this.#serveJob(id);
      return undefined;
    }
    if (!isForPerson(result.pending)) return this.#finish(result);
    this.#call.needsServing = true;
    return this.#ask(id);
  }

  #ask(question: string): Promise<ToolCallResponse | undefined> {
    return this.#handleQuestion(question, requestPermission);
  }

  /** After a restart, or if the gate does not wait, the call is no longer running and is made again with its id. */
  #restore({ id }: RequestState): OpenRequest<ToolResult> {
    const suspended = this.#service.suspended.take<ToolResult>(id, this.#identity.id);
    if (suspended?.isFirst) return suspended.request;
    const open = new OpenRequest<ToolResult>(id, this.#round);
    // The client sent the request twice: both get the result of the one call.
    if (suspended) open.serve(() => suspended.request.result);
    return open;
  }

  /** Only a repeated call gets an idempotency key: looking up the others would cost time for nothing. */
  #execute({ isRetry }: { isRetry: boolean }): Promise<ToolResult> {
    const { options, calls, tools } = this.#service;
    const call = this.#call;
    const key = this.#round.meta["haft/idempotencyKey"];
    const callOptions: CallOptions = {
      ...options.call,
      id: call.id,
      idempotencyKey: typeof key === "string" && key !== "" ? key : isRetry ? call.id : false,
      caller: { user: this.#identity.name, session: this.#session, agent: agentNameOf(this.#round.clientName) },
      background: this.#wantsBackground || undefined,
      signal: call.signal,
      onUpdate: (update) => call.round.progress(update),
    };
    calls.set(call.id, call);
    if (this.#isBackground) this.#service.subscribeToJobs();
    return tools.call(this.#name, this.#input, callOptions).finally(() => {
      if (!call.isQueued) this.#forget();
    });
  }

  #forget(): void {
    const { calls } = this.#service;
    if (calls.get(this.#call.id) === this.#call) calls.delete(this.#call.id);
  }

  /** For a client without tasks: it waits for the job, but not longer than clients usually do. */
  #serveJob(jobId: string): void {
    const call = this.#call;
    call.serve(async () => {
      call.isQueued = false;
      this.#service.calls.set(call.id, call);
      try {
        return await waitForJobResult(jobId, { call, service: this.#service });
      } finally {
        this.#forget();
      }
    });
  }

  async #returnTask(jobId: string): Promise<ToolCallResponse> {
    const { sdk, runtime } = this.#service;
    this.#call.becomeTask();
    const job = await runtime.jobs?.get(jobId);
    if (!job) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, "The job of this call was removed.");
    if (job.endedAt !== undefined) this.#forget();
    // The client will not learn of the task.
    else if (this.#call.signal.aborted) await runtime.jobs?.cancel(jobId, "its client cancelled it");
    return writeCreatedTask(job, { owner: this.#identity.id, service: this.#service });
  }

  /** Passes the client's answers to the tool. If some are missing, the client is asked again. */
  #resumeInputs(): void {
    // The process of the tool has ended, and its effect is unknown.
    if (this.#call.needsServing) throw this.#invalidState();
    this.#call.answer(this.#round.responses);
  }

  /** Returns undefined if the question was answered and the call continues. */
  async #handleQuestion(id: string, ask: typeof requestPermission): Promise<ToolCallResponse | undefined> {
    const context = { call: this.#call, round: this.#round, identity: this.#identity, service: this.#service };
    const end = await ask(id, context);
    if (end.kind === "ask") return this.#requireAnswer(end.question);
    if (end.kind === "pending") return this.#returnPending(end.question, end.shown);
    this.#call.setQuestion(undefined);
    // A gate that waits continues by itself.
    if (this.#call.needsServing) this.#call.serve(() => this.#follow(id));
    return undefined;
  }

  /** The result of the answered call, whichever process runs it. */
  #follow(id: string): Promise<ToolResult> {
    const { runtime, calls, options } = this.#service;
    const call = this.#call;
    calls.set(call.id, call);
    if (this.#isBackground) this.#service.subscribeToJobs();
    const follow = {
      holdMs: options.holdMs ?? DEFAULT_HOLD_MS,
      signal: call.signal,
      onUpdate: (update: Update) => call.round.progress(update),
    };
    return runtime.follow(id, follow).finally(() => {
      if (!call.isQueued) this.#forget();
    });
  }

  #requireAnswer(question: McpQuestion): ToolCallResponse {
    const form = approvalForm(question, this.#service.options.describe(question), { isModern: true });
    const requests: InputRequests = { [QUESTION]: { method: "elicitation/create", params: form } };
    return this.#suspend(requests, { question: question.id, until: question.expiresAt });
  }

  #requireInputs(requests: InputRequests): ToolCallResponse {
    return this.#suspend(requests, { until: this.#service.clock.now() + INPUT_MS });
  }

  #suspend(inputRequests: InputRequests, state: Omit<RequestState, "id">): ToolCallResponse {
    const { sdk, suspended, states, clock } = this.#service;
    const call = this.#call;
    if (!call.needsServing && !call.isSettled) {
      const suspendedFor = state.question === undefined ? "inputs" : "permission";
      suspended.add(call, { owner: this.#identity.id, suspendedFor, ms: state.until - clock.now() });
    }
    return sdk.inputRequired({ inputRequests, requestState: states.seal({ id: call.id, ...state }, this.#binding) });
  }

  #returnPending({ id, questions }: McpQuestion, shown: NoAnswer | undefined): ToolCallResponse {
    this.#savePending({ id: this.#call.id, approvalId: id });
    const address = this.#service.options.approvalAddress?.(id);
    const kind = questions ? "question" : "approval";
    return writePending(this.#call.id, { name: this.#name, kind, id, shown }, address);
  }

  #savePending(call: PendingCall): void {
    const { pending } = this.#service;
    pending.set(this.#pendingKey(), call);
    const [oldest] = pending.keys();
    if (pending.size > MAX_PENDING && oldest !== undefined) pending.delete(oldest);
  }

  #pendingKey(): string {
    return digestOf(this.#binding);
  }

  #finish(result: ToolResult): ToolCallResponse {
    const { sdk, runtime, options, pending, outputs } = this.#service;
    if (pending.size > 0 && pending.get(this.#pendingKey())?.id === this.#call.id) pending.delete(this.#pendingKey());
    const { loadedTools } = result.metadata;
    if (options.defers && Array.isArray(loadedTools) && loadedTools.length > 0) {
      this.#service.toolsLoaded(this.#session);
    }
    if (result.status === "pending") {
      if (this.#jobId !== undefined) this.#savePending({ id: this.#call.id, jobId: this.#jobId });
      return writePending(result.callId, { name: this.#name, ...result.pending }, undefined);
    }
    const { missing } = this.#call;
    if (missing && this.#round.isModern && result.status === "failed") {
      throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: missing });
    }
    const outputSchema = outputSchemaFor(runtime.registry.get(result.toolName), this.#round.clientName);
    return writeResult(result, {
      outputSchema,
      fullOutput: outputs.link(result, { ...this.#identity, session: this.#session }),
    });
  }

  #invalidState(): Error {
    const { sdk } = this.#service;
    const data = { reason: "invalid_request_state" };
    return new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, "Invalid or expired requestState", data);
  }
}

/** The agent name of a client. The prefix distinguishes it from configured agents. */
function agentNameOf(clientName: string): string {
  return `mcp:${clientName.replaceAll(/[^\w.-]/g, "_").slice(0, 60)}`;
}

/** The result of a job for a waiting client; `pending` if it takes too long. Cancelling the call cancels the job. */
async function waitForJobResult(
  id: string,
  { call, service }: { call: OpenRequest<unknown>; service: McpService },
): Promise<ToolResult> {
  const { jobs } = service.runtime;
  const removed = (): Error =>
    toolError("unavailable", `Job ${id} was removed`, { next: "Check the current state before you call again." });
  if (!jobs) throw removed();
  const result = await waitWithClient(call, service, (signal) => jobs.wait(id, { signal }));
  if (result) return result;
  if (call.signal.aborted) await jobs.cancel(id, "its client cancelled it").catch(() => undefined);
  const job = await jobs.get(id);
  if (!job) throw removed();
  const { callId, toolName } = job.call;
  const waiting = { callId, toolName, startedAt: job.createdAt };
  return pendingResult(waiting, { kind: "job", id }, `Job ${id} has not ended.`);
}
