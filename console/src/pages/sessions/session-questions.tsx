import { useEffect } from "react";
import { Link } from "wouter";
import type { AgentSessionInfo } from "../../../../src/contracts/sessions.ts";
import { queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { AnswerLines } from "../approvals/answer-lines.tsx";
import { ApprovalCard } from "../approvals/approval-card.tsx";
import { type Answers, useAnswers } from "../approvals/use-answers.ts";
import "../approvals/approvals.css";

const words = defineWords({
  title: ["It waits for you", "等你处理"],
  more: ["After that", "之后"],
  list: (count: number) => [`All ${count} questions`, `全部 ${count} 个请求`],
});

/** The questions that hold up a session: the oldest in full, to be answered here, and the others in a line. */
export function SessionQuestions({ session }: { session: AgentSessionInfo }) {
  const w = useWords(words);
  const answers = useAnswers();
  const { answered, lines } = answers;
  useEffect(() => void queries.invalidateQueries({ queryKey: ["sessions"] }), [lines]);
  const [first, ...others] = session.questions.filter(({ approvalId }) => !answered.has(approvalId));
  return (
    <>
      {first ? (
        <section className="session-questions stack" aria-label={w.title}>
          <h2>{w.title}</h2>
          <Question key={first.approvalId} id={first.approvalId} answers={answers} />
          {others.length > 0 ? (
            <div className="stack">
              <h3>{w.more}</h3>
              {others.map(({ approvalId, risk, subject, toolName }) => (
                <Link key={approvalId} className="session-question" href={addressOf(approvalId)}>
                  <RiskBadge level={risk} short />
                  <VisibleText className="mono small muted" text={toolName} />
                  <CallSubject subject={subject} />
                </Link>
              ))}
              {session.questionCount > session.questions.length ? (
                <Link href="/approvals">{w.list(session.questionCount)}</Link>
              ) : null}
            </div>
          ) : null}
        </section>
      ) : null}
      <AnswerLines answers={answers} currentId={first?.approvalId} addressOf={addressOf} />
    </>
  );
}

function Question({ id, answers }: { id: string; answers: Answers }) {
  const query = useApi("approvals", "get", [id]);
  return (
    <Loaded query={query} lines={6}>
      {(approval) => (
        <ApprovalCard
          approval={approval}
          line={answers.lines.find((line) => line.id === id)}
          onAnswer={(request) => answers.answer(approval, request)}
        />
      )}
    </Loaded>
  );
}

function addressOf(approvalId: string): string {
  return `/approvals/${encodeURIComponent(approvalId)}`;
}
