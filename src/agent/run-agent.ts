import type { BatchCall, CallOptions, CallPolicy, Caller } from "../core/call.ts";
import { ToolCallContext } from "../core/call-context.ts";
import { callDefinitionOf } from "../core/definition.ts";
import { failureOf, toFailure, type ToolFailure } from "../core/error.ts";
import type { PendingResult, ToolResult } from "../core/result.ts";
import type { AnyTool } from "../core/tool.ts";
import type { AgentResult, AgentEvent, AgentStop, RunOptions } from "./agent.ts";
import type { AgentDependencies, LateResults } from "./agent-parts.ts";
import type { ModelTurn } from "./agent-model.ts";
import { closeOpenCalls } from "./answer-open-calls.ts";
import { callModel, explainModelFailure } from "./ask-model.ts";
import { loadedToolsIn } from "./loaded-tools.ts";
import { type Message, textOfMessage, type ToolCallPart } from "./message.ts";
import { extractCalls } from "./take-calls.ts";
import { lateResultsMessage, unreportedCalls } from "./tell-late-results.ts";
import { findExceededLimit, type RunUsage } from "./find-overrun.ts";
import { watchRepetition } from "./watch-repetition.ts";

/** Tools that an agent always keeps, however a skill narrows it. */
const CONTROL_TOOLS = ["skill", "stop_response", "cli_response"];

/** Asks the model, makes its calls, tells it the results, and again, until it is done or something ends it. */
export async function runAgent(
  parts: AgentDependencies,
  input: string | readonly Message[],
  options: RunOptions = {},
): Promise<AgentResult> {
  const { signal = new AbortController().signal, mode, limits = {} } = options;
  const context = options.context ?? new ToolCallContext();
  const caller: Partial<Caller> = { agent: parts.name, model: parts.model.id, ...options.caller };
  const gate = options.gate ?? parts.gate;
  const policy: CallPolicy[] = [...(options.policy ?? [])];
  const spent: RunUsage = { steps: 0, inputTokens: 0, outputTokens: 0, ...(parts.prices ? { costUsd: 0 } : {}) };
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
    const answer = { text, messages: added, context, steps, usage, stop, ...(error ? { error } : {}) };
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
    const callOptions: CallOptions = { caller, signal, ...(mode ? { mode } : {}), policy };
    const batch = calls.map(({ callId, name, input: requested }, at): BatchCall => {
      const call: BatchCall = { id: callId, name, input: requested };
      const refusal = turn.unreadable?.get(at);
      if (refusal) call.refusal = refusal;
      if (!options.onEvent) return call;
      call.onUpdate = (update) => emit({ type: "tool_update", callId, update });
      call.onResult = (result) => emit({ type: "tool_result", result });
      return call;
    });
    const results = await gate.executeManyIn(parts.toolkit, batch, callOptions);
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
