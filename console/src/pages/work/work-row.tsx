import { Hand, Hourglass, Timer, Undo2 } from "lucide-react";
import { memo } from "react";
import { Link } from "wouter";
import type { CallInfo } from "../../../../src/contracts/calls.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { formatDuration } from "../../parts/format.ts";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { callPath } from "./call-actions.ts";
import { CallState } from "./call-state.tsx";

const words = defineWords({
  review: ["Review", "查看"],
  undo: ["Undo", "撤销"],
  waited: ["Waited for a person", "等待审批"],
  ran: ["Ran", "运行"],
  nobody: ["no name", "未命名"],
  from: { mcp: ["MCP", "MCP"], agent: ["agent", "代理"], job: ["job", "任务"] },
});

interface RowProps {
  call: CallInfo;
  isSelected: boolean;
  /** Whether its question is open, and this person may answer it. */
  isAnswerable: boolean;
  /** Where its session is shown. Omitted if a line above names it. */
  sessionPath: string | undefined;
  onUndo: (call: CallInfo) => void;
  onSelect: (call: CallInfo) => void;
}

/** One call: what it is about, who made it, how it stands and how long it took. */
export const WorkRow = memo(function WorkRow(props: RowProps) {
  const w = useWords(words);
  const { call, isSelected, isAnswerable } = props;
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
        <VisibleText className="work-tool mono cut" text={call.toolName} />
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
      <span className="line work-state">
        {isAnswerable ? (
          // A row says what a call is about, not what it does: it is answered on its card.
          <Button look="small" icon={Hand} href={`/approvals/${encodeURIComponent(call.approvalId ?? "")}`}>
            {w.review}
          </Button>
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
            <span className="inline work-time" title={w.waited}>
              <Hourglass size={12} role="img" aria-label={w.waited} /> {formatDuration(waitedMs)}
            </span>
          )}
          {runMs === undefined ? null : (
            <span className="inline work-time" title={w.ran}>
              <Timer size={12} role="img" aria-label={w.ran} /> {formatDuration(runMs)}
            </span>
          )}
        </span>
      </span>
    </div>
  );
});
