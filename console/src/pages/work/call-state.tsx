import type { CallInfo } from "../../../../src/contracts/calls.ts";
import { StatusBadge } from "../../parts/badges.tsx";
import { defineWords, useWords } from "../../language.tsx";

const words = defineWords({ approval: ["needs approval", "等待审批"], queued: ["queued", "排队中"] });

/** The state of a call. One that waits says what it waits for. */
export function CallState({ call }: { call: Pick<CallInfo, "status" | "approvalId"> }) {
  const w = useWords(words);
  if (call.status !== "waiting" && call.status !== "pending") return <StatusBadge status={call.status} />;
  return call.approvalId === undefined ? (
    <span className="badge">{w.queued}</span>
  ) : (
    <span className="badge warn">{w.approval}</span>
  );
}
