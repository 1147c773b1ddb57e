import { ChevronRight, Hand, Hourglass, Square, Timer, Undo2 } from "lucide-react";
import { memo } from "react";
import { Link } from "wouter";
import type { CallInfo } from "../../../../src/contracts/calls.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { CallerName, SessionName } from "../../parts/caller-name.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { formatDuration } from "../../parts/format.ts";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { callPath } from "./call-actions.ts";
import { CallState, useReason } from "./call-state.tsx";

const words = defineWords({
  review: ["Review", "查看"],
  undo: ["Undo", "撤销"],
  waited: ["Waited for a person", "等待审批"],
  ran: ["Ran", "运行"],
  stop: ["Stop", "停止"],
  repeats: (count: number) => [`${count} × the same, show each`, `相同 ${count} 次，逐条显示`],
});

interface RowProps {
  call: CallInfo;
  isSelected: boolean;
  /** Where it is answered, if it waits and this person may answer. */
  card: string | undefined;
  /** Where its session is shown. Omitted if a line above names it. */
  sessionPath: string | undefined;
  schedules: ReadonlyMap<string, string>;
  /** How many calls ended like this one, and the key of their line. */
  repeats?: { key: string; count: number } | undefined;
  /** Whether these calls are shown below. */
  isOpen?: boolean;
  /** One of these calls. */
  isRepeat?: boolean | undefined;
  on: RowActions;
}

export interface RowActions {
  undo(call: CallInfo): void;
  stop(call: CallInfo): void;
  select(call: CallInfo): void;
  /** Shows the calls that repeat, or hides them. */
  open(key: string): void;
}

/** One call: what it is about, who made it, how it stands and how long it took. */
export const WorkRow = memo(function WorkRow(props: RowProps) {
  const w = useWords(words);
  const { call, isSelected, card, repeats, on } = props;
  const { caller, runMs, waitedMs } = call;
  const reason = useReason(call);
  return (
    <div
      className="work-row"
      data-selected={isSelected || undefined}
      data-status={call.status}
      data-asks={card !== undefined || undefined}
      data-call={call.callId}
      data-repeat={props.isRepeat || undefined}
      data-reason={reason === undefined ? undefined : true}
    >
      <Link className="work-link" href={callPath(call.callId)} onClick={() => on.select(call)}>
        <span className="work-subject">
          <VisibleText className="work-tool mono cut" text={call.toolName} />
          {call.subject ? <CallSubject subject={call.subject} /> : <VisibleText text={call.display ?? call.callId} />}
        </span>
        {reason === undefined ? null : (
          <span className="work-reason cut" title={[reason.known, reason.said].filter(Boolean).join(" ")}>
            {reason.known} {reason.said === undefined ? null : <VisibleText lang="en" text={reason.said} />}
          </span>
        )}
      </Link>
      <span className="work-caller">
        <CallerName call={call} schedules={props.schedules} />
        {props.sessionPath === undefined || caller.session === undefined ? null : (
          <Link className="work-session small cut" href={props.sessionPath} title={caller.session}>
            <SessionName session={caller.session} />
          </Link>
        )}
      </span>
      <span className="work-risk">{call.risk ? <RiskBadge level={call.risk} short /> : null}</span>
      <span className="line work-state">
        {card !== undefined ? (
          // A row says what a call is about, not what it does: it is answered on its card.
          <Button look="small" icon={Hand} href={card}>
            {w.review}
          </Button>
        ) : (
          <>
            {repeats === undefined ? null : (
              <button
                className="badge work-repeats"
                aria-expanded={props.isOpen ?? false}
                aria-label={w.repeats(repeats.count)}
                title={w.repeats(repeats.count)}
                onClick={() => on.open(repeats.key)}
              >
                {repeats.count} × <ChevronRight size={12} aria-hidden />
              </button>
            )}
            <CallState call={call} />
            {call.canUndo ? (
              <button className="icon-button" title={w.undo} aria-label={w.undo} onClick={() => on.undo(call)}>
                <Undo2 size={15} aria-hidden />
              </button>
            ) : null}
            {call.status === "running" ? (
              <Button look="small" icon={Square} text={w.stop} onClick={() => on.stop(call)} />
            ) : null}
          </>
        )}
      </span>
      <span className="work-times small muted">
        <span className="work-age">
          <TimeAgo at={call.completedAt ?? call.askedAt ?? call.requestedAt} />
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
