import { allowOnlyTools, type CallPolicy } from "../../core/call.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { ToolCallContext } from "../../core/tool-call-context.ts";
import {
  type Agent,
  type AgentEvent,
  type AgentResult,
  type AgentUsage,
  callsOf,
  type Message,
  textOfMessage,
  type ToolCallPart,
} from "./agent.ts";
import { lateResultsMessage } from "./prompt.ts";
import type {
  AppendOptions,
  EntryDraft,
  Incoming,
  Lease,
  PendingCall,
  Session,
  SessionEntry,
  SessionState,
  SessionStore,
  TurnEnd,
} from "./session-store.ts";
import type { SessionEvent } from "./sessions.ts";

export interface SessionDriverDependencies {
  store: SessionStore;
  agentFor(session: Session): MaybePromise<Agent>;
  /** What commands of a session are given, which lives where the commands run. */
  environments?: SessionEnvironmentStore;
  emit(event: SessionEvent): void;
  /** Puts results of calls that wait before the session, where they are there by now. */
  collectLateResults(session: Session): Promise<void>;
  /** What is known of a call that was made before, in whatever process. */
  resultOf(session: Session, call: { callId: string; name: string }): MaybePromise<ToolResult | undefined>;
  now(): number;
  /** To stop the turn; with the reason `KEEP_TURN` it goes on at the next start. */
  signal: AbortSignal;
}

export interface SessionEnvironmentStore {
  read(key: string): Readonly<Record<string, string>>;
  restore(key: string, environment: Readonly<Record<string, string>>): void;
}

/** The process ends: what is under way is not over. */
export const PROCESS_EXIT = "the process ends";

const MAX_LAST_TEXT_LENGTH = 500;

/** Runs the turns of a session until nothing waits for it. A turn that was cut off goes on where it was. */
export async function driveSession(lease: Lease, parts: SessionDriverDependencies): Promise<void> {
  const { store, signal } = parts;
  const { key } = lease;
  for (;;) {
    if (signal.aborted && signal.reason === PROCESS_EXIT) return;
    const [last] = await store.history(key, { last: 1 });
    const wasCutOff = last !== undefined && last.end === undefined;
    if (wasCutOff && !signal.aborted) await finishInterruptedCalls(lease, parts);
    if (!signal.aborted) await parts.collectLateResults((await store.get(key))!);
    const hasNews = await takeIncoming(lease, parts);
    if (hasNews || wasCutOff) await runTurn(lease, parts);
    else if (signal.aborted) await store.append(lease, [], { changes: { state: "stopped", pending: [] } });
    else if (await store.release(lease)) return;
    if (signal.aborted) return;
  }
}

async function takeIncoming(lease: Lease, { store, emit }: SessionDriverDependencies): Promise<boolean> {
  const taken = await store.take(lease, toEntry);
  if (!taken) throw leaseLost(lease.key);
  for (const entry of taken) emit({ type: "entry", entry });
  return taken.length > 0;
}

/** Made again under their own ids: what is done is known, and what had begun is said to be of unknown outcome. */
async function finishInterruptedCalls(lease: Lease, parts: SessionDriverDependencies): Promise<void> {
  const { store, agentFor, signal, resultOf } = parts;
  const { unanswered } = replayHistory(await store.history(lease.key));
  if (unanswered.length === 0) return;
  const session = (await store.get(lease.key))!;
  const agent = await agentFor(session);
  restoreEnvironment(session, parts);
  const { mode } = session;
  const policy = policyOf(session);
  const model = agent.model === undefined ? {} : { model: agent.model };
  const caller = { agent: agent.name, ...model, ...session.caller };
  const results = await Promise.all(
    unanswered.map(
      async ({ callId, name, input }) =>
        (await resultOf(session, { callId, name })) ??
        agent.toolkit.execute(name, input, { id: callId, caller, policy, signal, mode }),
    ),
  );
  await save(lease, parts, [{ message: { role: "tool", results } }]);
}

