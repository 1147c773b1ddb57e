import { Play, Square } from "lucide-react";
import { useEffect, useState } from "react";
import type { JudgedCall } from "../../../../src/contracts/playground.ts";
import { api, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { VerdictText } from "../../parts/localized.tsx";
import { RunningCall, useRunningCall } from "../../parts/running-call.tsx";
import { OneLine, VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  run: ["Run", "运行"],
  again: ["Run again", "再次运行"],
  cancel: ["Cancel", "取消"],
  notRead: ["could not be read", "无法解析"],
  refused: ["would be refused", "会被拒绝"],
  mended: ["mended", "已修复"],
  raw: ["As the model wrote it", "模型的原文"],
  answer: ["What goes back to the model", "返回给模型的内容"],
  nameless: ["no name", "没有名称"],
});

/** One call found in the text: the verdict and, after it ran, the text for the model. */
export function PlayedCall({ call }: { call: JudgedCall }) {
  const w = useWords(words);
  const running = useRunningCall();
  const mayCall = useScope("call");
  const answered = useAnswer(running.result?.callId, call.format);
  const { name, input, failure, problem, explanation, repairs = [] } = call;
  const verdict = explanation?.verdict;
  const answer = call.answer ?? answered.text;
  return (
    <section className="panel" aria-label={name || w.nameless}>
      <header>
        <h2 className="mono">
          <OneLine text={name || w.nameless} />
        </h2>
        <span className="badge">{call.format}</span>
        {verdict ? <DecisionBadge verdict={verdict} /> : null}
        {failure ? <span className="badge bad">{w.notRead}</span> : null}
        {problem ? <span className="badge bad">{w.refused}</span> : null}
        {repairs.length > 0 ? <span className="badge warn">{w.mended}</span> : null}
        <span className="grow" />
        {failure ? null : running.state === "running" ? (
          <Button icon={Square} text={w.cancel} onClick={running.cancel} />
        ) : (
          <Button look="primary" icon={Play} disabled={!mayCall} onClick={() => running.start({ tool: name, input })}>
            {running.state === "done" ? w.again : w.run}
          </Button>
        )}
      </header>
      <div className="body">
        {verdict ? (
          <p className="small">
            <VerdictText verdict={verdict} /> {verdict.rule ? <code>{verdict.rule}</code> : null}
          </p>
        ) : null}
        {(failure?.message ?? problem) !== undefined ? (
          <VisibleText as="p" className="field-error pre" text={failure?.message ?? problem ?? ""} />
        ) : null}
        {repairs.map((repair) => (
          <VisibleText key={repair} as="p" className="small muted" text={repair} />
        ))}
        {failure ? null : <JsonView value={input} />}
        <details>
          <summary className="muted">{w.raw}</summary>
          <VisibleText as="pre" className="code" text={call.rawText} />
        </details>
        <RunningCall call={running} />
        {answered.error ? <Failure error={answered.error} /> : null}
        {answer === undefined ? null : (
          <section className="stack" aria-label={w.answer}>
            <div className="row">
              <h3 className="grow">{w.answer}</h3>
              <CopyButton text={answer} />
            </div>
            <VisibleText as="pre" className="code" text={answer} />
          </section>
        )}
      </div>
    </section>
  );
}

/** The result as the model gets it. */
function useAnswer(callId: string | undefined, format: JudgedCall["format"]): { text?: string; error?: Error } {
  const [answer, setAnswer] = useState<{ text?: string; error?: Error }>({});
  useEffect(() => {
    setAnswer({});
    if (callId === undefined) return;
    let isOver = false;
    api.playground.answer({ callId, format }).then(
      ({ text }) => void (isOver || setAnswer({ text })),
      (error: Error) => void (isOver || setAnswer({ error })),
    );
    return () => void (isOver = true);
  }, [callId, format]);
  return answer;
}
