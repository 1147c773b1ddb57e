import type { CallToolResult, InputRequests, InputRequiredResult, Server } from "@modelcontextprotocol/server";
import type { CallOptions } from "../../core/call.ts";
import { toolError } from "../../core/error.ts";
import type { Update } from "../../core/events.ts";
import { isForPerson, type ToolResult } from "../../core/result.ts";
import { approvalForm, QUESTION, requestPermission, takePermission } from "./approval-form.ts";
import { outputSchemaFor } from "./listed-tools.ts";
import { type CallState, type McpCall, resultOf, type WorkEnd } from "./mcp-call.ts";
import type { McpConnection, McpService } from "./mcp-service.ts";
import { digestOf, type RequestState, type StateBinding } from "./request-state.ts";
import { type Round, waitWithClient } from "./round.ts";
import type { McpQuestion } from "./server-options.ts";
import { missingTasks, writeCreatedTask } from "./tasks.ts";
import { type PendingInfo, writePending, writeResult } from "./tool-result.ts";

type ToolCallParams = { name: string; arguments?: Record<string, unknown> };
type ToolCallResponse = CallToolResult | InputRequiredResult;

const METHOD = "tools/call";
const INPUT_MS = 600_000;
const MAX_STEPS = 16;

/**
 * Runs one call through the gate, and writes its result for the era of the client. If it needs an approval, the person at the
 * client is asked with a form, or another client may answer in the meantime. Without an answer the call does not run.
 */
export async function answerToolCall(
  params: ToolCallParams,
  {
    round,
    server,
    connection,
    service,
  }: { round: Round; server: Server; connection: McpConnection; service: McpService },
): Promise<ToolCallResponse> {
  const { sdk, tools } = service;
  const { name, rights } = connection.identity;
  if (!rights.includes("call")) {
    const message = `"${name}" may not call tools: its token lacks the right.`;
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidRequest, message);
  }
  const response = await new ToolCallRound(params, round, connection, service).run();
  // Only structured content is written differently for legacy clients.
  return "content" in response && response.structuredContent !== undefined
    ? server.projectCallToolResult(response as CallToolResult, tools.find(params.name)?.output?.jsonSchema)
    : response;
}

/** One round of a call: one request of the client. A modern client may need several rounds for a call. */
class ToolCallRound {
  readonly #params: ToolCallParams;
  readonly #round: Round;
  readonly #connection: McpConnection;
  readonly #service: McpService;
  readonly #binding: StateBinding;
  readonly #wantsBackground: boolean;
  readonly #isBackground: boolean;
  readonly #returned: RequestState | undefined;
  readonly #call: McpCall<ToolResult>;

  constructor(params: ToolCallParams, round: Round, connection: McpConnection, service: McpService) {
    const { sdk, runtime, options, tools } = service;
    const tool = runtime.tools.registry.get(tools.nameOf(params.name));
    this.#params = params;
    this.#round = round;
    this.#connection = connection;
    this.#service = service;
    if (!round.followsTasks && tool && options.needsTask?.(tool)) throw missingTasks(sdk);
    this.#wantsBackground = round.followsTasks && round.meta["haft/background"] === true;
    this.#isBackground = runtime.jobs !== undefined && (this.#wantsBackground || tool?.mode === "background");
    const { name, arguments: input = {} } = params;
    this.#binding = { owner: connection.identity.id, method: METHOD, params: [name, input] };
    this.#returned = round.state === undefined ? undefined : service.states.open(round.state, this.#binding);
    if (round.state !== undefined && !this.#returned) throw this.#invalidState();
    this.#call = this.#returned ? this.#restore(this.#returned) : this.#findOrCreate();
  }

  async run(): Promise<ToolCallResponse> {
    const { sdk } = this.#service;
    const leave = this.#call.enter(this.#round);
    try {
      const first = await this.#begin();
      if (first) return first;
      for (let step = 0; step < MAX_STEPS; step++) {
        const response = await this.#respond(await this.#call.reach());
        if (response) return response;
      }
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, "The call needed too many approvals.");
    } finally {
      leave();
    }
  }