async function runTurn(lease: Lease, parts: SessionDriverDependencies): Promise<void> {
  const { store, signal } = parts;
  const session = (await store.get(lease.key))!;
  const end = await runAgent(session, lease, parts);
  if (signal.aborted && signal.reason === PROCESS_EXIT) return;
  // Who stops a session does not want it to go on with what was said meanwhile.
  if (signal.aborted) await takeIncoming(lease, parts);
  const replayed = replayHistory(await store.history(lease.key));
  const state = stateAfter(end, replayed.pending);
  const pending = state === "stopped" ? [] : replayed.pending;
  const { usage, lastText, environment } = (await store.get(lease.key))!;
  await save(lease, parts, [{ end }], {
    changes: {
      state,
      pending,
      usage: sumOf(usage, end.usage),
      lastText: end.text === "" ? lastText : end.text.slice(0, MAX_LAST_TEXT_LENGTH),
      environment: parts.environments?.read(lease.key) ?? environment,
      error: end.error,
    },
    ...announcementOf(session, { end, state, at: parts.now() }),
  });
}

async function runAgent(session: Session, lease: Lease, parts: SessionDriverDependencies): Promise<TurnEnd> {
  const { caller, mode } = session;
  const policy = policyOf(session);
  const usage = { inputTokens: 0, outputTokens: 0 };
  const { messages, context, pending } = replayHistory(await parts.store.history(lease.key));
  const ids = new Set(pending.map(({ callId }) => callId));
  const last = messages.at(-1);
  const text = last?.role === "assistant" ? textOfMessage(last) : "";
  if (parts.signal.aborted) return { stop: "aborted", text, steps: 0, usage };
  // It was all said when the turn was cut off.
  if (last?.role === "assistant") return { stop: "done", text, steps: 0, usage };
  try {
    const agent = await parts.agentFor(session);
    restoreEnvironment(session, parts);
    const answer = await agent.run([], {
      messages,
      context,
      caller,
      policy,
      mode,
      signal: parts.signal,
      onEvent: (event) => handleEvent(event, { lease, parts, context, pending: ids }),
    });
    return endOf(answer);
  } catch (error) {
    return { stop: "error", text, steps: 0, usage, error: error instanceof Error ? error.message : String(error) };
  }
}

interface TurnContext {
  lease: Lease;
  parts: SessionDriverDependencies;
  context: ToolCallContext;
  /** Calls that have no result, as far as the history says. */
  pending: Set<string>;
}

function handleEvent(event: AgentEvent, turnContext: TurnContext): void | Promise<void> {
  switch (event.type) {
    case "message_added":
      return saveMessage(event.message, turnContext);
    case "text":
    case "reasoning":
    case "tool_update":
    case "tool_result":
      return turnContext.parts.emit(event);
    case "step_started":
    case "tool_call":
    case "step_finished":
    case "run_finished":
      return undefined;
  }
}

function saveMessage(message: Message, { lease, parts, context, pending }: TurnContext): void | Promise<void> {
  const drafts: EntryDraft[] = [{ message }];
  if (message.role === "tool") {
    for (const { status, callId } of message.results) if (status === "pending") pending.add(callId);
    const environment = parts.environments?.read(lease.key);
    return save(lease, parts, drafts, environment ? { changes: { environment } } : {});
  }
  // What the agent heard by itself, and has told its model, is not told again.
  for (const callId of pending) {
    const result = context.result(callId);
    if (!result) continue;
    pending.delete(callId);
    drafts.push({ incoming: { id: lateResultId(callId), kind: "result", result } });
  }
  return save(lease, parts, drafts);
}

export function lateResultId(callId: string): string {
  return `result ${callId}`;
}

/** At once where the store is: a call is made after the message that asks for it was kept. */
function save(
  lease: Lease,
  parts: SessionDriverDependencies,
  drafts: readonly EntryDraft[],
  written?: AppendOptions,
): void | Promise<void> {
  const emit = (entries: readonly SessionEntry[] | undefined): void => {
    if (!entries) throw leaseLost(lease.key);
    for (const entry of entries) parts.emit({ type: "entry", entry });
  };
  const added = parts.store.append(lease, drafts, written);
  return added instanceof Promise ? added.then(emit) : emit(added);
}

/** The tools that it is held to are one more layer, which its agent's own toolkit cannot widen. */
function policyOf({ policy, toolNames }: Session): CallPolicy[] {
  return toolNames ? [...policy, allowOnlyTools(toolNames)] : [...policy];
}

