import { randomBytes } from "node:crypto";
import type { CallToolResult, InputRequiredResult, InputRequests } from "@modelcontextprotocol/server";
import type { CallOptions } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import type { ToolResult } from "../../core/result.ts";
import { approvalForm, readApprovalForm } from "./approval-form.ts";
import { askByForm } from "./ask-by-form.ts";
import type { McpQuestion } from "./mcp-runtime.ts";
import type { McpConnection, McpService } from "./mcp-service.ts";
import { OpenRequest } from "./open-request.ts";
import { digestOf, type RequestState } from "./request-state.ts";
import { canShowForm, type Round } from "./round.ts";
import { watchCall } from "./watch-call.ts";
import { writePending, writeResult } from "./write-result.ts";

type Params = { name: string; arguments?: Record<string, unknown> };
type Answer = CallToolResult | InputRequiredResult;

const METHOD = "tools/call";
const QUESTION = "approval";
/** Below the minute after which most clients give a request up. */
const DEFAULT_HOLD_MS = 45_000;
const INPUT_MS = 600_000;
/** Who answered through another door usually makes the call; it is given the time. */
const OTHERS_FIRST_MS = 2000;
/** Between using an answer and being known as made. */
const BEGINS_WITHIN_MS = 200;
const MOST_ROUNDS = 16;
const MOST_PENDING = 1000;

/**
 * One call, through the gate, whoever must be asked on the way: the person at the client where it can show a form, else
 * whoever answers through another door meanwhile. It never runs because nobody could be asked.
 */
