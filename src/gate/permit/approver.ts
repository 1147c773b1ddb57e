import type { Call } from "../../core/call.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { toolError, ToolError } from "../../core/error.ts";
import type { Approval, ApprovalAnswer } from "../../calls/approval.ts";
import type { Approvals } from "../../calls/approvals.ts";

/** Asks a person and waits; nothing means that nobody answered, and the call stays pending. */
export type Approver = (approval: Approval, signal: AbortSignal) => Promise<ApprovalAnswer | undefined>;

interface ApprovalRequestOptions {
  approvals: Approvals;
  clock: Clock;
  approver?: Approver;
  waitMs?: number;
}

/**
 * Waits for the first answer, from the approver or through any other door. Undefined where the approver leaves the
 * question open and nobody else is waited for.
 */
export async function requestApproval(
  call: Call,
  approval: Approval,
  options: ApprovalRequestOptions,
): Promise<Approval | undefined> {
  const { approvals, approver, clock, waitMs } = options;
  const controller = new AbortController();
  let timer: Timer | undefined;
  const given = new Promise<never>((_resolve, reject) => {
    call.onAbort = reject;
    if (call.aborted) reject(call.aborted);
  });
  const ways: Promise<Approval | undefined>[] = [given, approvals.wait(approval.id, controller.signal)];
  if (approver) ways.push(callApprover(approver));
  if (waitMs !== undefined)
    ways.push(new Promise((resolve) => (timer = clock.after(waitMs, () => resolve(tooLate())))));
  // The losers of the race end when they are told to, and nobody listens to them any more.
  for (const way of ways) way.catch(() => undefined);
  try {
    return await Promise.race(ways);
  } catch (thrown) {
    await abandon(approvals, approval.id, thrown);
    throw thrown instanceof ToolError ? thrown : approverFailed(thrown);
  } finally {
    timer?.cancel();
    call.onAbort = undefined;
    controller.abort(call.aborted ?? new Error("The question was answered, or is not waited for any more."));
  }

  async function callApprover(ask: Approver): Promise<Approval | undefined> {
    const answer = await ask(approval, controller.signal);
    if (controller.signal.aborted) return undefined;
    if (answer) return keep(answer);
    return waitMs === undefined ? undefined : approvals.wait(approval.id, controller.signal);
  }

  async function keep(answer: ApprovalAnswer): Promise<Approval | undefined> {
    try {
      return await approvals.answer(approval.id, answer);
    } catch (error) {
      // Another door was faster: its answer counts.
      const now = await approvals.get(approval.id);
      if (now && now.state !== "pending") return now;
      throw error;
    }
  }

  async function tooLate(): Promise<Approval> {
    return approvals.expire(approval, `nobody answered within ${describe(waitMs ?? 0)}`);
  }
}

/** The caller is told that the call failed: a later yes must not run it behind its back. */
export async function abandon(approvals: Approvals, id: string, why: unknown): Promise<void> {
  // It will be made again, and finds its question.
  if (why instanceof ToolError && why.code === "shutdown") return;
  try {
    await approvals.answer(id, { approved: false, reason: "nobody waits for it any more" });
  } catch {
    // Answered in the same moment: by now for a call that is over.
    await approvals.void(id, "nobody waits for it any more");
  }
}

function describe(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`;
}

/** Not the tool's fault: it has not run. */
function approverFailed(cause: unknown): ToolError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return toolError("unavailable", `The tool has not run: asking for permission failed (${why})`, {
    next: "Tell the person that the approver of this runtime is broken.",
    cause,
  });
}
