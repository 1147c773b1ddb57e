import { ToolCallContext } from "../core/call-context.ts";
import type { ToolResult } from "../core/result.ts";
import { callsOf, type Message, type ToolCallPart } from "./message.ts";
import type { PendingCall, SessionEntry } from "./session.ts";

export interface ReplayedHistory {
  messages: Message[];
  context: ToolCallContext;
  pending: PendingCall[];
  /** Calls of the last message that were cut off before their results were kept. */
  unanswered: ToolCallPart[];
}

/** A conversation as its history has it: what the model is shown, and which calls have no result. */
export function replayHistory(entries: readonly SessionEntry[]): ReplayedHistory {
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
