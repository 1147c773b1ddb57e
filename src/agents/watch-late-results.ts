import type { LateResults } from "../agent/agent-parts.ts";
import type { Caller } from "../core/call.ts";
import type { PendingResult, ToolResult } from "../core/result.ts";
import type { Haft } from "../runtime.ts";
import { findLateResult } from "./find-late-result.ts";

interface Awaiting {
  caller: Partial<Caller>;
  /** Calls of this caller that were answered `pending` before. */
  awaited: readonly PendingResult[];
}

/**
 * Hears the end of calls that were answered `pending`, whoever ends them: a worker, here or elsewhere, a person's yes, a
 * client. What ended before anybody listened is found at once.
 */
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
  // A job of an earlier process is told of to those alone who say that they wait for it.
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

/** As the journal tells callers apart. */
function isSame(one: Partial<Caller>, other: Partial<Caller>): boolean {
  return one.session === other.session && one.agent === other.agent && one.user === other.user;
}
