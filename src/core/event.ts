import type { Caller } from "./call.ts";
import type { Content } from "./content.ts";
import type { ToolFailure } from "./error.ts";
import type { ToolResult } from "./result.ts";

interface EventBase {
  at: number;
}
interface CallEventBase extends EventBase {
  callId: string;
  toolName: string;
  caller: Caller;
  parentId?: string;
}

/**
 * Facts, in this order for one call:
 *
 *     requested → (permission_requested → permission_resolved)? → (job_queued | started → updated*)? → completed | failed
 *
 * A call that waits for a person, a job or a client ends its first pass with `tool_call_pending` instead. A terminal event
 * is emitted after the state it speaks of can be read. `tool_call_settled_late` may follow a timeout or an abort.
 */
export type ToolEvent =
  | (CallEventBase & { type: "tool_call_requested"; input: unknown })
  | (CallEventBase & { type: "permission_requested"; approvalId: string; reason: string })
  | (CallEventBase & {
      type: "permission_resolved";
      approvalId: string;
      approved: boolean;
      by?: string;
      reason?: string;
    })
  | (CallEventBase & { type: "job_queued"; jobId: string })
  | (CallEventBase & { type: "tool_call_started"; input: unknown })
  | (CallEventBase & { type: "tool_call_updated"; update: Update })
  | (CallEventBase & { type: "tool_call_pending"; result: ToolResult })
  | (CallEventBase & { type: "tool_call_completed"; result: ToolResult; durationMs: number })
  | (CallEventBase & { type: "tool_call_failed"; result: ToolResult; error: ToolFailure; durationMs: number })
  | (CallEventBase & { type: "tool_call_settled_late"; succeeded: boolean; afterMs: number })
  | (EventBase & { type: "tool_registered"; toolName: string; source: string })
  | (EventBase & { type: "tool_unregistered"; toolName: string; source: string });

export type ToolEventType = ToolEvent["type"];
export type EventOf<T extends ToolEventType> = Extract<ToolEvent, { type: T }>;

/** A partial result of a running call. */
export interface Update {
  content?: Content[];
  /** Of the whole, where it is known. */
  progress?: { done: number; total?: number; message?: string };
  details?: unknown;
}
