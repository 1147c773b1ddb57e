import { type Caller, type CallOptions, type CallPolicy, nextCallId } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import { firstLine, textOf } from "../../core/content.ts";
import { callDefinitionOf } from "../../core/definition.ts";
import { ERROR_CODES, type ErrorCode, failureOf, toFailure, ToolError, type ToolFailure } from "../../core/error.ts";
import { type BoundBatchCall, subagentGateOf } from "../../core/gate.ts";
import type { FailedResult, PendingResult, ToolResult } from "../../core/result.ts";
import { ToolCallContext } from "../../core/tool-call-context.ts";
import type { AnyTool } from "../../core/tool.ts";
import { isObject } from "../../schema/json-schema.ts";
import {
  type Agent,
  type AgentDependencies,
  type AgentEvent,
  type AgentLimits,
  type AgentModel,
  type AgentResult,
  type AgentStop,
  type AgentUsage,
  callsOf,
  type LateResults,
  type Message,
  type MessagePart,
  type ModelDelta,
  type ModelRequest,
  type ModelTurn,
  type RunOptions,
  textOfMessage,
  type ToolCallPart,
} from "./agent.ts";
import { lateResultsMessage, unreportedCalls } from "./prompt.ts";

/** Tools that an agent always keeps, however a skill narrows it. */
const CONTROL_TOOLS = ["skill", "stop_response", "cli_response"];

