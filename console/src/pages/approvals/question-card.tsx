import { ArrowLeft, MessageCircleQuestionMark } from "lucide-react";
import { useState } from "react";
import type { QuestionAnswerRequest, QuestionInfo } from "../../../../src/contracts/questions.ts";
import { Link } from "wouter";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { callerText, SessionLink } from "../../parts/caller-name.tsx";
import { Failure } from "../../parts/failure.tsx";
import { SchemaForm } from "../../parts/schema-form.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { Countdown } from "./countdown.tsx";
import { useSettled } from "../../parts/use-settled.ts";

const words = defineWords({
  asks: ["asks you", "向你提问"],
  server: ["MCP server", "MCP 服务器"],
  careful: [
    "This server receives what you enter. Do not enter a password or a key.",
    "填写的内容会发给这个服务器。不要填写密码或密钥。",
  ],
  page: [
    "It asks you to visit a page. Check the whole address first: the server chose it.",
    "它希望你访问一个页面。先看清完整地址：它由服务器选择。",
  ],
  openPage: ["Open the page", "打开页面"],
  visited: ["I have been there", "我已访问"],
  send: ["Send", "发送"],
  decline: ["Decline", "拒绝"],
  later: ["Close without an answer", "不回答并关闭"],
  call: ["The call that waits", "正在等待的调用"],
  back: ["All approvals", "全部审批"],
});

export default function QuestionCard({ question, backTo }: { question: QuestionInfo; backTo: string }) {
  const w = useWords(words);
  const [value, setValue] = useState<unknown>(undefined);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error>();
  // A click that was meant for the card shown before is ignored.
  const mayAnswer = useSettled(question.id) && !busy;
  const form = `question-${question.id}`;
  const { url } = question;

  const answer = (request: QuestionAnswerRequest): void => {
    if (!mayAnswer) return;
    setBusy(true);
    setProblem(undefined);
    api.questions
      .answer(question.id, request)
      .catch(setProblem)
      .finally(() => {
        setBusy(false);
        void queries.invalidateQueries({ queryKey: ["questions"] });
      });
  };
  const accept = (): void =>
    answer({
      action: "accept",
      ...(question.mode === "form" ? { content: (value ?? {}) as NonNullable<QuestionAnswerRequest["content"]> } : {}),
    });

  return (
    <article className="panel approval" aria-label={`${question.server} ${w.asks}`}>
      <header>
        <Button look="plain small card-back" icon={ArrowLeft} text={w.back} href={backTo} />
        <MessageCircleQuestionMark size={18} aria-hidden />
        <h2 className="grow">
          {w.server} <span className="mono">{question.server}</span> {w.asks}
        </h2>
        <Countdown until={question.expiresAt} />
      </header>
      <div className="stack card-body">
        <VisibleText as="p" text={question.message} />
        {question.callIds?.map((id) => (
          <WaitingCall key={id} id={id} />
        ))}
        {url === undefined ? (
          <>
            <SchemaForm
              id={form}
              schema={question.schema ?? {}}
              value={value}
              disabled={busy}
              onChange={setValue}
              onSubmit={accept}
            />
            <p className="small muted">{w.careful}</p>
          </>
        ) : (
          <>
            <p className="notice warn">{w.page}</p>
            <VisibleText as="p" className="mono" text={url} />
            {/^https?:/.test(url) ? (
              <a href={url} target="_blank" rel="noreferrer">
                {w.openPage}
              </a>
            ) : null}
          </>
        )}
        {problem ? <Failure error={problem} /> : null}
      </div>
      <div className="stack answer-bar">
        <div className="row answers">
          {url === undefined ? (
            <Button look="primary" type="submit" text={w.send} form={form} disabled={!mayAnswer} />
          ) : (
            <Button look="primary" text={w.visited} disabled={!mayAnswer} onClick={accept} />
          )}
          <Button look="danger" text={w.decline} disabled={!mayAnswer} onClick={() => answer({ action: "decline" })} />
          <Button text={w.later} disabled={!mayAnswer} onClick={() => answer({ action: "cancel" })} />
        </div>
      </div>
    </article>
  );
}

/** Its tool, what it is about and who made it. */
function WaitingCall({ id }: { id: string }) {
  const w = useWords(words);
  const { data } = useApi("calls", "get", [id]);
  if (!data) return null;
  return (
    <p className="row small">
      <span className="muted">{w.call}:</span>
      <Link className="mono" href={`/work/${encodeURIComponent(id)}`}>
        <VisibleText text={data.toolName} />
      </Link>
      <VisibleText text={callerText(data.caller, "")} />
      {data.caller.session === undefined ? null : <SessionLink session={data.caller.session} />}
    </p>
  );
}