export async function callTool(
  { name, arguments: input = {} }: Params,
  round: Round,
  { identity, session }: McpConnection,
  service: McpService,
): Promise<Answer> {
  const { sdk, runtime, clock, options, shelf } = service;
  if (!identity.rights.includes("call")) {
    throw new sdk.ProtocolError(
      sdk.ProtocolErrorCode.InvalidRequest,
      `"${identity.name}" may not call tools: its token lacks the right.`,
    );
  }
  const binding = { owner: identity.id, method: METHOD, params: [name, input] };
  const pendingKey = digestOf(binding);
  const state = round.state === undefined ? undefined : service.states.open(round.state, binding);
  if (round.state !== undefined && !state) throw badState();
  const call = state ? comeBack(state) : begin(service.pending.get(pendingKey) ?? newCallId());
  const leave = call.enter(round);
  try {
    return await follow();
  } finally {
    leave();
  }

  async function follow(): Promise<Answer> {
    if (state) {
      if (state.question === undefined) resumeInputs();
      else {
        const again = await resumeQuestion(state.question);
        if (again) return again;
      }
    }
    for (let rounds = 0; rounds < MOST_ROUNDS; rounds++) {
      const end = await call.next();
      if (end.kind === "inputs") return requireInputs(end.requests);
      const result = end.kind === "result" ? end.result : undefined;
      if (result && !(result.status === "pending" && result.pending.kind === "approval")) return finish(result);
      const id = end.kind === "question" ? end.id : result?.status === "pending" ? result.pending.id : "";
      const answer = await getAnswer(id);
      if (answer) return answer;
    }
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, "The call was asked about too many times.");
  }

  function begin(id: string): OpenRequest<ToolResult> {
    const open = new OpenRequest<ToolResult>(id, round);
    open.serve(() => execute(open));
    return open;
  }

  /** Of a server that was started anew, or a gate that does not wait, the call is made again: it is the same one. */
  function comeBack({ id }: RequestState): OpenRequest<ToolResult> {
    return (
      (service.parked.take(id, identity.id) as OpenRequest<ToolResult> | undefined) ??
      new OpenRequest<ToolResult>(id, round)
    );
  }

  function execute(open: OpenRequest<ToolResult>): Promise<ToolResult> {
    const key = round.meta["haft/idempotencyKey"];
    const callOptions: CallOptions = {
      ...options.call,
      id: open.id,
      ...(typeof key === "string" && key !== "" ? { idempotencyKey: key } : {}),
      caller: { user: identity.name, session, agent: agentNameOf(round.clientName) },
      signal: open.signal,
      onUpdate: (update) => open.round.progress(update),
    };
    service.calls.set(open.id, open);
    return shelf.call(name, input, callOptions).finally(() => service.calls.delete(open.id));
  }

  /** The client comes back with what a tool asked for; where something is missing, it is asked again. */
  function resumeInputs(): void {
    call.answer(round.responses);
    if (!call.isServed) call.serve(() => execute(call));
  }

  /** The client comes back with the answer to a question. */
  async function resumeQuestion(id: string): Promise<Answer | undefined> {
    const watch = watchCall(runtime, call.id);
    try {
      const question = await runtime.approvals.get(id);
      if (question?.state === "open") {
        const answer = readApprovalForm(question, round.responses[QUESTION]);
        if (!answer) return round.responses[QUESTION] === undefined ? requireAnswer(question) : leavePending(question);
        await give(question, answer);
      }
      await goOn(id, watch.made);
      return undefined;
    } finally {
      watch.stop();
    }
  }

  /** Asks whoever can be asked. Undefined: it was answered, and the call goes on. */
  async function getAnswer(id: string): Promise<Answer | undefined> {
    const watch = watchCall(runtime, call.id);
    try {
      const question = await runtime.approvals.get(id);
      if (question?.state === "open") {
        const isAble = identity.rights.includes("approve") && canShowForm(round.capabilities);
        if (isAble && round.isModern) return requireAnswer(question);
        const isAnswered = isAble ? await askAtClient(question) : await hold(question);
        if (!isAnswered) return leavePending(question);
      }
      await goOn(id, watch.made);
      return undefined;
    } finally {
      watch.stop();
    }
  }

  /** An older client is asked over its connection; who answers through another door first, ends that. */
  async function askAtClient(question: McpQuestion): Promise<boolean> {
    const form = approvalForm(question, options.describe(question), { isModern: false });
    const elsewhere = (signal: AbortSignal) => runtime.approvals.wait(question.id, signal);
    const response = await askByForm({ form, round, signal: call.signal, elsewhere });
    if (response === "answered elsewhere") return true;
    const answer = readApprovalForm(question, response);
    if (answer) await give(question, answer);
    return answer !== undefined;
  }

  async function hold({ id }: McpQuestion): Promise<boolean> {
    const where = options.approvalAddress?.(id);
    round.progress({ progress: { done: 0, message: `Waiting for a person to allow it (${where ?? id})` } });
    const controller = new AbortController();
    const abort = (): void => controller.abort(call.signal.reason);
    call.signal.addEventListener("abort", abort, { once: true });
    const timer = clock.after(options.holdMs ?? DEFAULT_HOLD_MS, () => controller.abort());
    try {
      await runtime.approvals.wait(id, controller.signal);
      return true;
    } catch {
      // The client gave up: nobody is to be asked about it any more.
      if (call.signal.aborted) await runtime.approvals.void(id, "its client cancelled it").catch(() => undefined);
      return false;
    } finally {
      timer.cancel();
      call.signal.removeEventListener("abort", abort);
    }
  }

  async function give(question: McpQuestion, answer: ReturnType<typeof readApprovalForm> & object): Promise<void> {
    const { name: by, rights } = identity;
    try {
      await runtime.approvals.answer(question.id, { ...answer, by, via: "mcp", rights });
    } catch (error) {
      // Another door was faster: its answer counts.
      const now = await runtime.approvals.get(question.id);
      if (now?.state === "open") throw error;
    }
  }

  /** After an answer: a gate that waited goes on by itself; else the call is made again under its id, and finds the answer. */
  async function goOn(id: string, madeElsewhere: Promise<void>): Promise<void> {
    call.setQuestion(undefined);
    if (call.isServed && !call.isSettled) return;
    const question = await runtime.approvals.get(id);
    const isUsed = question?.state === "approved" || question?.state === "used";
    if (isUsed && question.answeredBy !== identity.name) {
      const used = runtime.approvals.isUsedWithin(id, OTHERS_FIRST_MS).then(() => pause(clock, BEGINS_WITHIN_MS));
      await Promise.race([madeElsewhere, used]);
    }
    call.serve(() => execute(call));
  }

  function requireAnswer(question: McpQuestion): Answer {
    const form = approvalForm(question, options.describe(question), { isModern: true });
    const until = question.expiresAt;
    return park({ [QUESTION]: { method: "elicitation/create", params: form } }, { question: question.id, until });
  }

  function requireInputs(requests: InputRequests): Answer {
    return park(requests, { until: clock.now() + INPUT_MS });
  }

  function park(inputRequests: InputRequests, more: Omit<RequestState, "id">): Answer {
    const parkedFor = more.question === undefined ? "inputs" : "permission";
    if (call.isServed && !call.isSettled) {
      service.parked.keep(call, { owner: identity.id, parkedFor, ms: more.until - clock.now() });
    }
    return sdk.inputRequired({ inputRequests, requestState: service.states.seal({ id: call.id, ...more }, binding) });
  }

  function leavePending({ id }: McpQuestion): Answer {
    service.pending.set(pendingKey, call.id);
    if (service.pending.size > MOST_PENDING) service.pending.delete(service.pending.keys().next().value!);
    return writePending(call.id, { name, kind: "approval", id }, options.approvalAddress?.(id));
  }

  function finish(result: ToolResult): Answer {
    if (service.pending.get(pendingKey) === call.id) service.pending.delete(pendingKey);
    if (result.status === "pending") return writePending(result.callId, { name, ...result.pending }, undefined);
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

/** Not to be guessed: it names a call that somebody was asked about. */
function newCallId(): string {
  return `mcp_${randomBytes(12).toString("base64url")}`;
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve).hold(false);
  });
}

/** Of clients, and never the name of an agent of ours. */
function agentNameOf(clientName: string): string {
  return `mcp:${clientName.replaceAll(/[^\w.-]/g, "_").slice(0, 60)}`;
}