/** Asks the model, makes its calls, tells it the results, and again, until it is done or something ends it. */
async function runAgent(
  parts: AgentDependencies,
  input: string | readonly Message[],
  options: RunOptions = {},
): Promise<AgentResult> {
  const { signal = new AbortController().signal, mode, limits = {} } = options;
  const context = options.context ?? new ToolCallContext();
  const caller: Partial<Caller> = { agent: parts.name, model: parts.model.id, ...options.caller };
  const gate = options.parent ? subagentGateOf(options.parent, { agent: parts.name }) : parts.gate;
  const policy: CallPolicy[] = [...(options.policy ?? [])];
  const spent: RunUsage = { steps: 0, inputTokens: 0, outputTokens: 0, costUsd: parts.prices ? 0 : undefined };
  const max = { ...parts.limits, ...limits };
  const added: Message[] = [];
  const history = closeOpenCalls(options.messages ?? [], { context, now: parts.clock.now() });
  const repetition = watchRepetition();
  let tools: readonly AnyTool[] = [];
  let late: LateResults | undefined;
  let unreported = new Map<string, PendingResult>();

  const emit = (event: AgentEvent): void => {
    try {
      const returned: unknown = options.onEvent?.(event);
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // The listener's trouble, not the run's.
    }
  };
  const add = async (message: Message): Promise<void> => {
    added.push(message);
    await options.onEvent?.({ type: "message_added", message });
  };
  const finish = (stop: AgentStop, error?: ToolFailure): AgentResult => {
    const { steps, ...usage } = spent;
    const text = finalText(added);
    const answer = { text, messages: added, context, steps, usage, stop, error };
    emit({ type: "run_finished", answer });
    return answer;
  };

  try {
    const given: readonly Message[] = typeof input === "string" ? [{ role: "user", content: input }] : input;
    const whole = closeOpenCalls([...history, ...given], { context, now: parts.clock.now() });
    for (const message of whole.slice(history.length)) await add(message);
    unreported = unreportedCalls(whole);
    late = await parts.watchLateResults?.({ caller, awaited: [...unreported.values()] });
    for (;;) {
      if (signal.aborted) return finish("aborted");
      const overrun = findExceededLimit(spent, max);
      if (overrun) return finish("limit", overrun);
      await takeLateResults();
      const step = ++spent.steps;
      emit({ type: "step_started", step });
      const loaded = loadedToolsIn([...history, ...added]);
      tools = reuseIfEqual(tools, parts.shownTools({ caller, mode, policy, loaded }));
      context.setToolDefinitions(tools.map(callDefinitionOf));
      let turn: ModelTurn;
      try {
        const system = await parts.systemPrompt({ tools, mode, context, caller });
        const request = { system, messages: [...history, ...added], tools, signal };
        turn = await callModel(parts.model, request, { clock: parts.clock, onDelta: options.onEvent && emit });
      } catch (error) {
        if (signal.aborted) return finish("aborted");
        return finish("error", explainModelFailure(error, parts.model.id));
      }
      count(turn);
      const calls = extractCalls(turn.parts, context);
      if (turn.parts.length > 0) await add({ role: "assistant", content: turn.parts });
      emit({ type: "step_finished", step, usage: usageOf(spent) });
      if (calls.length === 0) {
        if (await takeLateResults()) continue;
        return endOfTurn(turn);
      }
      const results = await makeCalls(calls, turn);
      await add({ role: "tool", results });
      for (const result of results) applyAllowedTools(result);
      if (signal.aborted) return finish("aborted");
      if (results.some(endsTurn)) return finish("stopped");
      const repeated = repetition.note(calls, results);
      if (repeated?.action === "stop") return finish("loop", failureOf("conflict", repeated.message));
      const notes = [...(turn.warnings ?? []), ...(repeated ? [repeated.message] : [])];
      if (notes.length > 0) await add(noteToModel(notes));
      if (results.every(isBlocked) && !(await takeLateResults())) return finish("pending");
    }
  } catch (error) {
    return finish("error", toFailure(error));
  } finally {
    late?.close();
  }

  function count({ usage }: ModelTurn): void {
    spent.inputTokens += usage.inputTokens;
    spent.outputTokens += usage.outputTokens;
    if (parts.prices) {
      const { input: inPrice, output: outPrice } = parts.prices;
      spent.costUsd = (spent.inputTokens * inPrice + spent.outputTokens * outPrice) / 1_000_000;
    }
  }

  function endOfTurn({ finish: how }: ModelTurn): AgentResult {
    if (how === "cut") {
      const message =
        "The model's answer was cut: it reached the most tokens that it may write. Raise maxOutputTokens.";
      return finish("limit", failureOf("too_large", message));
    }
    if (how === "refused") {
      return finish("error", failureOf("failed", "The provider held the model's answer back. Ask differently."));
    }
    return finish(context.pending().length > 0 ? "pending" : "done");
  }

  /** Also those that somebody else put into the context meanwhile: the model has not heard of them. */
  async function takeLateResults(): Promise<boolean> {
    const joined = [...unreported.keys()].flatMap((callId) => context.result(callId) ?? []);
    const news = [...joined, ...(options.lateResults?.() ?? []), ...(late?.take() ?? [])].filter(isNewResult);
    if (news.length === 0) return false;
    await add(lateResultsMessage(news));
    return true;
  }

  /** A call of an earlier run may be unknown here, and its result is news all the same. */
  function isNewResult(result: ToolResult): boolean {
    if (result.status === "pending") return false;
    const { callId } = result;
    const pending = unreported.get(callId);
    if (!pending && context.result(callId)) return false;
    unreported.delete(callId);
    const isKnown = context.toolCalls.some((call) => call.callId === callId);
    if (isKnown && !context.result(callId)) context.setToolCallResult(result);
    if (pending?.pending.kind !== "job") parts.onResultDelivered?.(result);
    return true;
  }

  async function makeCalls(calls: readonly ToolCallPart[], turn: ModelTurn): Promise<ToolResult[]> {
    context.setToolCalls(calls.map(({ callId, name, input: requested }) => ({ callId, name, input: requested })));
    for (const { callId, name, input: requested } of calls) emit({ type: "tool_call", callId, name, input: requested });
    const callOptions: CallOptions = { caller, signal, mode, policy };
    const batch = calls.map(({ callId, name, input: requested }, at): BoundBatchCall => {
      const call: BoundBatchCall = { id: callId, name, input: requested };
      const refusal = turn.unreadable?.get(at);
      if (refusal) call.refusal = refusal;
      if (!options.onEvent) return call;
      call.onUpdate = (update) => emit({ type: "tool_update", callId, update });
      call.onResult = (result) => emit({ type: "tool_result", result });
      return call;
    });
    const results = await gate.executeMany(batch, callOptions, { scope: parts.toolkit });
    for (const result of results) {
      context.setToolCallResult(result);
      if (result.status === "pending") unreported.set(result.callId, result);
      else parts.onResultDelivered?.(result);
    }
    return results;
  }

  /** Only our own tools may say what a run does next: what comes from elsewhere has no say in it. */
  function isOwn({ toolName }: ToolResult): boolean {
    const origin = parts.toolkit.get(toolName)?.origin.type;
    return origin === "builtin" || origin === "own";
  }

  function endsTurn(result: ToolResult): boolean {
    return result.success && result.metadata["endsTurn"] === true && isOwn(result);
  }

  function applyAllowedTools(result: ToolResult): void {
    const { allowedTools } = result.metadata;
    if (!result.success || !Array.isArray(allowedTools) || allowedTools.length === 0 || !isOwn(result)) return;
    policy.push({ allow: [...allowedTools.map(String), ...CONTROL_TOOLS] });
  }
}

