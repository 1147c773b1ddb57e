import type { Caller } from "../core/call.ts";
import { failureOf } from "../core/error.ts";
import { firstLine } from "../core/first-line.ts";
import type { FailedResult, PendingResult, ToolResult } from "../core/result.ts";
import { journalKey } from "../executor/known.ts";
import { hasEnded } from "../jobs/job.ts";
import type { Haft } from "../runtime.ts";

/** A call that was made before, and what it waits for, where it was answered `pending`. */
export interface EarlierCall {
  callId: string;
  toolName: string;
  pending?: PendingResult["pending"];
}

/** What became of a call, whoever ended it: the journal has what ran, jobs and approvals have what did not. */
export async function findLateResult(
  haft: Haft,
  { callId, toolName, pending }: EarlierCall,
  caller: Partial<Caller>,
): Promise<ToolResult | undefined> {
  const entry = await haft.journal.find(journalKey(caller, callId));
  if (entry?.state === "done") return { ...entry.result, callId };
  if (entry || !pending) return undefined;
  if (pending.kind === "job") {
    const job = await haft.jobs.get(pending.id);
    return job?.result && hasEnded(job) ? { ...job.result, callId } : undefined;
  }
  const approval = pending.kind === "approval" ? await haft.approvals.get(pending.id) : undefined;
  if (!approval || approval.state === "open" || approval.state === "approved" || approval.state === "used")
    return undefined;
  // A program is told no by the call that it made, goes on, and says its end itself.
  if (toolName === "run_code") {
    void haft.recoverPrograms().catch(() => undefined);
    return undefined;
  }
  const reason = approval.note === undefined ? "" : `: ${approval.note}`;
  const message =
    approval.state === "declined"
      ? `A person said no to this call${reason}. Do not repeat it.`
      : "Nobody answered in time whether this call may run. It did not run.";
  return refused({ callId, toolName, message, at: haft.executor.clock.now() });
}

function refused({ message, at, ...call }: { callId: string; toolName: string; message: string; at: number }) {
  return {
    ...call,
    status: "failed",
    success: false,
    content: [{ type: "text", text: message }],
    display: firstLine(message),
    error: failureOf("declined", message),
    metadata: {},
    startedAt: at,
  } satisfies FailedResult;
}
