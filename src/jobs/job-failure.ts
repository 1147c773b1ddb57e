import { toFailure, toolError, type ToolError } from "../core/error.ts";
import { firstLine } from "../core/first-line.ts";
import type { ToolResult } from "../core/result.ts";
import type { Job } from "./job.ts";

export function unknownJob(id: string): ToolError {
  return toolError("invalid_input", `There is no job "${id}"`, {
    next: "List the jobs to see those that are kept; ended ones are dropped after some time.",
  });
}

export function notEnded({ id, state }: Job): ToolError {
  return toolError("conflict", `Job "${id}" is ${state} and cannot be made again yet`, {
    next: "Wait for its end, or cancel it first.",
  });
}

export function cancelledJob(id: string, reason?: string): ToolError {
  return toolError("cancelled", `Job "${id}" was cancelled${reason ? `: ${reason}` : ""}`, {
    next: "Submit the call again if it is still wanted.",
  });
}

/** The reason of the signal of a job whose worker closes: the call ends in a way that lets it be made again. */
export function closingWorker(): ToolError {
  return toolError("shutdown", "The worker that ran this job is shutting down", {
    next: "Call again when it is back.",
  });
}

/** How a job ends that no gate has seen to its end. */
export function failedJob({ call, createdAt, startedAt = createdAt }: Job, why: ToolError, now: number): ToolResult {
  const error = toFailure(why);
  return {
    callId: call.callId,
    toolName: call.toolName,
    status: "failed",
    success: false,
    content: [{ type: "text", text: error.message }],
    display: firstLine(error.message),
    error,
    metadata: {},
    startedAt,
    completedAt: now,
    // The clock may have been set back meanwhile.
    durationMs: Math.max(0, now - startedAt),
  };
}
