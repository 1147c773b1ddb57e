import type { LateResults } from "../agent/agent-parts.ts";
import type { ToolResult } from "../core/result.ts";
import type { Haft } from "../runtime.ts";

/**
 * Hears the end of calls that were answered `pending`, whoever ends them in this process: a worker, a person's yes, a
 * client. Ends of other processes come to a run by its `lateResults`.
 */
export function watchLateResults(haft: Haft): LateResults {
  const waiting = new Set<string>();
  let ended: ToolResult[] = [];
  const hear = ({ callId, result }: { callId: string; result: ToolResult }): void => {
    if (waiting.delete(callId)) ended.push(result);
  };
  const stops = [
    haft.on("tool_call_pending", ({ callId }) => void waiting.add(callId)),
    haft.on("tool_call_completed", hear),
    haft.on("tool_call_failed", hear),
  ];
  return {
    take(isOurs) {
      const taken = ended.filter(({ callId }) => isOurs(callId));
      ended = ended.filter((result) => !taken.includes(result));
      return taken;
    },
    close: () => stops.forEach((stop) => stop()),
  };
}
