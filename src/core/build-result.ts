import { type Call, toolOf } from "./call.ts";
import { toFailure, ToolError, type ToolFailure } from "./error.ts";
import { firstLine } from "./first-line.ts";
import type { FailedResult, PendingResult } from "./result.ts";

/** Results are made here and in the executor, always with the same fields in the same order. */
export function failed(call: Call, failure: ToolFailure): FailedResult {
  return {
    callId: call.id,
    toolName: call.tool?.name ?? call.requestedName,
    status: "failed",
    success: false,
    content: [{ type: "text", text: failure.message }],
    display: firstLine(failure.message),
    error: failure,
    metadata: {},
    startedAt: call.startedAt,
    completedAt: 0,
    durationMs: 0,
  };
}

/** What was thrown, as a failed result of this call's tool. */
export function fromThrown(call: Call, thrown: unknown): FailedResult {
  try {
    if (thrown instanceof ToolError && thrown.toolName === "") thrown.toolName = call.tool?.name ?? call.requestedName;
  } catch {
    // Frozen, or a proxy that does not want to be looked at: it becomes data all the same.
  }
  return failed(call, toFailure(thrown));
}

export function pending(call: Call, waitingFor: PendingResult["pending"], message: string): PendingResult {
  return {
    callId: call.id,
    toolName: toolOf(call).name,
    status: "pending",
    success: false,
    content: [{ type: "text", text: message }],
    display: firstLine(message),
    pending: waitingFor,
    metadata: {},
    startedAt: call.startedAt,
  };
}
