import { firstLine } from "../core/content.ts";
import { failureOf, failureText, type ToolFailure } from "../core/error.ts";
import { DECIDE } from "../core/questions/user-question.ts";
import { type FailedResult, type PendingResult, pendingResult, type ToolResult } from "../core/result.ts";
import type { CallOutcome, StoredCall } from "./stored-call.ts";

/** What a caller gets for this call: the result if it has ended, otherwise what it waits for. The same for everybody. */
export function storedResult(row: StoredCall): ToolResult {
  if (row.result && (row.state === "ended" || row.state === "suspended")) return row.result;
  if (row.state !== "ended") return stillOpen(row);
  return failedResult(row, refusalOf(row));
}

/** The outcome of a call with this result. One that now waits for a person has ended for its worker. */
export function outcomeOf(result: ToolResult): CallOutcome {
  if (result.status !== "failed") return "completed";
  if (result.error.code === "unknown_outcome") return "unknown";
  return result.error.code === "cancelled" ? "cancelled" : "failed";
}

/** Why a call that has ended has no result of its own. */
export function refusalOf({ outcome, note, begunAt, toolName, answer, question }: StoredCall): ToolFailure {
  const why = note ?? answer?.reason;
  if (question?.questions && (outcome === "denied" || outcome === "expired")) {
    const what = outcome === "denied" ? "The user dismissed the question" : "Nobody answered the question";
    return failureOf("no_answer", `${what}${why ? `: ${why}` : ""}`, { next: DECIDE });
  }
  switch (outcome) {
    case "denied":
      return failureOf("approval_denied", `Permission denied: a person denied this call${why ? `: ${why}` : ""}`, {
        next: "Do not repeat it; ask what to do instead.",
      });
    case "expired":
      return failureOf(
        "approval_expired",
        `Permission denied: ${why ?? "nobody answered in time"}. The call did not run.`,
        { next: "Continue without it, and say that somebody must approve it." },
      );
    case "cancelled":
      return failureOf("cancelled", `The call was cancelled before it ran${why ? `: ${why}` : ""}.`);
    case "changed":
      return failureOf("stale", `"${toolName}" did not run: ${why ?? "what was shown to the person changed"}`, {
        next: "Make the call again if it is still wanted.",
      });
    default: {
      const begun = begunAt === undefined ? "" : ` at ${new Date(begunAt).toISOString()}`;
      return failureOf(
        "unknown_outcome",
        `"${toolName}" began${begun}, and its process ended before it reported the outcome.`,
        { next: "Check its effect first. To make the call again, use a new call id." },
      );
    }
  }
}

function failedResult(row: StoredCall, error: ToolFailure): FailedResult {
  const { callId, toolName, createdAt, endedAt = createdAt } = row;
  const shown = failureText(error);
  return {
    callId,
    toolName,
    status: "failed",
    success: false,
    content: [{ type: "text", text: shown }],
    display: firstLine(shown),
    error,
    metadata: {},
    startedAt: createdAt,
    completedAt: endedAt,
    // The clock may have been set back since.
    durationMs: Math.max(0, endedAt - createdAt),
  };
}

function stillOpen(row: StoredCall): PendingResult {
  const { id, callId, toolName, state, job, createdAt: startedAt } = row;
  if (job) {
    const message =
      `"${toolName}" runs in the background as job ${job.id}. Its result arrives on its own when it ends. ` +
      "Do not make this call again; continue with what does not need its result.";
    return pendingResult({ callId, toolName, startedAt }, { kind: "job", id: job.id }, message);
  }
  if (row.question?.questions) return pendingFor(row, id, openQuestion(row));
  const message =
    state === "waiting"
      ? `"${toolName}" has not run: it waits for an approval (${id}). ` +
        "Do not repeat the call; continue with other work, or wait for the answer."
      : state === "approved"
        ? `"${toolName}" is approved (${id}) and has not started yet.`
        : `"${toolName}" is approved (${id}) and running. Its result comes later.`;
  return pendingFor(row, id, message);
}

function openQuestion({ id, state }: StoredCall): string {
  if (state !== "waiting") return `The user has answered (${id}). The answer comes later.`;
  return (
    `The question waits for the user (${id}), and its answer comes later. ` +
    "Do not ask it again; continue with what does not depend on it, or end your turn."
  );
}

/** What the caller and the person get for a question that was replaced by the question `next`. */
export function replacedResult(row: StoredCall, why: string, next: string): PendingResult {
  const message = `"${row.toolName}" has not run: ${why}. It needs a new approval (${next}).`;
  return pendingFor(row, next, message);
}

function pendingFor(
  { callId, toolName, createdAt: startedAt, question }: StoredCall,
  id: string,
  message: string,
): PendingResult {
  const kind = question?.questions ? "question" : "approval";
  return pendingResult({ callId, toolName, startedAt }, { kind, id }, message);
}
