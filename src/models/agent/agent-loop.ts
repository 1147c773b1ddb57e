import { SPAN_CLIENT, SPAN_INTERNAL } from "../../core/telemetry/open-telemetry.ts";
import { traceOperation } from "../../core/telemetry/operations.ts";
import { type Caller, type CallOptions, type CallPolicy, nextCallId } from "../../core/call.ts";
import { checkKeys, keysOf } from "../../core/options.ts";
import { type Clock, pause } from "../../core/clock.ts";
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
import { NO_RESULT } from "../providers/call-results.ts";
import { lateResultsMessage, unreportedCalls } from "./prompt.ts";
import { CONTROL_TOOLS } from "./skills.ts";

/** Creates an agent from its dependencies. */
export function assembleAgent(parts: AgentDependencies): Agent {
  const { name, toolkit } = parts;
  return {
    name,
    toolkit,
    model: parts.model.id,
    run: (input, options) => traceRun(parts, options, () => new AgentRun(parts, options).run(input)),
    async *stream(input, options = {}) {
      const stopped = new AbortController();
      const signal = options.signal ? AbortSignal.any([options.signal, stopped.signal]) : stopped.signal;
      const queue: AgentEvent[] = [];
      let wake = (): void => undefined;
      const onEvent = (event: AgentEvent): void | Promise<void> => {
        queue.push(event);
        wake();
        return options.onEvent?.(event);
      };
      const run = traceRun(parts, options, () => new AgentRun(parts, { ...options, signal, onEvent }).run(input));
      try {
        for (let isOver = false; !isOver;) {
          if (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve));
          for (const event of queue.splice(0)) {
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

function traceRun(
  { name, model, clock }: AgentDependencies,
  options: RunOptions | undefined,
  run: () => Promise<AgentResult>,
): Promise<AgentResult> {
  const attributes = {
    "gen_ai.agent.name": name,
    "gen_ai.conversation.id": options?.caller?.session,
    ...modelAttributes(model.id),
  };
  const operation = { name: "invoke_agent", subject: name, kind: SPAN_INTERNAL, clock, attributes };
  return traceOperation(operation, run, ({ usage, error, stop }) => ({
    attributes: {
      "haft.stop": stop,
      "gen_ai.usage.input_tokens": usage.inputTokens,
      "gen_ai.usage.output_tokens": usage.outputTokens,
    },
    error: stop === "error" && error ? { type: error.code, message: error.message } : undefined,
  }));
}

/** The reasons of the GenAI conventions. */
const FINISH_REASONS: Record<ModelTurn["finish"], string> = {
  ended: "stop",
  calls: "tool_call",
  cut: "length",
  refused: "content_filter",
  unknown: "unknown",
};

function traceTurn(
  { model, clock }: AgentDependencies,
  { agent, session }: Partial<Caller>,
  run: () => Promise<ModelTurn>,
): Promise<ModelTurn> {
  const attributes = {
    "gen_ai.agent.name": agent,
    "gen_ai.conversation.id": session,
    ...modelAttributes(model.id),
  };
  const operation = { name: "chat", subject: nameOfModel(model.id), kind: SPAN_CLIENT, clock, attributes };
  return traceOperation(operation, run, ({ usage, finish }) => ({
    attributes: { "gen_ai.response.finish_reasons": [FINISH_REASONS[finish]] },
    tokens: { input: usage.inputTokens, output: usage.outputTokens },
    event: "gen_ai.client.inference.operation.details",
  }));
}

/** The id of a model begins with its provider. */
function nameOfModel(id: string): string {
  return id.slice(id.indexOf("/") + 1);
}

function modelAttributes(id: string): Record<string, string> {
  const provider = id.includes("/") ? id.slice(0, id.indexOf("/")) : "unknown";
  return { "gen_ai.request.model": nameOfModel(id), "gen_ai.provider.name": provider };
}

const RUN_KEYS = keysOf<RunOptions>({
  messages: true,
  context: true,
  caller: true,
  signal: true,
  mode: true,
  policy: true,
  limits: true,
  lateResults: true,
  onEvent: true,
  userMessage: true,
  parent: true,
});

/** One run: calls the model, runs its tool calls and returns the results to it, until the model is done or the run is ended. */
class AgentRun {
  readonly #parts: AgentDependencies;
  readonly #options: RunOptions;
  readonly #signal: AbortSignal;
  readonly #context: ToolCallContext;
  readonly #caller: Partial<Caller>;
  readonly #policy: CallPolicy[];
  readonly #usage: RunUsage;
  readonly #history: readonly Message[];
  readonly #added: Message[] = [];
  readonly #repetition = new RepetitionWatch();
  #tools: readonly AnyTool[] = [];
  #late: LateResults | undefined;
  #userMessage: string | readonly string[] | undefined;
  /** Pending calls whose results the model has not seen. */
  #unreported = new Map<string, PendingResult>();

  constructor(parts: AgentDependencies, options: RunOptions = {}) {
    this.#parts = parts;
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#context = options.context ?? new ToolCallContext();
    this.#caller = { agent: parts.name, model: parts.model.id, ...options.caller };
    this.#policy = [...(options.policy ?? [])];
    this.#usage = { steps: 0, inputTokens: 0, outputTokens: 0, costUsd: parts.prices ? 0 : undefined };
    this.#history = this.#closeOpenCalls(options.messages ?? []);
  }

  async run(input: string | readonly Message[]): Promise<AgentResult> {
    try {
      checkKeys("A run of an agent", this.#options, RUN_KEYS);
      const messages: readonly Message[] = typeof input === "string" ? [{ role: "user", content: input }] : input;
      // A subagent's task is the text of a model.
      if (!this.#options.parent) this.#userMessage = this.#options.userMessage ?? textsOfUser(messages);
      await this.#start(messages);
      for (;;) {
        const result = await this.#step();
        if (result) return result;
      }
    } catch (error) {
      return this.#finish("error", toFailure(error));
    } finally {
      this.#late?.close();
    }
  }

  async #start(input: readonly Message[]): Promise<void> {
    const conversation = this.#closeOpenCalls([...this.#history, ...input]);
    for (const message of conversation.slice(this.#history.length)) await this.#add(message);
    this.#unreported = unreportedCalls(conversation);
    const awaited = [...this.#unreported.values()];
    this.#late = await this.#parts.watchLateResults?.({ caller: this.#caller, awaited });
  }

  /** One turn of the model and its calls. Returns the result if the run is over. */
  async #step(): Promise<AgentResult | undefined> {
    if (this.#signal.aborted) return this.#finish("aborted");
    const exceeded = findExceededLimit(this.#usage, { ...this.#parts.limits, ...this.#options.limits });
    if (exceeded) return this.#finish("limit", exceeded);
    const refusal = await this.#parts.budget?.refusal(this.#caller);
    if (refusal) return this.#finish("limit", toFailure(refusal));
    await this.#addLateResults();
    const step = ++this.#usage.steps;
    this.#emit({ type: "step_started", step });
    let turn: ModelTurn;
    try {
      turn = await traceTurn(this.#parts, this.#caller, () => this.#callModel());
    } catch (error) {
      if (this.#signal.aborted) return this.#finish("aborted");
      return this.#finish("error", explainModelFailure(error, this.#parts.model.id));
    }
    await this.#countTokens(turn);
    const calls = extractCalls(turn.parts, this.#context);
    if (turn.parts.length > 0) await this.#add({ role: "assistant", content: turn.parts });
    this.#emit({ type: "step_finished", step, usage: this.#agentUsage() });
    if (calls.length === 0) {
      return (await this.#addLateResults()) ? undefined : this.#finishTurn(turn);
    }
    const results = await this.#runCalls(calls, turn);
    await this.#add({ role: "tool", results });
    for (const result of results) this.#applyAllowedTools(result);
    if (this.#signal.aborted) return this.#finish("aborted");
    if (results.some((result) => this.#endsTurn(result))) return this.#finish("stopped");
    const repetition = this.#repetition.check(calls, results);
    if (repetition?.action === "stop") return this.#finish("loop", failureOf("conflict", repetition.message));
    const notes = [...(turn.warnings ?? []), ...(repetition ? [repetition.message] : [])];
    if (notes.length > 0) await this.#add(noteToModel(notes));
    if (results.every(isBlocked) && !(await this.#addLateResults())) return this.#finish("pending");
    return undefined;
  }

  async #callModel(): Promise<ModelTurn> {
    const { model, clock } = this.#parts;
    const { mode, onEvent } = this.#options;
    const messages = [...this.#history, ...this.#added];
    const caller = this.#caller;
    const loaded = loadedToolsIn(messages);
    const about = textsOfUser(messages).at(0);
    const shown = await this.#parts.shownTools({ caller, mode, policy: this.#policy, loaded, about });
    const tools = reuseIfEqual(this.#tools, shown);
    this.#tools = tools;
    this.#context.setToolDefinitions(tools.map(callDefinitionOf));
    const system = await this.#parts.systemPrompt({ tools, mode, context: this.#context, caller });
    const request = { system, messages, tools, signal: this.#signal };
    return callModel(model, request, { clock, onDelta: onEvent && ((delta) => this.#emit(delta)) });
  }

  async #runCalls(calls: readonly ToolCallPart[], turn: ModelTurn): Promise<ToolResult[]> {
    const { mode, onEvent, parent } = this.#options;
    const { name: agent, toolkit } = this.#parts;
    const gate = parent ? subagentGateOf(parent, { agent }) : this.#parts.gate;
    this.#context.setToolCalls(calls.map(({ callId, name, input }) => ({ callId, name, input })));
    for (const { callId, name, input } of calls) this.#emit({ type: "tool_call", callId, name, input });
    const batch = calls.map(({ callId, name, input }, at): BoundBatchCall => {
      const call: BoundBatchCall = { id: callId, name, input };
      const refusal = turn.unreadable?.get(at);
      if (refusal) call.refusal = refusal;
      if (!onEvent) return call;
      call.onUpdate = (update) => this.#emit({ type: "tool_update", callId, update });
      call.onResult = (result) => this.#emit({ type: "tool_result", result });
      return call;
    });
    const options: CallOptions = {
      caller: this.#caller,
      signal: this.#signal,
      mode,
      policy: this.#policy,
      userMessage: this.#userMessage,
      isInConversation: (callId) => this.#hasResult(callId),
    };
    const results = await gate.executeMany(batch, options, { scope: toolkit });
    for (const result of results) {
      this.#context.setToolCallResult(result);
      if (result.status === "pending") this.#unreported.set(result.callId, result);
      else this.#parts.onResultDelivered?.(result);
    }
    return results;
  }

  /** Whether the model still sees the result of a call. */
  #hasResult(callId: string): boolean {
    const isThere = (message: Message): boolean =>
      message.role === "tool" && message.results.some((result) => result.callId === callId);
    return this.#added.some(isThere) || this.#history.some(isThere);
  }

  /** Adds results of pending calls to the conversation, including those that others have put into the context. */
  async #addLateResults(): Promise<boolean> {
    const fromContext = [...this.#unreported.keys()].flatMap((callId) => this.#context.result(callId) ?? []);
    const late = [...fromContext, ...(this.#options.lateResults?.() ?? []), ...(this.#late?.take() ?? [])];
    const unseen = late.filter((result) => this.#isUnseen(result));
    if (unseen.length === 0) return false;
    await this.#add(lateResultsMessage(unseen));
    return true;
  }

  /** The call of a late result may belong to an earlier run and be missing from the context. */
  #isUnseen(result: ToolResult): boolean {
    if (result.status === "pending") return false;
    const { callId } = result;
    const pending = this.#unreported.get(callId);
    if (!pending && this.#context.result(callId)) return false;
    this.#unreported.delete(callId);
    const isInContext = this.#context.toolCalls.some((call) => call.callId === callId);
    if (isInContext && !this.#context.result(callId)) this.#context.setToolCallResult(result);
    if (pending?.pending.kind !== "job") this.#parts.onResultDelivered?.(result);
    return true;
  }

  #finishTurn({ finish }: ModelTurn): AgentResult {
    if (finish === "cut") {
      const message = "The model's answer was truncated at its token limit. Raise maxOutputTokens.";
      return this.#finish("limit", failureOf("too_large", message));
    }
    if (finish === "refused") {
      const message = "The provider withheld the model's answer. Rephrase the request.";
      return this.#finish("error", failureOf("failed", message));
    }
    return this.#finish(this.#context.pending().length > 0 ? "pending" : "done");
  }

  #finish(stop: AgentStop, error?: ToolFailure): AgentResult {
    const answer: AgentResult = {
      text: finalText(this.#added),
      messages: this.#added,
      context: this.#context,
      steps: this.#usage.steps,
      usage: this.#agentUsage(),
      stop,
      error,
    };
    this.#emit({ type: "run_finished", answer });
    return answer;
  }

  #emit(event: AgentEvent): void {
    try {
      const returned: unknown = this.#options.onEvent?.(event);
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // A failing listener must not end the run.
    }
  }

  /** Waits for the listener: a call may only run after the message that requests it is stored. */
  async #add(message: Message): Promise<void> {
    this.#added.push(message);
    await this.#options.onEvent?.({ type: "message_added", message, usage: this.#agentUsage() });
  }

  #closeOpenCalls(messages: readonly Message[]): Message[] {
    return closeOpenCalls(messages, { context: this.#context, now: this.#parts.clock.now() });
  }

  async #countTokens({ usage }: ModelTurn): Promise<void> {
    const { prices, budget } = this.#parts;
    this.#usage.inputTokens += usage.inputTokens;
    this.#usage.outputTokens += usage.outputTokens;
    const costOf = ({ inputTokens, outputTokens }: ModelTurn["usage"]): number | undefined =>
      prices && (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000;
    this.#usage.costUsd = costOf(this.#usage);
    await budget?.add(this.#caller, { ...usage, costUsd: costOf(usage) });
  }

  #agentUsage(): AgentUsage {
    const { steps: _steps, ...usage } = this.#usage;
    return usage;
  }

  #endsTurn(result: ToolResult): boolean {
    return result.status === "completed" && result.metadata["endsTurn"] === true && this.#isTrusted(result);
  }

  #applyAllowedTools(result: ToolResult): void {
    const { allowedTools } = result.metadata;
    if (result.status !== "completed" || !Array.isArray(allowedTools) || allowedTools.length === 0) return;
    if (this.#isTrusted(result)) this.#policy.push({ allow: [...allowedTools.map(String), ...CONTROL_TOOLS] });
  }

  /** Only local tools may control the run. Tools from elsewhere may not. */
  #isTrusted({ toolName }: ToolResult): boolean {
    const origin = this.#parts.toolkit.get(toolName)?.origin.type;
    return origin === "builtin" || origin === "own";
  }
}

/** Jobs continue while the model works. Approvals, questions and client calls block it. */
function isBlocked(result: ToolResult): boolean {
  return result.status === "pending" && result.pending.kind !== "job";
}

const NOTE = "Note from the runtime, not from the user:";

function noteToModel(notes: readonly string[]): Message {
  return { role: "user", content: `${NOTE} ${notes.join(" ")}` };
}

function finalText(messages: readonly Message[]): string {
  for (const message of messages.toReversed()) {
    const text = message.role === "assistant" ? textOfMessage(message) : "";
    if (text !== "") return text;
  }
  return "";
}

/** Returns the earlier list if the tools are the same, because models cache definitions by list. */
function reuseIfEqual(before: readonly AnyTool[], now: readonly AnyTool[]): readonly AnyTool[] {
  return before.length === now.length && before.every((tool, at) => tool === now[at]) ? before : now;
}

interface CallModelOptions {
  clock: Clock;
  onDelta?: ((piece: ModelDelta) => void) | undefined;
}

/** The waits between attempts: one attempt more than there are waits. */
const WAITS_MS = [1_000, 4_000, 15_000];
const MAX_WAIT_MS = 60_000;

/** Calls the model, and retries if the error is retryable and nothing was streamed yet. Rejects with the last error. */
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
      await pause(Math.max(waitMs, Math.min(retryAfterMs(error), MAX_WAIT_MS)), request.signal, clock);
      if (request.signal.aborted) throw error;
    }
  }
}

/** Explains a model error to the person who runs the agent. */
function explainModelFailure(error: unknown, modelId: string): ToolFailure {
  if (error instanceof ToolError) return { ...toFailure(error), data: undefined };
  const status = statusOf(error);
  const text = error instanceof Error ? error.message : typeof error === "string" ? error : "unknown reason";
  const code: ErrorCode = isRetryable(error) ? "unavailable" : "failed";
  const message = `The model ${modelId} gave no answer: ${text.replace(/\.$/, "")}`;
  return failureOf(code, message, { name: error instanceof Error ? error.name : "Error", next: nextStep(status) });
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
      return "The request was rejected: check that the model supports tools (if not, set `format`) and that the conversation is not too long.";
    case 429:
      return "Wait, or raise the provider's limits.";
    default:
      return "Check the connection and the base URL, then run again.";
  }
}

/** Judges errors of the AI SDK and connection errors. */
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

/** Gives every call of a turn a unique id. A reused or counting id of the model would match another call's result. */
function extractCalls(parts: MessagePart[], context: ToolCallContext): ToolCallPart[] {
  const used = new Set(context.toolCalls.map(({ callId }) => callId));
  const calls: ToolCallPart[] = [];
  for (const [at, part] of parts.entries()) {
    if (part.type !== "tool_call") continue;
    const { callId: modelId, rawText } = part;
    const call = { ...part };
    if (used.has(modelId) || !looksUnique(modelId, part.name)) {
      call.callId = nextCallId();
      if (modelId && rawText === undefined) call.modelId = modelId;
    }
    used.add(call.callId);
    calls.push(call);
    parts[at] = call;
  }
  return calls;
}

/** `call_0`, `functions.read:3` and `2` repeat in the next conversation; a random id of a provider does not. */
function looksUnique(id: string, name: string): boolean {
  const random = id.replace(/^(?:chatcmpl-tool|functions|call|toolu|tool|fc)[-_.:]*/i, "");
  return /^[\w-]{8,}$/.test(random) && !/^\d{1,9}$/.test(random) && (name === "" || !id.includes(name));
}

/** A conversation that every provider accepts: one result per call, in order; open calls get an error result. */
function closeOpenCalls(
  messages: readonly Message[],
  { context, now }: { context?: ToolCallContext | undefined; now: number },
): Message[] {
  const closed: Message[] = [];
  for (const [at, message] of messages.entries()) {
    // Results are added together with their calls, below.
    if (message.role === "tool") continue;
    closed.push(message);
    const calls = callsOf(message);
    if (calls.length === 0) continue;
    const stored = new Map<string, ToolResult>();
    for (const next of messages.slice(at + 1)) {
      if (next.role !== "tool") break;
      for (const result of next.results) stored.set(result.callId, result);
    }
    const results = calls.map(
      ({ callId, name }) => stored.get(callId) ?? context?.result(callId) ?? missingResult(callId, name, now),
    );
    closed.push({ role: "tool", results });
  }
  return closed;
}

function missingResult(callId: string, toolName: string, now: number): FailedResult {
  return {
    callId,
    toolName,
    status: "failed",
    success: false,
    content: [{ type: "text", text: NO_RESULT }],
    display: firstLine(NO_RESULT),
    error: failureOf("unknown_outcome", NO_RESULT),
    metadata: {},
    startedAt: now,
  };
}

interface RunUsage extends AgentUsage {
  steps: number;
}

/** Enough for long tasks, and an end for endless ones. */
const DEFAULT_STEPS = 100;

/** The limit that a run has reached, if any. Checked before each step. */
function findExceededLimit(
  { steps, inputTokens, outputTokens, costUsd }: RunUsage,
  { steps: maxSteps = DEFAULT_STEPS, tokens, costUsd: maxCost }: AgentLimits,
): ToolFailure | undefined {
  if (steps >= maxSteps) return reached(`${maxSteps} steps`, "steps");
  if (tokens !== undefined && inputTokens + outputTokens >= tokens) return reached(`${tokens} tokens`, "tokens");
  if (maxCost === undefined) return undefined;
  if (costUsd === undefined) {
    return failureOf("invalid_input", "The cost is limited, but the model's prices are unknown", {
      next: "Set `prices`.",
    });
  }
  return costUsd >= maxCost ? reached(`${maxCost} US dollars`, "costUsd") : undefined;
}

function reached(what: string, key: keyof AgentLimits): ToolFailure {
  const next = `To continue, run again or raise ${key}.`;
  return failureOf("too_large", `The run reached its limit of ${what}`, { next });
}

/** A warning to a model that repeats itself, or the reason why it is stopped. */
interface Repetition {
  action: "warn" | "stop";
  message: string;
}

/** A kind of repetition: its thresholds, its description, and what the model should do instead. */
interface RepetitionKind {
  warn: number;
  stop: number;
  what: string;
  next: string;
}

const UNKNOWN_TOOL: RepetitionKind = {
  warn: 3,
  stop: 5,
  what: "call tools that do not exist",
  next: "Use only the tools that you were given.",
};
const SAME_RESULT: RepetitionKind = {
  warn: 3,
  stop: 5,
  what: "make the same calls with the same results",
  next: "Their results will not change: use what you know, try another way, or say what is missing.",
};
/** If the results differ, the model may be waiting for something. */
const SAME_CALL: RepetitionKind = {
  warn: 12,
  stop: 24,
  what: "make the same calls",
  next: "If you wait for something, wait longer between checks, or say that it is not ready.",
};
/** Detects one repeated step and alternations of two or three steps. */
const MAX_PERIOD = 3;

class RepetitionWatch {
  readonly #callsWithResults: string[] = [];
  readonly #calls: string[] = [];
  readonly #warned = new Set<RepetitionKind>();
  #unknownToolSteps = 0;

  /** Records a step with its calls and results. */
  check(calls: readonly ToolCallPart[], results: readonly ToolResult[]): Repetition | undefined {
    // Models that repeat themselves write the same keys in the same order.
    const callText = calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`).join("\n");
    const resultText = results.map((result) => `${result.status} ${textOf(result.content)}`).join("\n");
    this.#calls.push(callText);
    this.#callsWithResults.push(`${callText}\n\n${resultText}`);
    const isUnknown = results.every((result) => result.status === "failed" && result.error.code === "tool_not_found");
    this.#unknownToolSteps = isUnknown ? this.#unknownToolSteps + 1 : 0;
    return (
      this.#judge(this.#unknownToolSteps, UNKNOWN_TOOL) ??
      this.#judge(timesRepeated(this.#callsWithResults), SAME_RESULT) ??
      this.#judge(timesRepeated(this.#calls), SAME_CALL)
    );
  }

  #judge(times: number, kind: RepetitionKind): Repetition | undefined {
    const { warn, stop, what, next } = kind;
    if (times >= stop) return { action: "stop", message: `Stopped: it continued to ${what} (${times} times).` };
    if (times < warn) this.#warned.delete(kind);
    if (times < warn || this.#warned.has(kind)) return undefined;
    this.#warned.add(kind);
    return { action: "warn", message: `You ${what}, ${times} times now. ${next} If you continue, you are stopped.` };
  }
}

/** How often the last one, two or three steps were repeated in a row. */
function timesRepeated(steps: readonly string[]): number {
  let max = 1;
  for (let period = 1; period <= MAX_PERIOD; period++) {
    let same = 0;
    for (let at = steps.length - 1; at >= period && steps[at] === steps[at - period]; at--) same++;
    // Only complete rounds count. A single repeated step belongs to the first period.
    max = Math.max(max, Math.floor(same / period) + 1);
  }
  return max;
}

function textsOfUser(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role !== "user") return [];
    if (typeof message.content === "string") return message.content.startsWith(NOTE) ? [] : [message.content];
    // The late result of a call is not what the user says.
    const own = message.content.filter((part) => part.type === "text" && part.resultOf === undefined);
    return own.length === 0 ? [] : [textOfMessage({ ...message, content: own })];
  });
}

/** The tools that tool_search loaded in a conversation, newest last. Derived from the messages, so it is restored with them. */
function loadedToolsIn(messages: readonly Message[]): string[] {
  const loaded = new Set<string>();
  for (const message of messages) {
    if (message.role !== "tool") continue;
    for (const { toolName, status, metadata } of message.results) {
      const names = metadata["loadedTools"];
      if (toolName !== "tool_search" || status !== "completed" || !Array.isArray(names)) continue;
      // The best match is the last one to be dropped.
      for (const name of names.map(String).toReversed()) {
        loaded.delete(name);
        loaded.add(name);
      }
    }
  }
  return [...loaded];
}