/** A job goes on while the model works; a person and a client are waited for. */
function isBlocked(result: ToolResult): boolean {
  return result.status === "pending" && result.pending.kind !== "job";
}

function noteToModel(notes: readonly string[]): Message {
  return { role: "user", content: `Note from the runtime, not from the user: ${notes.join(" ")}` };
}

function finalText(messages: readonly Message[]): string {
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]!;
    const text = message.role === "assistant" ? textOfMessage(message) : "";
    if (text !== "") return text;
  }
  return "";
}

function usageOf({ steps: _steps, ...usage }: RunUsage): AgentResult["usage"] {
  return usage;
}

/** The same list while it holds the same tools, so that what was made for it is not made again. */
function reuseIfEqual(before: readonly AnyTool[], now: readonly AnyTool[]): readonly AnyTool[] {
  return before.length === now.length && before.every((tool, at) => tool === now[at]) ? before : now;
}

/** The agent that these parts make. */
export function assembleAgent(parts: AgentDependencies): Agent {
  const { name, toolkit } = parts;
  return {
    name,
    toolkit,
    model: parts.model.id,
    run: (input, options) => runAgent(parts, input, options),
    async *stream(input, options = {}) {
      const stopped = new AbortController();
      const signal = options.signal ? AbortSignal.any([options.signal, stopped.signal]) : stopped.signal;
      const waiting: AgentEvent[] = [];
      let wake = (): void => undefined;
      const onEvent = (event: AgentEvent): void | Promise<void> => {
        waiting.push(event);
        wake();
        return options.onEvent?.(event);
      };
      const run = runAgent(parts, input, { ...options, signal, onEvent });
      try {
        for (let isOver = false; !isOver;) {
          if (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
          for (const event of waiting.splice(0)) {
            yield event;
            isOver ||= event.type === "run_finished";
          }
        }
      } finally {
        stopped.abort();
        await run;
      }
    },
  };
}

export interface CallModelOptions {
  clock: Clock;
  onDelta?: ((piece: ModelDelta) => void) | undefined;
}

/** Between two tries. As many tries as there are waits, and one. */
const WAITS_MS = [1_000, 4_000, 15_000];
const MAX_WAIT_MS = 60_000;

/** Asks, and asks again where waiting may help and nothing was said yet. Rejects with what the last try gave. */
async function callModel(
  model: AgentModel,
  request: ModelRequest,
  { clock, onDelta }: CallModelOptions,
): Promise<ModelTurn> {
  for (let tries = 0; ; tries++) {
    let hasOutput = false;
    const listen = onDelta
      ? (piece: ModelDelta): void => {
          hasOutput = true;
          onDelta(piece);
        }
      : undefined;
    try {
      return await model.respond(request, listen);
    } catch (error) {
      const waitMs = WAITS_MS[tries];
      if (waitMs === undefined || hasOutput || request.signal.aborted || !isRetryable(error)) throw error;
      await pause(Math.max(waitMs, Math.min(retryAfterMs(error), MAX_WAIT_MS)), clock, request.signal);
      if (request.signal.aborted) throw error;
    }
  }
}

/** Why a model gave no answer, for whoever runs the agent. */
function explainModelFailure(error: unknown, modelId: string): ToolFailure {
  if (error instanceof ToolError) return failureOf(error.code, error.message, error.name);
  const status = statusOf(error);
  const text = error instanceof Error ? error.message : typeof error === "string" ? error : "unknown reason";
  const code: ErrorCode = isRetryable(error) ? "unavailable" : "failed";
  const message = `The model ${modelId} gave no answer: ${text.replace(/\.$/, "")}. ${nextStep(status)}`;
  return failureOf(code, message, error instanceof Error ? error.name : "Error");
}

function nextStep(status: number | undefined): string {
  switch (status) {
    case 401:
    case 403:
      return "Check the API key, and whether it may use this model.";
    case 404:
      return "Check the model's name and the base URL.";
    case 400:
    case 413:
    case 422:
      return "The request was refused: check that the model takes tools (set `format` where it does not) and that the conversation is not too long.";
    case 429:
      return "Wait, or raise the provider's limits.";
    default:
      return "Check the connection and the base URL, then run again.";
  }
}

/** By what errors of the SDK say of themselves, and of connections. */
function isRetryable(error: unknown): boolean {
  if (error instanceof ToolError) return ERROR_CODES[error.code].retryable;
  if (!isObject(error)) return false;
  if (typeof error["isRetryable"] === "boolean") return error["isRetryable"];
  const status = statusOf(error);
  if (status !== undefined) return status === 408 || status === 409 || status === 429 || status >= 500;
  return typeof error["code"] === "string" && /^(?:ECONN|ETIMEDOUT|EPIPE|UND_ERR)/.test(error["code"]);
}

function statusOf(error: unknown): number | undefined {
  return isObject(error) && typeof error["statusCode"] === "number" ? error["statusCode"] : undefined;
}

function retryAfterMs(error: unknown): number {
  const headers = isObject(error) ? error["responseHeaders"] : undefined;
  const seconds = isObject(headers) ? Number(headers["retry-after"]) : Number.NaN;
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}

function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}

