import type { ToolEvent } from "../../core/events.ts";
import type { AuditEntry } from "../../gate/audit-log.ts";
import { resultOf } from "./stored-calls.ts";

/** The event that an entry of another process tells of. Without the content of results, which the log does not have. */
export function eventOf(entry: AuditEntry): ToolEvent | undefined {
  const { at, kind, callId, parentId, toolName = "", caller, data } = entry;
  if (callId === undefined) return undefined;
  const call = { at, callId, parentId, toolName, caller: { ...caller, depth: caller?.depth ?? 0 } };
  if (kind === "call_begun") return { type: "tool_call_started", ...call, input: data["input"] };
  if (kind === "approval_asked" || kind === "approval_answered") return questionEvent(kind, call, data);
  const result = resultOf(entry);
  if (!result || kind === "call_known") return undefined;
  if (kind === "call_corrected") {
    return { type: "tool_call_settled_late", ...call, succeeded: result.status === "completed", afterMs: 0, result };
  }
  const durationMs = result.durationMs ?? 0;
  if (result.status === "completed") return { type: "tool_call_completed", ...call, result, durationMs };
  if (result.status === "pending") return { type: "tool_call_pending", ...call, result };
  return { type: "tool_call_failed", ...call, result, error: result.error, durationMs };
}

type CallFields = Pick<
  Extract<ToolEvent, { type: "permission_requested" }>,
  "at" | "callId" | "parentId" | "toolName" | "caller"
>;

function questionEvent(
  kind: "approval_asked" | "approval_answered",
  call: CallFields,
  { approvalId, reason, state, answeredBy }: Record<string, unknown>,
): ToolEvent | undefined {
  const id = String(approvalId ?? "");
  if (kind === "approval_asked")
    return { type: "permission_requested", ...call, approvalId: id, reason: String(reason ?? "") };
  const decision = state === "denied" || state === "expired" ? state : "approved";
  const by = typeof answeredBy === "string" ? answeredBy : undefined;
  return { type: "permission_resolved", ...call, approvalId: id, decision, by };
}
