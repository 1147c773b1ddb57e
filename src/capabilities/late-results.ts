import { hasEnded } from "../calls/job.ts";
import type { Caller } from "../core/call.ts";
import { isForPerson, type PendingResult, type ToolResult } from "../core/result.ts";
import type { LateResults } from "../models/agent/agent.ts";
import type { Haft } from "../runtime.ts";

interface Awaiting {
  caller: Partial<Caller>;
  /** Calls of this caller that were answered `pending` before. */
  awaited: readonly PendingResult[];
}

/** Collects the results of `pending` calls, whichever process ends them. Those that ended before come at once. */
export async function watchLateResults(haft: Haft, { caller, awaited }: Awaiting): Promise<LateResults> {
  const waiting = new Set(awaited.map(({ callId }) => callId));
  let ended: ToolResult[] = [];
  const onCallEnded = (event: { callId: string; caller: Caller; result: ToolResult }): void => {
    if (isSame(event.caller, caller) && waiting.delete(event.callId)) ended.push(event.result);
  };
  const stops = [
    haft.on("tool_call_pending", (event) => {
      if (isSame(event.caller, caller)) waiting.add(event.callId);
    }),
    haft.on("tool_call_completed", onCallEnded),
    haft.on("tool_call_failed", onCallEnded),
  ];
  // The end of a job of an earlier process is reported only to those who wait for it.
  if (awaited.some(({ pending }) => pending.kind === "job")) {
    stops.push(
      haft.jobs.follow({
        pending: () => awaited.map(({ callId, toolName }) => ({ callId, name: toolName, input: undefined })),
        awaited: () => awaited,
      }),
    );
  }
  for (const call of awaited) {
    const result = await findLateResult(haft, call, caller);
    if (result && waiting.delete(call.callId)) ended.push(result);
  }
  return {
    take() {
      const taken = ended;
      ended = [];
      return taken;
    },
    close: () => stops.forEach((stop) => stop()),
  };
}

/** The same fields as in the keys of stored calls. */
function isSame(one: Partial<Caller>, other: Partial<Caller>): boolean {
  return one.session === other.session && one.agent === other.agent && one.user === other.user;
}

/** An earlier call, and what it waits for if it was answered `pending`. */
export interface EarlierCall {
  callId: string;
  toolName: string;
  pending?: PendingResult["pending"];
}

/** The result of an earlier call, if it has ended: of the call itself, or of its job. */
export async function findLateResult(
  haft: Haft,
  { callId, toolName, pending }: EarlierCall,
  caller: Partial<Caller>,
): Promise<ToolResult | undefined> {
  const known = await haft.calls.find(callId, caller);
  if (known) return known.status === "pending" ? undefined : known;
  if (!pending) return undefined;
  if (pending.kind === "job") {
    const job = await haft.jobs.get(pending.id);
    return job?.result && hasEnded(job) ? { ...job.result, callId } : undefined;
  }
  const approval = isForPerson(pending) ? await haft.approvals.get(pending.id) : undefined;
  if (approval?.call.state !== "ended") return undefined;
  // A program gets the result from the call that it made, continues, and reports its own end.
  if (toolName === "run_code") {
    void haft.calls.recover().catch(() => undefined);
    return undefined;
  }
  return { ...(await haft.approvals.follow(pending.id)), callId };
}
