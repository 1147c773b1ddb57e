import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { useApi } from "../../api.ts";

/** That a call begins is no event for this page. */
const CHECK_INTERVAL_MS = 1_000;

/** Whether a call that was approved has its turn after another one: it counts as running, and its tool has not begun. */
export function useIsQueued({ callId, call }: Pick<ApprovalInfo, "callId" | "call">): boolean {
  const isRunning = call.state === "running";
  const { data } = useApi("calls", "get", isRunning ? [callId] : undefined, { everyMs: CHECK_INTERVAL_MS });
  return isRunning && data !== undefined && data.startedAt === undefined && data.completedAt === undefined;
}
