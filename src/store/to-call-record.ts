import type { ErrorCode } from "../core/error.ts";
import type { AuditEntry } from "../executor/audit-log.ts";
import type { CallRecord } from "../executor/call-log.ts";

interface AnswerData {
  startedAt?: number;
  durationMs?: number;
  error?: { code: ErrorCode };
  metadata?: Record<string, unknown>;
}

/** An entry of an answer, in the words that every log of calls has. A lost call has failed as far as anybody can say. */
export function toCallRecord({ callId, parentId, toolName, caller, status, at, data }: AuditEntry): CallRecord {
  const { startedAt, durationMs, error, metadata } = data as AnswerData;
  const isLost = status === "unknown";
  return {
    callId: callId ?? "",
    parentId,
    toolName: toolName ?? "",
    caller: { depth: 0, ...caller },
    startedAt: startedAt ?? at,
    status: isLost ? "failed" : (status ?? "completed"),
    durationMs,
    errorCode: isLost ? "unknown_outcome" : error?.code,
    metadata,
  };
}
