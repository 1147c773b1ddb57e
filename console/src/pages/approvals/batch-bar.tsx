import { useState } from "react";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { api, queries } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";

const words = defineWords({
  en: {
    allow: (count: number) => `Approve ${count} once`,
    refuse: (count: number) => `Deny ${count}`,
    seen: "Look at each before you approve all",
  },
  zh: {
    allow: (count: number) => `批准这 ${count} 个（一次）`,
    refuse: (count: number) => `拒绝这 ${count} 个`,
    seen: "全部批准前请逐个查看",
  },
});

export function BatchBar({ approvals, onDone }: { approvals: readonly ApprovalInfo[]; onDone: () => void }) {
  const w = useWords(words);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const answer = (decision: "once" | "deny"): void => {
    api.approvals
      .answerMany({ answers: approvals.map(({ id }) => ({ id, decision })) })
      .then(
        ({ items }) => {
          setProblems(items.flatMap((item) => ("error" in item ? [item.error.message] : [])));
          onDone();
        },
        (error: Error) => setProblems([error.message]),
      )
      .finally(() => void queries.invalidateQueries({ queryKey: ["approvals"] }));
  };
  return (
    <div className="batch">
      <div className="row">
        <button className="button small primary" onClick={() => answer("once")}>
          {w.allow(approvals.length)}
        </button>
        <button className="button small danger" onClick={() => answer("deny")}>
          {w.refuse(approvals.length)}
        </button>
      </div>
      <p className="small muted">{w.seen}</p>
      {problems.map((problem) => (
        <p key={problem} className="field-error small">
          {problem}
        </p>
      ))}
    </div>
  );
}