/**
 * Gives every call of a turn an id of its own. A model's id is kept where it is one: an id that was used before, or that
 * merely counts, would join this call to the result of another one.
 */
function extractCalls(parts: MessagePart[], context: ToolCallContext): ToolCallPart[] {
  const used = new Set(context.toolCalls.map(({ callId }) => callId));
  const calls: ToolCallPart[] = [];
  for (const [at, part] of parts.entries()) {
    if (part.type !== "tool_call") continue;
    const { callId: given, ...rest } = part;
    const isKept = !used.has(given) && looksUnique(given, part.name);
    const call: ToolCallPart = isKept
      ? part
      : { ...rest, callId: nextCallId(), ...(given && part.rawText === undefined ? { modelId: given } : {}) };
    used.add(call.callId);
    calls.push(call);
    parts[at] = call;
  }
  return calls;
}

/** `call_0`, `functions.read:3` and `2` come again in the next conversation; what a provider rolled does not. */
function looksUnique(id: string, name: string): boolean {
  const rolled = id.replace(/^(?:chatcmpl-tool|functions|call|toolu|tool|fc)[-_.:]*/i, "");
  return /^[\w-]{8,}$/.test(rolled) && !/^\d{1,9}$/.test(rolled) && (name === "" || !id.includes(name));
}

/**
 * A conversation that every provider takes: after a message with calls come their results, one for each, in order. What a
 * crash or a stop left open is answered with that fact; results without a call are left out.
 */
function closeOpenCalls(
  messages: readonly Message[],
  { context, now }: { context?: ToolCallContext | undefined; now: number },
): Message[] {
  const whole: Message[] = [];
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!;
    // Results are taken together with their calls, below.
    if (message.role === "tool") continue;
    whole.push(message);
    const calls = callsOf(message);
    if (calls.length === 0) continue;
    const given = new Map<string, ToolResult>();
    for (let next = messages[at + 1]; next?.role === "tool"; next = messages[++at + 1]) {
      for (const result of next.results) given.set(result.callId, result);
    }
    const results = calls.map(
      ({ callId, name }) => given.get(callId) ?? context?.result(callId) ?? unanswered(callId, name, now),
    );
    whole.push({ role: "tool", results });
  }
  return whole;
}

function unanswered(callId: string, toolName: string, now: number): FailedResult {
  const message =
    "This call has no result: it was stopped, or never answered. Nothing is known of what it did. Check before you repeat it.";
  return {
    callId,
    toolName,
    status: "failed",
    success: false,
    content: [{ type: "text", text: message }],
    display: firstLine(message),
    error: failureOf("unknown_outcome", message),
    metadata: {},
    startedAt: now,
  };
}

interface RunUsage extends AgentUsage {
  steps: number;
}

/** Enough for long tasks, and an end for those that have none. */
const DEFAULT_STEPS = 100;

