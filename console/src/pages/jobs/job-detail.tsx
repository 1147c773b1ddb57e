import { ArrowLeft, RotateCw, Square } from "lucide-react";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import type { JobDetail, JobLogLine } from "../../../../src/contracts/jobs.ts";
import { api, useApi, useScope } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { callerText } from "../../parts/caller-name.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Facts } from "../../parts/facts.tsx";
import { countOf, formatClock, formatDuration, isoTime } from "../../parts/format.ts";
import { JsonView } from "../../parts/json-view.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ResultView } from "../../parts/result-view.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { type Keys, useKeys } from "../../parts/use-keys.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { JobProgress, JobStateBadge, JobWaitText } from "./job-state.tsx";
import { useJobStream } from "./use-job-stream.ts";

const words = defineWords({
  back: ["All jobs", "全部作业"],
  cancel: ["Cancel", "取消"],
  retry: ["Run again", "再次运行"],
  subject: ["Subject", "对象"],
  state: ["State", "状态"],
  waits: ["Waits", "等待"],
  tries: ["Attempts", "次数"],
  tried: (attempt: number, attempts: number) => [`${attempt} of ${attempts}`, `${attempt} / ${attempts}`],
  lost: (count: number) => [`, and ${countOf(count, "time")} its worker disappeared`, `，工作进程消失 ${count} 次`],
  round: (count: number) => [`run ${count}`, `第 ${count} 轮`],
  worker: ["Worker", "工作进程"],
  caller: ["Caller", "调用者"],
  nobody: ["no name given", "未命名"],
  call: ["Call", "调用"],
  made: ["Made", "创建"],
  session: ["Session", "会话"],
  took: ["took", "用时"],
  input: ["Input", "输入"],
  log: ["Log", "日志"],
  silent: ["Nothing yet.", "还没有内容。"],
  result: ["Result", "结果"],
});

export function JobDetailView({ id }: { id: string }) {
  const w = useWords(words);
  const [failure, run] = useAction("jobs");
  const query = useApi("jobs", "get", [id]);
  const { data: read } = query;
  const { lines, job: streamed } = useJobStream(id, read?.round ?? 1);
  // What a job waits for changes without an event of the job: the last answer has it.
  const job =
    streamed && streamed.round >= (read?.round ?? 0) ? { ...streamed, waitsFor: waitOf(streamed, read) } : read;
  const mayCall = useScope("call");
  const isOpen = job?.endedAt === undefined;
  const act = (action: "cancel" | "retry"): void => run(api.jobs[action](id));
  const keys: Keys = isOpen
    ? { c: { label: w.cancel, run: () => act("cancel") } }
    : { r: { label: w.retry, run: () => act("retry") } };
  useKeys(mayCall ? keys : {});
  return (
    <PageFrame
      title={job?.toolName ?? id}
      lead={<span className="mono">{id}</span>}
      actions={
        <>
          <Button look="plain" icon={ArrowLeft} text={w.back} href="/jobs" />
          {job && isOpen && mayCall ? (
            <Button look="danger" icon={Square} text={w.cancel} hotkey="c" onClick={() => act("cancel")} />
          ) : null}
          {job && !isOpen && mayCall ? (
            <Button icon={RotateCw} hotkey="r" text={w.retry} onClick={() => act("retry")} />
          ) : null}
        </>
      }
    >
      {failure}
      <Loaded query={{ ...query, data: job }}>{(shown) => <JobBody job={shown} lines={lines} />}</Loaded>
    </PageFrame>
  );
}

function waitOf(streamed: JobDetail, read: JobDetail | undefined): JobDetail["waitsFor"] {
  return streamed.state === read?.state ? read.waitsFor : streamed.waitsFor;
}

function JobBody({ job, lines }: { job: JobDetail; lines: readonly JobLogLine[] }) {
  const w = useWords(words);
  const { caller, startedAt, endedAt } = job;
  const lost = job.lost > 0 ? w.lost(job.lost) : "";
  const round = job.round > 1 ? ` · ${w.round(job.round)}` : "";
  const hasRun = startedAt !== undefined && endedAt !== undefined;
  const took = hasRun ? ` · ${w.took} ${formatDuration(endedAt - startedAt)}` : "";
  return (
    <>
      <section className="panel">
        <div className="body">
          <Facts
            facts={[
              [
                w.subject,
                <>
                  <CallSubject subject={job.subject} />
                  <RiskBadge level={job.risk} />
                </>,
                "row",
              ],
              [
                w.state,
                <>
                  <JobStateBadge state={job.state} />
                  <JobProgress job={job} />
                </>,
                "row",
              ],
              [w.waits, job.waitsFor && <JobWaitText job={job} />],
              [w.tries, [w.tried(job.attempt, job.attempts), lost, round].join("")],
              [w.worker, job.worker && <VisibleText text={job.worker} />, "mono"],
              [w.caller, callerText(caller, w.nobody)],
              [w.session, caller.session && <IdLink to="sessions" id={caller.session} />],
              [w.call, <IdLink to="work" id={job.callId} />],
              [
                w.made,
                <>
                  <TimeAgo at={job.createdAt} />
                  {took}
                </>,
              ],
            ]}
          />
        </div>
      </section>
      <Panel title={w.log}>
        {lines.length === 0 ? <p className="muted">{w.silent}</p> : <JobLog lines={lines} label={w.log} />}
      </Panel>
      <Panel title={w.input}>
        <JsonView value={job.input} />
      </Panel>
      {job.result ? (
        <Panel title={w.result}>
          <ResultView result={job.result} />
        </Panel>
      ) : null}
    </>
  );
}

function IdLink({ to, id }: { to: string; id: string }) {
  return (
    <Link className="mono" href={`/${to}/${encodeURIComponent(id)}`}>
      {id}
    </Link>
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
          <time className="muted" dateTime={isoTime(line.at)}>
            {formatClock(line.at, language)}
          </time>
          <VisibleText className={line.note === undefined ? "mono" : "mono muted"} text={textOf(line)} />
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
