import { ArrowLeft, RotateCw, Square } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import type { JobLogLine } from "../../../../src/contracts/jobs.ts";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { formatDuration } from "../../parts/format.ts";
import { ResultView } from "../../parts/result-view.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { JobProgress, JobStateBadge } from "./job-state.tsx";
import { useJobStream } from "./use-job-stream.ts";

const words = defineWords({
  en: {
    back: "All jobs",
    cancel: "Cancel",
    retry: "Run again",
    state: "State",
    tries: "Tries",
    tried: (attempt: number, attempts: number) => `${attempt} of ${attempts}`,
    lost: (count: number) => `, ${count} times its worker vanished`,
    worker: "Worker",
    caller: "Caller",
    nobody: "no name given",
    call: "Call",
    made: "Made",
    notBefore: "not before",
    took: "took",
    input: "Input",
    log: "Log",
    silent: "Nothing yet.",
    result: "Result",
  },
  zh: {
    back: "全部作业",
    cancel: "取消",
    retry: "再次运行",
    state: "状态",
    tries: "次数",
    tried: (attempt: number, attempts: number) => `${attempt} / ${attempts}`,
    lost: (count: number) => `，工作进程消失 ${count} 次`,
    worker: "工作进程",
    caller: "调用者",
    nobody: "未命名",
    call: "调用",
    made: "创建",
    notBefore: "不早于",
    took: "用时",
    input: "输入",
    log: "日志",
    silent: "还没有内容。",
    result: "结果",
  },
});

export function JobDetailView({ id }: { id: string }) {
  const w = useWords(words);
  const [problem, setProblem] = useState<Error>();
  const { data: read, error, refetch } = useApi("jobs", "get", [id]);
  const { lines, job: streamed } = useJobStream(id, read?.round ?? 1);
  const job = streamed && streamed.round >= (read?.round ?? 0) ? streamed : read;
  const back = (
    <Link className="button plain" href="/jobs">
      <ArrowLeft size={15} aria-hidden /> {w.back}
    </Link>
  );
  if (error || !job) {
    return error ? (
      <PageFrame title={id} actions={back}>
        <Failure error={error} again={() => void refetch()} />
      </PageFrame>
    ) : null;
  }
  const act = (action: "cancel" | "retry"): void => {
    setProblem(undefined);
    api.jobs[action](id)
      .catch(setProblem)
      .finally(() => void queries.invalidateQueries({ queryKey: ["jobs"] }));
  };
  const { caller, startedAt, endedAt } = job;
  return (
    <PageFrame
      title={job.toolName}
      lead={<span className="mono">{id}</span>}
      actions={
        <>
          {back}
          {endedAt === undefined ? (
            <button className="button danger" onClick={() => act("cancel")}>
              <Square size={14} aria-hidden /> {w.cancel}
            </button>
          ) : (
            <button className="button" onClick={() => act("retry")}>
              <RotateCw size={14} aria-hidden /> {w.retry}
            </button>
          )}
        </>
      }
    >
      {problem ? <Failure error={problem} /> : null}
      <section className="panel">
        <div className="body">
          <dl className="facts">
            <dt>{w.state}</dt>
            <dd className="row">
              <JobStateBadge state={job.state} />
              <JobProgress job={job} />
            </dd>
            <dt>{w.tries}</dt>
            <dd>
              {w.tried(job.attempt, job.attempts)}
              {job.lost > 0 ? w.lost(job.lost) : ""}
            </dd>
            {job.worker ? (
              <>
                <dt>{w.worker}</dt>
                <dd className="mono">
                  <VisibleText text={job.worker} />
                </dd>
              </>
            ) : null}
            <dt>{w.caller}</dt>
            <dd>{[caller.user, caller.agent, caller.session].filter(Boolean).join(" · ") || w.nobody}</dd>
            <dt>{w.call}</dt>
            <dd>
              <Link className="mono" href={`/calls/${encodeURIComponent(job.callId)}`}>
                {job.callId}
              </Link>
            </dd>
            <dt>{w.made}</dt>
            <dd>
              <TimeAgo at={job.createdAt} />
              {job.state === "delayed" ? ` · ${w.notBefore} ${new Date(job.runAt).toLocaleString()}` : ""}
              {startedAt === undefined || endedAt === undefined
                ? ""
                : ` · ${w.took} ${formatDuration(endedAt - startedAt)}`}
            </dd>
          </dl>
        </div>
      </section>
      <section className="panel" aria-label={w.log}>
        <header>
          <h2>{w.log}</h2>
        </header>
        <div className="body">
          {lines.length === 0 ? <p className="muted">{w.silent}</p> : <JobLog lines={lines} label={w.log} />}
        </div>
      </section>
      <section className="panel">
        <header>
          <h2>{w.input}</h2>
        </header>
        <div className="body">
          <JsonView value={job.input} />
        </div>
      </section>
      {job.result ? (
        <section className="panel">
          <header>
            <h2>{w.result}</h2>
          </header>
          <div className="body">
            <ResultView result={job.result} />
          </div>
        </section>
      ) : null}
    </PageFrame>
  );
}

/** Scrolls to the end unless the user has scrolled up. */
function JobLog({ lines, label }: { lines: readonly JobLogLine[]; label: string }) {
  const { language } = useLanguage();
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  return (
    <div
      ref={box}
      className="code"
      role="log"
      aria-label={label}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 20;
      }}
    >
      {lines.map((line) => (
        <div key={line.number} className="job-line">
          <time className="muted" dateTime={new Date(line.at).toISOString()}>
            {new Date(line.at).toLocaleTimeString(language)}
          </time>
          <span className={line.note === undefined ? "mono" : "mono muted"}>
            <VisibleText text={textOf(line)} />
          </span>
        </div>
      ))}
    </div>
  );
}

/** A progress update without text is left out: the bar above shows it. */
function textOf({ note, update }: JobLogLine): string {
  const said = (update?.content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : []));
  const text = [...(note === undefined ? [] : [note]), ...said].join("").trimEnd();
  const { done, total, message } = update?.progress ?? {};
  if (text !== "" || done === undefined) return text;
  return [total === undefined ? done : `${done}/${total}`, message].filter(Boolean).join(" ");
}
