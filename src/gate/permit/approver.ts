import type { Approval, ApprovalAnswer } from "../../calls/approval.ts";
import { missingConfirmation, toApproval } from "../../calls/approval.ts";
import type { Calls } from "../../calls/calls.ts";
import type { StoredCall } from "../../calls/stored-call.ts";
import type { CallIn } from "../../core/call.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { toolError, ToolError } from "../../core/error.ts";

/** Asks a person and waits; nothing means that nobody answered, and the call stays pending. */
export type Approver = (approval: Approval, signal: AbortSignal) => Promise<ApprovalAnswer | undefined>;

interface ApprovalRequestOptions {
  calls: Calls;
  clock: Clock;
  /** Undefined if another call waits with it for the same answer. */
  approver: Approver | undefined;
  /** After this time nothing is waited for, and the question stays open. */
  waitMs: number | undefined;
  warn?: ((warning: string) => void) | undefined;
}

/**
 * Waits for the first answer, from the approver or through any other interface. Resolves with the row after it; undefined if
 * nobody answered in time, or the approver leaves the question open and nobody else is waited for.
 */
export async function requestApproval(
  call: CallIn<"permit">,
  row: StoredCall,
  { calls, approver, clock, waitMs, warn }: ApprovalRequestOptions,
): Promise<StoredCall | undefined> {
  const controller = new AbortController();
  const { signal } = controller;
  let timer: Timer | undefined;
  const waitForAnswer = () => calls.wait(row.id, ({ state }) => state !== "waiting", { signal });
  const aborted = new Promise<never>((_resolve, reject) => {
    call.onAbort = reject;
    if (call.aborted) reject(call.aborted);
  });
  const ways: Promise<StoredCall | undefined>[] = [aborted, waitForAnswer()];
  if (approver) ways.push(callApprover(approver));
  if (waitMs !== undefined)
    ways.push(new Promise((resolve) => (timer = clock.after(waitMs, () => resolve(tooLate(waitMs))))));
  // The others end with the signal, and nobody waits for them any more.
  for (const way of ways) way.catch(() => undefined);
  try {
    return await Promise.race(ways);
  } catch (thrown) {
    await stopWaiting(calls, row.id, thrown);
    throw thrown instanceof ToolError ? thrown : approverFailed(thrown);
  } finally {
    timer?.cancel();
    call.onAbort = undefined;
    controller.abort(call.aborted ?? new Error("The approval was answered or is no longer needed."));
  }

  async function callApprover(ask: Approver): Promise<StoredCall | undefined> {
    const answer = await ask(toApproval(row), signal);
    if (signal.aborted) return undefined;
    return answer ? store(answer) : leaveOpen();
  }

  function leaveOpen(): Promise<StoredCall | undefined> | undefined {
    return waitMs === undefined ? undefined : waitForAnswer();
  }

  async function store(answer: ApprovalAnswer): Promise<StoredCall | undefined> {
    try {
      return await calls.answer(row.id, answer);
    } catch (error) {
      // Another interface was faster: its answer counts.
      const now = await calls.get(row.id);
      if (now && now.state !== "waiting") return now;
      // An approver for permissions says yes to everything, also to what was not shown. The person can still answer.
      const isTooPlain = row.question?.questions !== undefined || missingConfirmation(row, answer) !== undefined;
      if (isTooPlain && error instanceof ToolError && error.code === "invalid_input") {
        warn?.(`The approver did not answer, so the approval stays pending. ${error.message}`);
        return leaveOpen();
      }
      throw error;
    }
  }

  /** An approval stays open. An agent that asked its user gets no answer. */
  async function tooLate(ms: number): Promise<StoredCall | undefined> {
    if (!row.question?.questions) return undefined;
    return (await calls.expire(row.id, ms)) ?? calls.get(row.id);
  }
}

/** The caller learns that the call failed, so a later approval must not run it. */
export async function stopWaiting(calls: Calls, id: string, why: unknown): Promise<void> {
  // Another process, or this one after its restart, may still run it.
  if (why instanceof ToolError && why.code === "shutdown") await calls.release(id);
  else await calls.cancel(id, "it is no longer needed");
}

/** Not the tool's fault: it has not run. */
function approverFailed(cause: unknown): ToolError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return toolError("unavailable", `The tool did not run: requesting approval failed (${why})`, {
    next: "The approver of this runtime is broken; only the user can repair it.",
    cause,
  });
}
