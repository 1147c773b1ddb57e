import { Check, ShieldAlert, X } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { ApprovalAnswered, ApprovalAnswerRequest, ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { api, queries } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { KindBadge } from "../../parts/badges.tsx";
import { ContentView } from "../../parts/content-view.tsx";
import { Failure } from "../../parts/failure.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { PreviewFacts } from "../../parts/preview-facts.tsx";
import { ResultView } from "../../parts/result-view.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { Countdown } from "./countdown.tsx";
import { RuleChoice } from "./rule-choice.tsx";
import { useSettled } from "./use-settled.ts";

const words = defineWords({
  en: {
    wants: "wants to run",
    by: "Asked by",
    someone: "a program without a name",
    session: "session",
    folder: "Folder",
    why: "Why it asks",
    preview: "What will happen",
    omitted: (what: string) => `Not shown here: ${what}. The exact request below has all of it.`,
    unshown: (why: string) => `This cannot be shown: ${why}`,
    confirmUnshown: "Approve it although its effect cannot be shown",
    request: "The exact request",
    hash: "Fingerprint",
    allow: "Approve once",
    refuse: "Deny",
    reason: "Reason for the model (optional)",
    answered: "Answered",
    state: { approved: "Approved", denied: "Denied", expired: "Expired: nobody answered in time" } as Record<
      string,
      string
    >,
    answeredBy: (by: string) => `by ${by}`,
    kept: "Rule saved:",
    call: "The call",
  },
  zh: {
    wants: "请求运行",
    by: "请求者",
    someone: "未命名的程序",
    session: "会话",
    folder: "文件夹",
    why: "为何询问",
    preview: "将会发生什么",
    omitted: (what: string) => `此处未显示：${what}。下面的完整请求包含全部内容。`,
    unshown: (why: string) => `无法显示：${why}`,
    confirmUnshown: "虽然无法显示其效果，仍然批准",
    request: "完整请求",
    hash: "指纹",
    allow: "批准一次",
    refuse: "拒绝",
    reason: "理由，会告诉模型（可选）",
    answered: "已处理",
    state: { approved: "已批准", denied: "已拒绝", expired: "已过期：没有人及时处理" } as Record<string, string>,
    answeredBy: (by: string) => `由 ${by}`,
    kept: "已保存规则：",
    call: "该调用",
  },
});

export function ApprovalCard({ approval }: { approval: ApprovalInfo }) {
  const w = useWords(words);
  const [, go] = useLocation();
  const [reason, setReason] = useState("");
  const [confirmsUnshown, setConfirmsUnshown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const [answered, setAnswered] = useState<ApprovalAnswered>();
  // A key or a click that was meant for the card shown before is ignored.
  const isSettled = useSettled(approval.id);
  const isOpen = approval.state === "pending" && !answered;
  const mayAnswer = isOpen && isSettled && !busy;

  const isUnshown = approval.preview?.unshown !== undefined;
  const mayApprove = mayAnswer && (!isUnshown || confirmsUnshown);

  const answer = (request: ApprovalAnswerRequest): void => {
    if (request.decision === "deny" ? !mayAnswer : !mayApprove) return;
    setBusy(true);
    setProblem(undefined);
    // Stay on this card, which is no longer pending, to show the result.
    go(`/approvals/${approval.id}`, { replace: true });
    api.approvals
      .answer(approval.id, isUnshown && request.decision !== "deny" ? { ...request, confirmUnshown: true } : request)
      .then(setAnswered, setProblem)
      .finally(() => {
        setBusy(false);
        void queries.invalidateQueries({ queryKey: ["approvals"] });
      });
  };
  const refuse = (): void => answer({ decision: "deny", reason: reason.trim() || undefined });
  useKeys({ y: () => answer({ decision: "once" }), n: refuse });

  const { caller } = approval;
  return (
    <article className="panel approval" aria-label={`${approval.toolName} ${w.wants}`}>
      <header>
        <ShieldAlert size={18} aria-hidden />
        <h2 className="grow">
          <span className="mono">{approval.toolName}</span> {w.wants}
        </h2>
        {approval.kind ? <KindBadge kind={approval.kind} /> : null}
        {isOpen && approval.expiresAt ? <Countdown until={approval.expiresAt} /> : null}
      </header>
      <div className="body">
        <dl className="facts">
          <dt>{w.by}</dt>
          <dd>
            <VisibleText text={[caller.user, caller.agent].filter(Boolean).join(" · ") || w.someone} />
            {caller.session ? (
              <span className="muted">
                {" "}
                · {w.session}{" "}
                <span className="mono">
                  <VisibleText text={caller.session} />
                </span>
              </span>
            ) : null}{" "}
            · <TimeAgo at={approval.askedAt} />
          </dd>
          {approval.cwd ? (
            <>
              <dt>{w.folder}</dt>
              <dd className="mono">
                <VisibleText text={approval.cwd} />
              </dd>
            </>
          ) : null}
          <dt>{w.why}</dt>
          <dd>
            <VisibleText text={approval.reason} />
          </dd>
        </dl>
        {approval.preview ? (
          <section className="stack">
            <h3>
              {w.preview}: <VisibleText text={approval.preview.title} />
            </h3>
            <PreviewFacts facts={approval.preview.facts} />
            <ContentView content={approval.preview.content} />
            {approval.preview.omitted === undefined ? null : (
              <p role="alert">
                <VisibleText text={w.omitted(approval.preview.omitted)} />
              </p>
            )}
            {approval.preview.unshown === undefined ? null : (
              <p role="alert">
                <VisibleText text={w.unshown(approval.preview.unshown)} />
              </p>
            )}
          </section>
        ) : null}
        <details open>
          <summary className="muted">{w.request}</summary>
          <JsonView value={approval.input} />
          {approval.hash ? (
            <p className="small muted">
              {w.hash} <span className="mono">{approval.hash.slice(0, 16)}</span>
            </p>
          ) : null}
        </details>
        {problem ? <Failure error={problem} /> : null}
        {isOpen ? (
          <>
            <textarea
              className="textarea reason"
              aria-label={w.reason}
              placeholder={w.reason}
              rows={1}
              value={reason}
              onChange={({ target }) => setReason(target.value)}
            />
            {isUnshown ? (
              <label className="row">
                <input
                  type="checkbox"
                  checked={confirmsUnshown}
                  onChange={({ target }) => setConfirmsUnshown(target.checked)}
                />{" "}
                {w.confirmUnshown}
              </label>
            ) : null}
            <div className="row answers">
              <button className="button primary" disabled={!mayApprove} onClick={() => answer({ decision: "once" })}>
                <Check size={16} aria-hidden /> {w.allow} <kbd className="key">y</kbd>
              </button>
              <button className="button danger" disabled={!mayAnswer} onClick={refuse}>
                <X size={16} aria-hidden /> {w.refuse} <kbd className="key">n</kbd>
              </button>
            </div>
            {approval.rule ? (
              <RuleChoice
                offered={approval.rule}
                examples={approval.ruleExamples}
                disabled={!mayApprove}
                onAnswer={answer}
              />
            ) : null}
          </>
        ) : (
          <p className="row">
            <span
              className={
                approval.state === "approved" || answered?.approval.state === "approved" ? "badge ok" : "badge bad"
              }
            >
              {w.state[answered?.approval.state ?? approval.state] ?? w.answered}
            </span>
            {approval.answeredBy ? <span className="muted">{w.answeredBy(approval.answeredBy)}</span> : null}
            {approval.note ? <VisibleText text={`“${approval.note}”`} /> : null}
            <Link href={`/calls/${encodeURIComponent(approval.callId)}`}>{w.call}</Link>
          </p>
        )}
        {answered?.rule ? (
          <p className="notice ok">
            {w.kept} <code>{answered.rule}</code>
          </p>
        ) : null}
        {answered?.result ? <ResultView result={answered.result} /> : null}
      </div>
    </article>
  );
}
