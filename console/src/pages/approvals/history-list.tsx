import { Link } from "wouter";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useToolTitle } from "../../parts/tool-text.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { endOf } from "./approval-card.tsx";
import { VirtualRows } from "./virtual-rows.tsx";

const words = defineWords({
  en: {
    states: {
      approved: "approved",
      denied: "denied",
      answered: "answered",
      dismissed: "dismissed",
      expired: "expired",
      cancelled: "cancelled",
      changed: "replaced",
    } as Record<string, string>,
    failed: "failed",
    by: (name: string) => `by ${name}`,
    nobody: "nobody",
  },
  zh: {
    states: {
      approved: "已批准",
      denied: "已拒绝",
      answered: "已回答",
      dismissed: "未回答",
      expired: "已过期",
      cancelled: "已取消",
      changed: "已被取代",
    } as Record<string, string>,
    failed: "失败",
    by: (name: string) => `由 ${name}`,
    nobody: "无人",
  },
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
    <Link href={href} className="queue-link" aria-current={isCurrent}>
      <span className="queue-line">
        <span className={state === "approved" ? "badge ok" : "badge bad"}>{w.states[end] ?? end}</span>
        <span className="queue-subject">
          <CallSubject subject={subject} />
        </span>
        <span className="queue-age">
          <TimeAgo at={answeredAt ?? askedAt} />
        </span>
      </span>
      <span className="queue-line small muted">
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