function restoreEnvironment({ key, environment }: Session, { environments }: SessionDriverDependencies): void {
  environments?.restore(key, environment);
}

function endOf({ stop, text, steps, usage, error }: AgentResult): TurnEnd {
  return { stop, text, steps, usage, error: error?.message };
}

function stateAfter({ stop }: TurnEnd, pending: readonly PendingCall[]): SessionState {
  if (stop === "aborted") return "stopped";
  if (stop === "error" || stop === "limit" || stop === "loop") return "failed";
  return pending.length > 0 ? "waiting" : "idle";
}

/**
 * A child that has ended says so to its parent, also where it failed; one that waits has not ended. That it was stopped is
 * told by whoever stops it, where the parent does not know.
 */
function announcementOf(
  { key, label, parent, turns }: Session,
  { end, state, at }: { end: TurnEnd; state: SessionState; at: number },
): Pick<AppendOptions, "announce"> {
  if (parent === undefined || state === "waiting" || state === "stopped") return {};
  const how = state === "idle" ? "It has finished." : `It failed: ${end.error ?? end.stop}`;
  const text = [how, end.text].filter(Boolean).join("\n");
  const from = { session: key, label };
  return { announce: { to: parent, item: { id: announcementId(key, turns), kind: "announce", text, from, at } } };
}

function leaseLost(key: string): ToolError {
  return toolError("conflict", `Session "${key}" is gone on with by another process`, {
    next: "What it says there is in its history.",
  });
}

export function announcementId(key: string, turn: number): string {
  return `announce ${key} ${turn}`;
}

function sumOf(a: AgentUsage, b: AgentUsage): AgentUsage {
  const cost = a.costUsd === undefined && b.costUsd === undefined ? undefined : (a.costUsd ?? 0) + (b.costUsd ?? 0);
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    costUsd: cost,
  };
}

/** What came in, as the model reads it: who speaks is said in front, because all of it has the role of a user. */
function toEntry({ text, at: _at, ...incoming }: Incoming): EntryDraft {
  if (incoming.result) return { message: lateResultsMessage([incoming.result]), incoming };
  const head = headOf(incoming);
  return { message: { role: "user", content: head === "" ? text : `[${head}]\n${text}` }, incoming };
}

function headOf({ kind, from }: Omit<Incoming, "text" | "at">): string {
  const session = from?.session === undefined ? undefined : `session ${from.label ?? from.session}`;
  switch (kind) {
    case "message":
      return session === undefined ? "" : `Message from ${session}, not from the user`;
    case "announce":
      return `Report of ${session ?? "a session that was started here"}, not from the user`;
    case "wake":
      return "A schedule says";
    case "result":
      return "Result of a call that was pending";
  }
}

export interface ReplayedHistory {
  messages: Message[];
  context: ToolCallContext;
  pending: PendingCall[];
  /** Calls of the last message that were cut off before their results were kept. */
  unanswered: ToolCallPart[];
}

/** A conversation as its history has it: what the model is shown, and which calls have no result. */
function replayHistory(entries: readonly SessionEntry[]): ReplayedHistory {
  const messages: Message[] = [];
  const context = new ToolCallContext();
  const pending = new Map<string, PendingCall>();
  const calls = new Set<string>();
  for (const { message, incoming } of entries) {
    if (incoming?.result) settle(incoming.result);
    if (!message) continue;
    messages.push(message);
    // An id that a model gave twice stands for its first call.
    for (const { callId, name, input } of callsOf(message)) {
      if (!calls.has(callId)) context.setToolCalls([{ callId, name, input }]);
      calls.add(callId);
    }
    if (message.role === "tool") message.results.forEach(settle);
  }
  return { messages, context, pending: [...pending.values()], unanswered: callsOf(messages.at(-1)) };

  function settle(result: ToolResult): void {
    const { callId, toolName } = result;
    if (!calls.has(callId) || context.result(callId)) return;
    context.setToolCallResult(result);
    if (result.status === "pending") pending.set(callId, { callId, name: toolName, pending: result.pending });
    else pending.delete(callId);
  }
}
