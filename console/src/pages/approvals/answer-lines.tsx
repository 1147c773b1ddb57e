import { Check, CircleAlert, LoaderCircle, Redo2, Undo2, X } from "lucide-react";
import { useEffect } from "react";
import { defineWords, type Pair, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { useToolTitle } from "../../parts/tool-text.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { PHONE } from "../../parts/sheet.tsx";
import { useMedia } from "../../parts/use-media.ts";
import { NextStep } from "../welcome/next-step.tsx";
import { type AnswerLine, type Answers, type Decision, canRevert, hasStarted, isOnItsWay } from "./use-answers.ts";

const words = defineWords({
  label: ["Your last answers", "最近的处理"],
  decisions: {
    once: ["Approved", "已批准"],
    session: ["Approved for the session", "本会话已批准"],
    always: ["Always approved", "始终批准"],
    answer: ["Answered", "已回答"],
    deny: ["Denied", "已拒绝"],
  } as Record<Decision, Pair>,
  dismissed: ["Dismissed", "未回答"],
  sending: ["Sending…", "发送中…"],
  unsent: ["Not sent", "未送达"],
  stillOpen: ["The question is still open.", "请求仍在等待回答。"],
  again: ["Try again", "重试"],
  running: ["running…", "运行中…"],
  notStarted: ["approved, not started yet", "已批准，尚未开始"],
  completed: ["completed", "完成"],
  failed: (why: string) => [`failed: ${why}`, `失败：${why}`],
  notRun: (why: string) => [`did not run: ${why}`, `未运行：${why}`],
  rule: (rule: string) => [`rule saved: ${rule}`, `已保存规则：${rule}`],
  undo: ["Undo", "撤销"],
  undoing: ["undoing…", "正在撤销…"],
  undone: ["undone: everything is as it was", "已撤销：恢复原样"],
  redo: ["Redo", "重做"],
  show: ["Show", "查看"],
  dismiss: ["Dismiss", "关闭"],
});

/** On a phone a line about what went well goes by itself; one with an undo stays longer. */
const SEEN_MS = 8_000;
const UNDO_MS = 30_000;

interface AnswerLinesProps {
  answers: Answers;
  /** The card that is shown. It says itself that its answer was not sent. */
  currentId: string | undefined;
  addressOf: (id: string) => string;
}

/** One line for each of the last answers: what was decided, what the call did, and how to take it back. */
export function AnswerLines({ answers, currentId, addressOf }: AnswerLinesProps) {
  const w = useWords(words);
  const lines = answers.lines.filter((line) => line.id !== currentId || !isOnItsWay(line));
  if (lines.length === 0) return null;
  return (
    <>
      <ul className="plain-list stack answer-lines" aria-label={w.label}>
        {lines.map((line) => (
          <Line key={line.id} line={line} answers={answers} href={addressOf(line.id)} />
        ))}
      </ul>
      {lines.some(({ state }) => state === "ended" || state === "undone") ? <NextStep /> : null}
    </>
  );
}

function Line({ line, answers, href }: { line: AnswerLine; answers: Answers; href: string }) {
  const w = useWords(words);
  const outcome = useOutcome(line);
  const titleOf = useToolTitle();
  const { tone } = outcome;
  const { decision } = line.request;
  const Icon = tone === "busy" ? LoaderCircle : tone === "bad" ? CircleAlert : decision === "deny" ? X : Check;
  const isUndone = line.state === "undone";
  const isPhone = useMedia(PHONE);
  const passesMs = isPhone && (tone === "ok" || tone === "") ? (canRevert(line) ? UNDO_MS : SEEN_MS) : undefined;
  const { dismiss } = answers;
  useEffect(() => {
    if (passesMs === undefined) return;
    const timer = setTimeout(() => dismiss(line.id), passesMs);
    return () => clearTimeout(timer);
  }, [passesMs, line.state, line.id, dismiss]);
  return (
    <li className={`line answer-line ${tone}`}>
      <Icon size={16} aria-hidden />
      <strong className="answer-decision">
        {isOnItsWay(line)
          ? w[line.state === "sending" ? "sending" : "unsent"]
          : decision === "deny" && line.approval.questions
            ? w.dismissed
            : w.decisions[decision]}
      </strong>
      <span className="line answer-subject">
        <span className="muted">{titleOf(line.approval) ?? line.approval.toolName}</span>{" "}
        <CallSubject subject={line.approval.subject} />
      </span>
      <VisibleText className="cut answer-outcome" title={outcome.text} text={outcome.text} />
      <span className="line answer-actions">
        {canRevert(line) ? (
          <Button
            look="small"
            icon={isUndone ? Redo2 : Undo2}
            hotkey={line !== answers.lines.find(canRevert) ? undefined : isUndone ? "⇧U" : "u"}
            text={isUndone ? w.redo : w.undo}
            onClick={() => answers.revert(line)}
          />
        ) : null}
        <Button look="small plain" text={w.show} href={href} />
        <Button look="small plain" icon={X} label={w.dismiss} onClick={() => answers.dismiss(line.id)} />
      </span>
    </li>
  );
}

type Request = AnswerLine["request"];

/** On the card of a question: its answer is on the way, or was not sent. */
export function Delivery({ line, onRetry }: { line: AnswerLine | undefined; onRetry: (request: Request) => void }) {
  const w = useWords(words);
  if (!line || !isOnItsWay(line)) return null;
  return line.state === "sending" ? (
    <p className="small muted" role="status">
      {w.sending}
    </p>
  ) : (
    <p className="notice bad" role="alert">
      <CircleAlert size={16} aria-hidden />
      <span className="grow">
        <strong>{w.unsent}.</strong> <VisibleText lang="en" text={line.problem?.message ?? ""} /> {w.stillOpen}
      </span>
      <Button look="small" text={w.again} onClick={() => onRetry(line.request)} />
    </p>
  );
}

function useOutcome({ state, answered, problem, request }: AnswerLine): { text: string; tone: string } {
  const w = useWords(words);
  const result = answered?.result;
  if (state === "sending") return { text: "", tone: "busy" };
  if (state === "running") {
    const text = answered && !hasStarted(answered) ? w.notStarted : w.running;
    return { text, tone: "busy" };
  }
  if (state === "undoing") return { text: w.undoing, tone: "busy" };
  if (state === "unsent") return { text: `${problem?.message ?? ""} ${w.stillOpen}`, tone: "bad" };
  if (state === "undone") return { text: w.undone, tone: "ok" };
  if (problem) return { text: problem.message, tone: "bad" };
  if (request.decision === "deny") return { text: answered?.approval.note ?? "", tone: "" };
  if (answered?.approval.state !== "approved") return { text: w.notRun(answered?.approval.note ?? ""), tone: "bad" };
  if (result?.status === "failed") return { text: w.failed(result.error.message), tone: "bad" };
  if (answered.rule !== undefined) return { text: w.rule(answered.rule.replaceAll("\n", ", ")), tone: "ok" };
  return { text: w.completed, tone: "ok" };
}
