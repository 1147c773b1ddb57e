import { allowOnlyTools, type CallPolicy } from "../../core/call.ts";
import { errorMessage, toolError, type ToolError } from "../../core/error.ts";
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

interface SessionDriverDependencies {
  store: SessionStore;
  agentFor(session: Session): MaybePromise<Agent>;
  /** The environment variables of the session's commands. */
  environments?: SessionEnvironmentStore;
  emit(event: SessionEvent): void;
  /** Adds available results of pending calls to the inbox of the session. */
  collectLateResults(session: Session): Promise<void>;
  /** The result of an earlier call, made in any process, if it is known. */
  resultOf(session: Session, call: { callId: string; name: string }): MaybePromise<ToolResult | undefined>;
  now(): number;
  /** Stops the turn. With the reason `PROCESS_EXIT` it resumes at the next start. */
  signal: AbortSignal;
}

export interface SessionEnvironmentStore {
  read(key: string): Readonly<Record<string, string>>;
  restore(key: string, environment: Readonly<Record<string, string>>): void;
}

/** An abort reason: the process exits, and the turn resumes later. */
export const PROCESS_EXIT = "the process ends";

const MAX_LAST_TEXT_LENGTH = 500;

/** Runs the turns of a session until its inbox is empty. An interrupted turn resumes where it stopped. */
export async function driveSession(lease: Lease, parts: SessionDriverDependencies): Promise<void> {
  const { store, signal } = parts;
  const { key } = lease;
  for (;;) {
    if (signal.aborted && signal.reason === PROCESS_EXIT) return;
    const [last] = await store.history(key, { last: 1 });
    const wasInterrupted = last !== undefined && last.end === undefined;
    if (wasInterrupted && !signal.aborted) await finishInterruptedCalls(lease, parts);
    if (!signal.aborted) await parts.collectLateResults(await sessionOf(lease, parts));
    const hasMessages = await takeIncoming(lease, parts);
    if (hasMessages || wasInterrupted) await runTurn(lease, parts);
    else if (signal.aborted) await store.append(lease, [], { changes: { state: "stopped", pending: [] } });
    else if (await store.release(lease)) return;
    if (signal.aborted) return;
  }
}

async function sessionOf({ key }: Lease, { store }: SessionDriverDependencies): Promise<Session> {
  const session = await store.get(key);
  if (!session)
    throw toolError("path_not_found", `There is no session "${key}"`, { next: "Look at the list of sessions." });
  return session;
}

async function takeIncoming(lease: Lease, { store, emit }: SessionDriverDependencies): Promise<boolean> {
  const taken = await store.take(lease, toEntry);
  if (!taken) throw leaseLost(lease.key);
  for (const entry of taken) emit({ type: "entry", entry });
  return taken.length > 0;
}

/** Repeats the calls with their ids: finished ones return their result, and ones that had started fail with an unknown outcome. */
async function finishInterruptedCalls(lease: Lease, parts: SessionDriverDependencies): Promise<void> {
  const { store, agentFor, signal, resultOf } = parts;
  const { unanswered } = replayHistory(await store.history(lease.key));
  if (unanswered.length === 0) return;
  const session = await sessionOf(lease, parts);
  const agent = await agentFor(session);
  restoreEnvironment(session, parts);
  const { mode } = session;
  const policy = policyOf(session);
  const caller = { agent: agent.name, model: agent.model, ...session.caller };
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
  const session = await sessionOf(lease, parts);
  // What an interrupted run of this turn has used is part of it.
  const before = session.usage;
  const end = await runAgent(session, lease, parts);
  if (signal.aborted && signal.reason === PROCESS_EXIT) return;
  // A stopped session must not start another turn with messages that came in the meantime.
  if (signal.aborted) await takeIncoming(lease, parts);
  const replayed = replayHistory(await store.history(lease.key));
  const state = stateAfter(end, replayed.pending);
  const pending = state === "stopped" ? [] : replayed.pending;
  const { lastText, environment } = await sessionOf(lease, parts);
  await save(lease, parts, [{ end }], {
    changes: {
      state,
      pending,
      usage: sumOf(before, end.usage),
      lastText: end.text === "" ? lastText : end.text.slice(0, MAX_LAST_TEXT_LENGTH),
      environment: parts.environments?.read(lease.key) ?? environment,
      error: end.error,
    },
    announce: announcementOf(session, { end, state, at: parts.now() }),
  });
}

