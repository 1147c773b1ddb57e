import { Check, Hand, Hourglass, Timer, Undo2, X } from "lucide-react";
import { memo } from "react";
import { Link } from "wouter";
import type { CallInfo } from "../../../../src/contracts/calls.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { formatDuration } from "../../parts/format.ts";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useSettled } from "../../parts/use-settled.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { callPath } from "./call-actions.ts";
import { CallState } from "./call-state.tsx";

const words = defineWords({
  en: {
    approve: "Approve once",
    deny: "Deny",
    review: "Review",
    undo: "Undo",
    waited: "Waited for a person",
    ran: "Ran",
    nobody: "no name",
    from: { mcp: "MCP", agent: "agent", job: "job" },
  },
  zh: {
    approve: "批准一次",
    deny: "拒绝",
    review: "查看",
    undo: "撤销",
    waited: "等待审批",
    ran: "运行",
    nobody: "未命名",
    from: { mcp: "MCP", agent: "代理", job: "任务" },
  },
});

interface RowProps {
  call: CallInfo;
  isSelected: boolean;
  /** Whether its question is open, and this person may answer it. */
  isAnswerable: boolean;
  isBusy: boolean;
  /** Changes if the row is moved by something else than the person. */
  place: string;
  /** Where its session is shown. Omitted if a line above names it. */
  sessionPath: string | undefined;
  onAnswer: (call: CallInfo, decision: "once" | "deny") => void;
  onUndo: (call: CallInfo) => void;
  onSelect: (call: CallInfo) => void;
}

/** One call: what it is about, who made it, how it stands and how long it took. */
export const WorkRow = memo(function WorkRow(props: RowProps) {
  const w = useWords(words);
  const { call, isSelected, isAnswerable, isBusy } = props;
  const { caller, runMs, waitedMs } = call;
  const who = caller.agent?.replace(/^mcp:/, "") ?? caller.user ?? w.nobody;
  return (
    <div
      className="work-row"
      data-selected={isSelected || undefined}
      data-status={call.status}
      data-asks={isAnswerable || undefined}
      data-call={call.callId}
    >
      <Link className="work-link" href={callPath(call.callId)} onClick={() => props.onSelect(call)}>
        <span className="work-subject">
          {call.subject ? <CallSubject subject={call.subject} /> : <VisibleText text={call.display ?? call.callId} />}
        </span>
        <span className="work-tool mono cut">
          <VisibleText text={call.toolName} />
        </span>
      </Link>
      <span className="work-caller">
        <span className="cut" title={[caller.user, caller.agent].filter(Boolean).join(" · ")}>
          <VisibleText text={who} />
          {call.origin ? <span className="muted small"> · {w.from[call.origin]}</span> : null}
        </span>
        {props.sessionPath === undefined || caller.session === undefined ? null : (
          <Link className="work-session small cut" href={props.sessionPath} title={caller.session}>
            <VisibleText text={caller.session} />
          </Link>
        )}
      </span>
      <span className="work-risk">{call.risk ? <RiskBadge level={call.risk} short /> : null}</span>
      <span className="work-state">
        {isAnswerable ? (
          <Answer call={call} isBusy={isBusy} place={props.place} onAnswer={props.onAnswer} />
        ) : (
          <>
            <CallState call={call} />
            {call.canUndo ? (
              <button className="icon-button" title={w.undo} aria-label={w.undo} onClick={() => props.onUndo(call)}>
                <Undo2 size={15} aria-hidden />
              </button>
            ) : null}
          </>
        )}
      </span>
      <span className="work-times small muted">
        <span className="work-age">
          <TimeAgo at={call.requestedAt} />
        </span>
        <span className="mono">
          {waitedMs === undefined ? null : (
            <span className="work-time" title={w.waited}>
              <Hourglass size={12} role="img" aria-label={w.waited} /> {formatDuration(waitedMs)}
            </span>
          )}
          {runMs === undefined ? null : (
            <span className="work-time" title={w.ran}>
              <Timer size={12} role="img" aria-label={w.ran} /> {formatDuration(runMs)}
            </span>
          )}
        </span>
      </span>
    </div>
  );
});

/** A critical call is only approved after its whole card was read. */
export function needsReview({ risk }: CallInfo): boolean {
  return risk === undefined || risk === "critical";
}

function Answer({ call, isBusy, place, onAnswer }: Pick<RowProps, "call" | "isBusy" | "place" | "onAnswer">) {
  const w = useWords(words);
  // A click that was meant for what was here before is ignored.
  const isOff = !useSettled(`${call.approvalId ?? ""} ${place}`) || isBusy;
  const href = `/approvals/${encodeURIComponent(call.approvalId ?? "")}`;
  if (needsReview(call)) {
    return (
      <Link className="button small" href={href}>
        <Hand size={14} aria-hidden /> {w.review}
      </Link>
    );
  }
  return (
    <>
      <button className="button small work-approve" disabled={isOff} onClick={() => onAnswer(call, "once")}>
        <Check size={14} aria-hidden /> {w.approve}
      </button>
      <button className="button small danger" disabled={isOff} onClick={() => onAnswer(call, "deny")}>
        <X size={14} aria-hidden /> {w.deny}
      </button>
    </>
  );
}