  /** After a restart, or if the gate does not wait, only the row knows the call. */
  #restore({ id, question }: RequestState): McpCall<ToolResult> {
    const { calls } = this.#service;
    const call = calls.get<ToolResult>(id);
    if (call) return call;
    // The process of the tool that asked has ended, and its effect is unknown.
    if (question === undefined) throw this.#invalidState();
    return calls.create(id, this.#binding.owner, { kind: "question", id: question });
  }

  #findOrCreate(): McpCall<ToolResult> {
    const { calls, nextCallId } = this.#service;
    return calls.findRepeated(() => digestOf(this.#binding)) ?? calls.create(nextCallId(), this.#binding.owner);
  }

  /** Makes a new call, or passes on what the client returned with. */
  async #begin(): Promise<ToolCallResponse | undefined> {
    const call = this.#call;
    if (this.#returned?.question !== undefined) return this.#handleQuestion(this.#returned.question, takePermission);
    if (this.#returned) call.answer(this.#round.responses);
    else if (call.content === undefined) call.start((signal) => this.#execute(signal));
    else {
      const need = call.state.is === "asking" ? call.state.needs[0] : undefined;
      if (need?.kind === "job") call.continue(need, (signal) => this.#waitForJob(need.id, signal));
    }
    return undefined;
  }

  /** The response for a state of the call. Returns undefined if the call continues. */
  async #respond(state: Exclude<CallState<ToolResult>, { is: "running" }>): Promise<ToolCallResponse | undefined> {
    switch (state.is) {
      case "ended":
        this.#service.calls.release(this.#call);
        return this.#finish(resultOf(state.outcome));
      case "task":
        return this.#returnTask(state.jobId);
      case "asking":
      case "suspended": {
        const [need] = state.needs;
        switch (need.kind) {
          case "question":
            return this.#handleQuestion(need.id, requestPermission);
          case "inputs":
            return this.#suspend(need.requests, { until: this.#service.clock.now() + INPUT_MS });
          case "job":
            return this.#returnPending(need.callId, need);
        }
      }
    }
  }

  /** Only a call with a key of its client gets an idempotency key: looking up the others would cost time for nothing. */
  async #execute(signal: AbortSignal): Promise<WorkEnd<ToolResult>> {
    const { options, tools } = this.#service;
    const { identity, session } = this.#connection;
    const { name, arguments: input = {} } = this.#params;
    const call = this.#call;
    const key = this.#round.meta["haft/idempotencyKey"];
    const callOptions: CallOptions = {
      ...options.call,
      id: call.id,
      idempotencyKey: typeof key === "string" && key !== "" ? key : false,
      caller: { user: identity.name, session, agent: agentNameOf(this.#round.clientName) },
      context: identity.context,
      background: this.#wantsBackground || undefined,
      signal,
      onUpdate: (update) => call.progress(update),
    };
    if (this.#isBackground) this.#service.subscribeToJobs();
    return this.#readResult(await tools.call(name, input, callOptions), signal);
  }

  /** The result of the answered call, whichever process runs it. */
  async #follow(id: string, signal: AbortSignal): Promise<WorkEnd<ToolResult>> {
    const { runtime, holdMs } = this.#service;
    if (this.#isBackground) this.#service.subscribeToJobs();
    const onUpdate = (update: Update): void => this.#call.progress(update);
    return this.#readResult(await runtime.approvals.follow(id, { holdMs, signal, onUpdate }), signal);
  }

  #readResult(result: ToolResult, signal: AbortSignal): WorkEnd<ToolResult> | Promise<WorkEnd<ToolResult>> {
    if (result.status === "pending") {
      const { kind, id } = result.pending;
      if (isForPerson(result.pending)) return { kind: "question", id };
      if (kind === "job" && this.#service.runtime.jobs) return this.#waitForJob(id, signal);
    }
    return { kind: "result", result };
  }

  /** A client without tasks waits for the job, but not longer than clients usually do. Cancelling the call cancels the job. */
  async #waitForJob(id: string, signal: AbortSignal): Promise<WorkEnd<ToolResult>> {
    const { jobs } = this.#service.runtime;
    if (this.#round.followsTasks) return { kind: "job", id, callId: this.#call.id };
    const result = await waitWithClient(signal, this.#service, async (until) => jobs?.wait(id, { signal: until }));
    if (result?.status === "pending" && isForPerson(result.pending)) return { kind: "question", id: result.pending.id };
    if (result) return { kind: "result", result };
    if (signal.aborted) await jobs?.cancel(id, "its client cancelled it").catch(() => undefined);
    const job = await jobs?.get(id);
    if (job) return { kind: "job", id, callId: job.call.callId };
    throw toolError("unavailable", `Job ${id} was removed`, { next: "Check the current state before you call again." });
  }

  async #returnTask(jobId: string): Promise<ToolCallResponse> {
    const { sdk, runtime, calls } = this.#service;
    const job = await runtime.jobs?.get(jobId);
    if (!job) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, "The job of this call was removed.");
    if (job.endedAt !== undefined) calls.release(this.#call);
    // The client will not learn of the task.
    else if (this.#round.signal.aborted) await runtime.jobs?.cancel(jobId, "its client cancelled it");
    return writeCreatedTask(job, { owner: this.#binding.owner, service: this.#service });
  }

  async #handleQuestion(id: string, ask: typeof requestPermission): Promise<ToolCallResponse | undefined> {
    const { identity } = this.#connection;
    const end = await ask(id, { call: this.#call, round: this.#round, identity, service: this.#service });
    switch (end.kind) {
      case "ask":
        return this.#requireAnswer(end.question);
      case "pending": {
        const kind = end.question.questions ? "question" : "approval";
        return this.#returnPending(this.#call.id, { kind, id, shown: end.shown });
      }
      case "answered":
        this.#call.continue({ kind: "question", id }, (signal) => this.#follow(id, signal));
        return undefined;
    }
  }

  #requireAnswer(question: McpQuestion): ToolCallResponse | undefined {
    const form = approvalForm(question, this.#service.options.describe(question), { isModern: true });
    const requests: InputRequests = { [QUESTION]: { method: "elicitation/create", params: form } };
    return this.#suspend(requests, { question: question.id, until: question.expiresAt });
  }

  #suspend(inputRequests: InputRequests, state: Omit<RequestState, "id">): ToolCallResponse | undefined {
    const { sdk, calls, states } = this.#service;
    if (!calls.suspend(this.#call, { until: state.until })) return undefined;
    const requestState = states.seal({ id: this.#call.id, ...state }, this.#binding);
    return sdk.inputRequired({ inputRequests, requestState });
  }

  /** The client makes the same request again to get the result. */
  #returnPending(callId: string, { kind, id, shown }: Omit<PendingInfo, "name">): ToolCallResponse | undefined {
    const { calls, options } = this.#service;
    if (!calls.suspend(this.#call, { content: digestOf(this.#binding) })) return undefined;
    const address = kind === "job" ? undefined : options.approvalAddress?.(id);
    return writePending(callId, { name: this.#params.name, kind, id, shown }, address);
  }

  #finish(result: ToolResult): ToolCallResponse {
    const { sdk, runtime, options, outputs } = this.#service;
    const { identity, session } = this.#connection;
    const { loadedTools } = result.metadata;
    if (options.defers && Array.isArray(loadedTools) && loadedTools.length > 0) {
      this.#service.toolsLoaded(session);
    }
    if (result.status === "pending") {
      return writePending(result.callId, { name: this.#params.name, ...result.pending }, undefined);
    }
    const { missing } = this.#call;
    if (missing && this.#round.isModern && result.status === "failed") {
      throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: missing });
    }
    const outputSchema = outputSchemaFor(runtime.tools.registry.get(result.toolName), this.#round.clientName);
    return writeResult(result, { outputSchema, fullOutput: outputs.link(result, { ...identity, session }) });
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
