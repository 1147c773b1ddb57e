import { Link } from "wouter";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { defineWords, type Pair, useWords } from "../../language.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useToolTitle } from "../../parts/tool-text.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { endOf } from "./approval-card.tsx";
import { VirtualRows } from "./virtual-rows.tsx";

const words = defineWords({
  states: {
    approved: ["approved", "已批准"],
    denied: ["denied", "已拒绝"],
    answered: ["answered", "已回答"],
    dismissed: ["dismissed", "未回答"],
    expired: ["expired", "已过期"],
    cancelled: ["cancelled", "已取消"],
    changed: ["replaced", "已被取代"],
  } as Record<string, Pair>,
  failed: ["failed", "失败"],
  by: (name: string) => [`by ${name}`, `由 ${name}`],
  nobody: ["nobody", "无人"],
});

const ROW_HEIGHT = 62;

/** Answered questions, the newest first: the decision, by whom, and the reason. */
export function HistoryList(props: {
  label: string;
  approvals: readonly ApprovalInfo[];
  currentId: string | undefined;
  addressOf: (id: string) => string;
}) {
  return (
    <VirtualRows
      label={props.label}
      rows={props.approvals}
      keyOf={({ id }) => id}
      heightOf={() => ROW_HEIGHT}
      currentKey={props.currentId}
    >
      {(approval) => (
        <HistoryRow
          approval={approval}
          href={props.addressOf(approval.id)}
          isCurrent={approval.id === props.currentId}
        />
      )}
    </VirtualRows>
  );
}

function HistoryRow({ approval, href, isCurrent }: { approval: ApprovalInfo; href: string; isCurrent: boolean }) {
  const w = useWords(words);
  const title = useToolTitle()(approval);
  const { state, subject, toolName, answeredBy, answeredAt, askedAt, note = "", call } = approval;
  const end = endOf(approval);
  return (
    <Link href={href} className="stack queue-link" aria-current={isCurrent}>
      <span className="line queue-line">
        <span className={state === "approved" ? "badge ok" : "badge bad"}>{w.states[end] ?? end}</span>
        <span className="queue-subject">
          <CallSubject subject={subject} />
        </span>
        <span className="queue-age">
          <TimeAgo at={answeredAt ?? askedAt} />
        </span>
      </span>
      <span className="line queue-line small muted">
        <span className="cut">
          {title ?? toolName} · {w.by(answeredBy ?? w.nobody)}
          {note === "" ? null : (
            <>
              {" · "}
              <VisibleText text={`“${note}”`} />
            </>
          )}
        </span>
        {state === "approved" && call.outcome === "failed" ? <span className="badge bad">{w.failed}</span> : null}
      </span>
    </Link>
  );
}
