import { Check, CircleAlert, LoaderCircle, Undo2, X } from "lucide-react";
import { Link } from "wouter";
import { defineWords, useWords } from "../../language.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { useToolTitle } from "../../parts/tool-text.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { NextStep } from "../welcome/next-step.tsx";
import type { AnswerLine, Answers, Decision } from "./use-answers.ts";

const words = defineWords({
  en: {
    label: "Your last answers",
    decisions: {
      once: "Approved",
      session: "Approved for the session",
      always: "Always approved",
      answer: "Answered",
      deny: "Denied",
    } as Record<Decision, string>,
    dismissed: "Dismissed",
    sending: "sending…",
    running: "running…",
    refused: (why: string) => `not answered: ${why}`,
    completed: "completed",
    failed: (why: string) => `failed: ${why}`,
    notRun: (why: string) => `did not run: ${why}`,
    rule: (rule: string) => `rule saved: ${rule}`,
    undo: "Undo",
    undoing: "undoing…",
    undone: "undone: everything is as it was",
    force: "Undo anyway",
    show: "Show",
    dismiss: "Dismiss",
  },
  zh: {
    label: "最近的处理",
    decisions: {
      once: "已批准",
      session: "本会话已批准",
      always: "始终批准",
      answer: "已回答",
      deny: "已拒绝",
    } as Record<Decision, string>,
    dismissed: "未回答",
    sending: "发送中…",
    running: "运行中…",
    refused: (why: string) => `未处理：${why}`,
    completed: "完成",
    failed: (why: string) => `失败：${why}`,
    notRun: (why: string) => `未运行：${why}`,
    rule: (rule: string) => `已保存规则：${rule}`,
    undo: "撤销",
    undoing: "正在撤销…",
    undone: "已撤销：恢复原样",
    force: "仍然撤销",
    show: "查看",
    dismiss: "关闭",
  },
});

/** One line for each of the last answers: what was decided, what the call did, and how to take it back. */
export function AnswerLines({ answers, addressOf }: { answers: Answers; addressOf: (id: string) => string }) {
  const w = useWords(words);
  if (answers.lines.length === 0) return null;
  return (
    <>
      <ul className="answer-lines" aria-label={w.label}>
        {answers.lines.map((line) => (
          <Line key={line.id} line={line} answers={answers} href={addressOf(line.id)} />
        ))}
      </ul>
      {answers.lines.some(({ state }) => state === "ended" || state === "undone") ? <NextStep /> : null}
    </>
  );
}

function Line({ line, answers, href }: { line: AnswerLine; answers: Answers; href: string }) {
  const w = useWords(words);
  const outcome = useOutcome(line);
  const titleOf = useToolTitle();
  const { tone } = outcome;
  const Icon = tone === "busy" ? LoaderCircle : tone === "bad" ? CircleAlert : line.decision === "deny" ? X : Check;
  const { isBlocked } = line;
  return (
    <li className={`answer-line ${tone}`}>
      <Icon size={16} aria-hidden />
      <strong className="answer-decision">
        {line.decision === "deny" && line.approval.questions ? w.dismissed : w.decisions[line.decision]}
      </strong>
      <span className="answer-subject">
        <span className="muted">{titleOf(line.approval) ?? line.approval.toolName}</span>{" "}
        <CallSubject subject={line.approval.subject} />
      </span>
      <span className="answer-outcome" title={outcome.text}>
        <VisibleText text={outcome.text} />
      </span>
      <span className="answer-actions">
        {line.state === "ended" && (line.changes?.length ?? 0) > 0 ? (
          <button className="button small" onClick={() => answers.undo(line, { force: isBlocked })}>
            <Undo2 size={14} aria-hidden /> {isBlocked ? w.force : w.undo} <kbd className="key">u</kbd>
          </button>
        ) : null}
        <Link className="button small plain" href={href}>
          {w.show}
        </Link>
        <button
          className="button small plain"
          aria-label={w.dismiss}
          title={w.dismiss}
          onClick={() => answers.dismiss(line.id)}
        >
          <X size={14} aria-hidden />
        </button>
      </span>
    </li>
  );
}

function useOutcome({ state, answered, problem, decision }: AnswerLine): { text: string; tone: string } {
  const w = useWords(words);
  const result = answered?.result;
  if (state === "sending") return { text: w.sending, tone: "busy" };
  if (state === "running") return { text: w.running, tone: "busy" };
  if (state === "undoing") return { text: w.undoing, tone: "busy" };
  if (state === "refused") return { text: w.refused(problem?.message ?? ""), tone: "bad" };
  if (state === "undone") return { text: w.undone, tone: "ok" };
  if (problem) return { text: problem.message, tone: "bad" };
  if (decision === "deny") return { text: answered?.approval.note ?? "", tone: "ok" };
  if (answered?.approval.state !== "approved") return { text: w.notRun(answered?.approval.note ?? ""), tone: "bad" };
  if (result?.status === "failed") return { text: w.failed(result.error.message), tone: "bad" };
  if (answered.rule !== undefined) return { text: w.rule(answered.rule.replaceAll("\n", ", ")), tone: "ok" };
  return { text: w.completed, tone: "ok" };
}