async function runAgent(session: Session, lease: Lease, parts: SessionDriverDependencies): Promise<TurnEnd> {
  const { caller, mode } = session;
  const policy = policyOf(session);
  const usage = { inputTokens: 0, outputTokens: 0 };
  const history = await parts.store.history(lease.key);
  const { messages, context, pending } = replayHistory(history);
  const ids = new Set(pending.map(({ callId }) => callId));
  const last = messages.at(-1);
  const text = last?.role === "assistant" ? textOfMessage(last) : "";
  if (parts.signal.aborted) return { stop: "aborted", text, steps: 0, usage };
  // The model had already finished when the turn was interrupted.
  if (last?.role === "assistant") return { stop: "done", text, steps: 0, usage };
  try {
    const agent = await parts.agentFor(session);
    restoreEnvironment(session, parts);
    const answer = await agent.run([], {
      messages,
      userMessage: messagesOfUser(history),
      context,
      caller,
      policy,
      mode,
      signal: parts.signal,
      onEvent: (event) => handleEvent(event, { lease, parts, context, pending: ids, usage: session.usage }),
    });
    return endOf(answer);
  } catch (error) {
    return { stop: "error", text, steps: 0, usage, error: errorMessage(error) };
  }
}

interface TurnContext {
  lease: Lease;
  parts: SessionDriverDependencies;
  context: ToolCallContext;
  /** Calls without a result in the history. */
  pending: Set<string>;
  /** Of the session before this turn. */
  usage: AgentUsage;
}

function handleEvent(event: AgentEvent, turnContext: TurnContext): void | Promise<void> {
  switch (event.type) {
    case "message_added":
      return saveMessage(event, turnContext);
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

function saveMessage(
  { message, usage }: Extract<AgentEvent, { type: "message_added" }>,
  { lease, parts, context, pending, usage: before }: TurnContext,
): void | Promise<void> {
  const drafts: EntryDraft[] = [{ message }];
  if (message.role === "tool") {
    for (const { status, callId } of message.results) if (status === "pending") pending.add(callId);
    const environment = parts.environments?.read(lease.key);
    return save(lease, parts, drafts, environment ? { changes: { environment } } : {});
  }
  // Late results that the agent found itself are marked as received, so they are not delivered again.
  for (const callId of pending) {
    const result = context.result(callId);
    if (!result) continue;
    pending.delete(callId);
    drafts.push({ incoming: { id: lateResultId(callId), kind: "result", result } });
  }
  // Shown while the turn runs, not only at its end.
  return save(lease, parts, drafts, { changes: { usage: sumOf(before, usage) } });
}

export function lateResultId(callId: string): string {
  return `result ${callId}`;
}

/** Synchronous if the store is. A call runs only after the message that requests it is stored. */
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

/** The allowed tools are one more policy layer, which the toolkit of the agent cannot widen. */
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

/** A child's report when it has finished or failed, not while it waits. `Sessions.stop` reports stops. */
function announcementOf(
  { key, label, parent, turns }: Session,
  { end, state, at }: { end: TurnEnd; state: SessionState; at: number },
): AppendOptions["announce"] {
  if (parent === undefined || state === "waiting" || state === "stopped") return undefined;
  const outcome = state === "idle" ? "It has finished." : `It failed: ${end.error ?? end.stop}`;
  const text = [outcome, end.text].filter(Boolean).join("\n");
  const from = { session: key, label };
  return { to: parent, item: { id: announcementId(key, turns), kind: "announce", text, from, at } };
}

function leaseLost(key: string): ToolError {
  return toolError("conflict", `Another process has taken over session "${key}"`, {
    next: "Its history has the messages.",
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

/** A message for the model. It starts with its source, because all incoming messages have the role of a user. */
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
      return `Report of ${session ?? "a session that was spawned here"}, not from the user`;
    case "wake":
      return "Message from a schedule";
    case "result":
      return "Result of a call that was pending";
  }
}

/** What the user wrote: not another session, a schedule or a result. */
function messagesOfUser(history: readonly SessionEntry[]): string[] {
  return history.flatMap(({ message, incoming }) =>
    message?.role === "user" && incoming?.kind === "message" && incoming.from?.session === undefined
      ? [textOfMessage(message)]
      : [],
  );
}

interface ReplayedHistory {
  messages: Message[];
  context: ToolCallContext;
  pending: PendingCall[];
  /** Calls of the last message that were interrupted before their results were stored. */
  unanswered: ToolCallPart[];
}

/** Rebuilds the conversation from its history: the messages for the model, and the calls without a result. */
function replayHistory(entries: readonly SessionEntry[]): ReplayedHistory {
  const messages: Message[] = [];
  const context = new ToolCallContext();
  const pending = new Map<string, PendingCall>();
  const calls = new Set<string>();
  for (const { message, incoming } of entries) {
    if (incoming?.result) settle(incoming.result);
    if (!message) continue;
    messages.push(message);
    // A duplicate id refers to the first call with it.
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
