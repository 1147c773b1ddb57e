import { Link } from "wouter";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useToolTitle } from "../../parts/tool-text.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { VirtualRows } from "./virtual-rows.tsx";

const words = defineWords({
  en: {
    states: { pending: "pending", approved: "approved", denied: "denied", expired: "expired" } as Record<
      string,
      string
    >,
    outcomes: { failed: "failed", completed: "completed", unknown: "unknown outcome" } as Record<string, string>,
    by: (name: string) => `by ${name}`,
    nobody: "nobody",
  },
  zh: {
    states: { pending: "待处理", approved: "已批准", denied: "已拒绝", expired: "已过期" } as Record<string, string>,
    outcomes: { failed: "失败", completed: "完成", unknown: "结果未知" } as Record<string, string>,
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
  const w = useWords(words);
  const titleOf = useToolTitle();
  return (
    <VirtualRows
      label={props.label}
      rows={props.approvals}
      keyOf={({ id }) => id}
      heightOf={() => ROW_HEIGHT}
      currentKey={props.currentId}
    >
      {({ id, state, subject, toolName, title, answeredBy, answeredAt, askedAt, note, call }) => (
        <Link href={props.addressOf(id)} className="queue-link" aria-current={id === props.currentId}>
          <span className="queue-line">
            <span className={state === "approved" ? "badge ok" : "badge bad"}>{w.states[state] ?? state}</span>
            <span className="queue-subject">
              <CallSubject subject={subject} />
            </span>
            <span className="queue-age">
              <TimeAgo at={answeredAt ?? askedAt} />
            </span>
          </span>
          <span className="queue-line small muted">
            <span className="cut">
              {titleOf({ toolName, title }) ?? toolName} · {w.by(answeredBy ?? w.nobody)}
              {note === undefined || note === "" ? null : (
                <>
                  {" · "}
                  <VisibleText text={`“${note}”`} />
                </>
              )}
            </span>
            {state === "approved" && call.outcome === "failed" ? (
              <span className="badge bad">{w.outcomes[call.outcome]}</span>
            ) : null}
          </span>
        </Link>
      )}
    </VirtualRows>
  );
}
