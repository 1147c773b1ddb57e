import type { ToolCallContext } from "../core/call-context.ts";
import { type FailedResult, type ToolResult } from "../core/result.ts";
import { failureOf } from "../core/error.ts";
import { firstLine } from "../core/first-line.ts";
import { callsOf, type Message } from "./message.ts";

/**
 * A conversation that every provider takes: after a message with calls come their results, one for each, in order. What a
 * crash or a stop left open is answered with that fact; results without a call are left out.
 */
export function closeOpenCalls(
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
