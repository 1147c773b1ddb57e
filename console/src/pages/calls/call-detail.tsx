import { ArrowLeft, Pencil, RotateCw, Square } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { DecisionBadge, KindBadge, StatusBadge } from "../../parts/badges.tsx";
import { Failure } from "../../parts/failure.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { formatDuration } from "../../parts/format.ts";
import { ResultView } from "../../parts/result-view.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { saveEdited } from "../tools/call-form.tsx";
import { CopyAs } from "./copy-as.tsx";
import { UndoChanges } from "./undo-changes.tsx";
import { Waterfall } from "./waterfall.tsx";

const words = defineWords({
  en: {
    back: "All calls",
    input: "Input",
    result: "Result",
    again: "Run again",
    edit: "Edit and run",
    cancel: "Cancel",
    caller: "Caller",
    nobody: "no name given",
    verdict: "Verdict",
    when: "When",
    took: "Took",
    approval: "Approval",
    show: "show",
    parent: "Part of",
  },
  zh: {
    back: "全部调用",
    input: "输入",
    result: "结果",
    again: "再次运行",
    edit: "编辑并运行",
    cancel: "取消",
    caller: "调用者",
    nobody: "未命名",
    verdict: "裁决",
    when: "时间",
    took: "用时",
    approval: "审批",
    show: "查看",
    parent: "属于",
  },
});

export function CallDetailView({ callId }: { callId: string }) {
  const w = useWords(words);
  const [, go] = useLocation();
  const [problem, setProblem] = useState<Error>();
  const { data: call, error, refetch } = useApi("calls", "get", [callId]);
  const back = (
    <Link className="button plain" href="/calls">
      <ArrowLeft size={15} aria-hidden /> {w.back}
    </Link>
  );
  if (error) {
    return (
      <PageFrame title={callId} actions={back}>
        <Failure error={error} again={() => void refetch()} />
      </PageFrame>
    );
  }
  if (!call) return null;
  const runAgain = (): void => {
    api.calls.replay(callId).then((result) => go(`/calls/${encodeURIComponent(result.callId)}`), setProblem);
  };
  const edit = (): void => {
    saveEdited(call.toolName, call.input ?? {});
    go(`/tools/${encodeURIComponent(call.toolName)}`);
  };
  const isLive = call.status === "running" || call.status === "waiting";
  return (
    <PageFrame
      title={call.toolName}
      lead={<VisibleText text={call.display ?? callId} />}
      actions={
        <>
          {back}
          {isLive ? (
            <button className="button danger" onClick={() => void api.calls.cancel(callId).catch(setProblem)}>
              <Square size={14} aria-hidden /> {w.cancel}
            </button>
          ) : (
            <>
              <button className="button" onClick={edit}>
                <Pencil size={14} aria-hidden /> {w.edit}
              </button>
              <button className="button" onClick={runAgain}>
                <RotateCw size={14} aria-hidden /> {w.again}
              </button>
            </>
          )}
        </>
      }
    >
      {problem ? <Failure error={problem} /> : null}
      <section className="panel">
        <div className="body">
          <dl className="facts">
            <dt>{w.result}</dt>
            <dd className="row">
              <StatusBadge status={call.status} />
              {call.kind ? <KindBadge kind={call.kind} /> : null}
              <span className="mono small muted">{callId}</span>
            </dd>
            {call.verdict ? (
              <>
                <dt>{w.verdict}</dt>
                <dd>
                  <DecisionBadge verdict={call.verdict} /> <VisibleText text={call.verdict.reason} />{" "}
                  {call.verdict.rule ? <code>{call.verdict.rule}</code> : null}{" "}
                  {call.verdict.origin ? <span className="muted small">{call.verdict.origin}</span> : null}
                </dd>
              </>
            ) : null}
            {call.approvalId ? (
              <>
                <dt>{w.approval}</dt>
                <dd>
                  <Link href={`/approvals/${call.approvalId}`}>{w.show}</Link>
                </dd>
              </>
            ) : null}
            <dt>{w.caller}</dt>
            <dd>
              {[call.caller.user, call.caller.agent, call.caller.session].filter(Boolean).join(" · ") || w.nobody}
            </dd>
            {call.parentId ? (
              <>
                <dt>{w.parent}</dt>
                <dd>
                  <Link className="mono" href={`/calls/${encodeURIComponent(call.parentId)}`}>
                    {call.parentId}
                  </Link>
                </dd>
              </>
            ) : null}
            <dt>{w.when}</dt>
            <dd>
              <TimeAgo at={call.requestedAt} />
              {call.durationMs === undefined ? null : ` · ${w.took} ${formatDuration(call.durationMs)}`}
            </dd>
          </dl>
        </div>
      </section>
      {call.kind === "readonly" ? null : (
        <UndoChanges callId={callId} onUndone={() => void queries.invalidateQueries()} />
      )}
      <section className="panel">
        <header>
          <h2 className="grow">{w.input}</h2>
          <CopyAs toolName={call.toolName} input={call.input ?? {}} />
        </header>
        <div className="body">
          <JsonView value={call.input ?? {}} />
        </div>
      </section>
      {call.result ? (
        <section className="panel">
          <header>
            <h2>{w.result}</h2>
          </header>
          <div className="body">
            <ResultView result={call.result} />
          </div>
        </section>
      ) : null}
      {call.children.length > 0 || call.askedAt ? <Waterfall calls={[call, ...call.children]} /> : null}
    </PageFrame>
  );
}