/** Which limit a run has reached, if any; asked before each step. */
function findExceededLimit(
  { steps, inputTokens, outputTokens, costUsd }: RunUsage,
  { steps: maxSteps = DEFAULT_STEPS, tokens, costUsd: maxCost }: AgentLimits,
): ToolFailure | undefined {
  if (steps >= maxSteps) return reached(`${maxSteps} steps`, "steps");
  if (tokens !== undefined && inputTokens + outputTokens >= tokens) return reached(`${tokens} tokens`, "tokens");
  if (maxCost === undefined) return undefined;
  if (costUsd === undefined) {
    return failureOf("invalid_input", "The cost is limited, but the model's prices are not known: say `prices`.");
  }
  return costUsd >= maxCost ? reached(`${maxCost} US dollars`, "costUsd") : undefined;
}

function reached(what: string, key: keyof AgentLimits): ToolFailure {
  return failureOf("too_large", `The run was ended at its limit of ${what}. To go on, run again, or raise ${key}.`);
}

/** What to tell a model that goes in circles: first so that it changes its way, then that it was stopped. */
export interface Repetition {
  action: "warn" | "stop";
  message: string;
}

export interface RepetitionWatch {
  /** One step: its calls, and what they gave. */
  note(calls: readonly ToolCallPart[], results: readonly ToolResult[]): Repetition | undefined;
}

/** How often something must have happened, what it is, and what a model should do instead. */
interface Kind {
  warn: number;
  stop: number;
  what: string;
  next: string;
}

const UNKNOWN_TOOL: Kind = {
  warn: 3,
  stop: 5,
  what: "call tools that do not exist",
  next: "Use only the tools that you were given.",
};
const SAME_RESULT: Kind = {
  warn: 3,
  stop: 5,
  what: "make the same calls with the same results",
  next: "Their results will not change: use what you know, try another way, or say what is missing.",
};
/** Where the results differ the model may be waiting for something. */
const SAME_CALL: Kind = {
  warn: 12,
  stop: 24,
  what: "make the same calls",
  next: "If you wait for something, wait longer between two looks, or say that it is not ready.",
};
/** One step again and again, two in turn, three in turn. */
const MAX_PERIOD = 3;

function watchRepetition(): RepetitionWatch {
  const withResults: string[] = [];
  const callsAlone: string[] = [];
  const warned = new Set<Kind>();
  let unknown = 0;
  return {
    note(calls, results) {
      // Models that repeat themselves write the same keys in the same order.
      const made = calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`).join("\n");
      const gave = results.map((result) => `${result.status} ${textOf(result.content)}`).join("\n");
      callsAlone.push(made);
      withResults.push(`${made}\n\n${gave}`);
      const isLost = results.every((result) => result.status === "failed" && result.error.code === "tool_not_found");
      unknown = isLost ? unknown + 1 : 0;
      return (
        judge(unknown, UNKNOWN_TOOL) ??
        judge(timesRepeated(withResults), SAME_RESULT) ??
        judge(timesRepeated(callsAlone), SAME_CALL)
      );
    },
  };

  function judge(times: number, kind: Kind): Repetition | undefined {
    if (times >= kind.stop) return { action: "stop", message: `Stopped: it went on to ${kind.what} (${times} times).` };
    if (times < kind.warn) warned.delete(kind);
    if (times < kind.warn || warned.has(kind)) return undefined;
    warned.add(kind);
    const message = `You ${kind.what}, ${times} times now. ${kind.next} If you go on like this you are stopped.`;
    return { action: "warn", message };
  }
}

/** How often the last one, two or three steps have come one after the other. */
function timesRepeated(steps: readonly string[]): number {
  let max = 1;
  for (let period = 1; period <= MAX_PERIOD; period++) {
    let same = 0;
    for (let at = steps.length - 1; at >= period && steps[at] === steps[at - period]; at--) same++;
    // Only whole rounds count; one step that came again is the business of the first period.
    max = Math.max(max, Math.floor(same / period) + 1);
  }
  return max;
}

/** What tool_search has loaded in a conversation, the newest last. Read off what was said, it survives whatever keeps that. */
function loadedToolsIn(messages: readonly Message[]): string[] {
  const loaded = new Set<string>();
  for (const message of messages) {
    if (message.role !== "tool") continue;
    for (const { toolName, success, metadata } of message.results) {
      const names = metadata["loadedTools"];
      if (toolName !== "tool_search" || !success || !Array.isArray(names)) continue;
      for (const name of names.map(String)) {
        loaded.delete(name);
        loaded.add(name);
      }
    }
  }
  return [...loaded];
}
