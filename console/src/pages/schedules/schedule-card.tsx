import { Pause, Play, Trash2, Zap } from "lucide-react";
import { useState } from "react";
import type { ScheduleInfo } from "../../../../src/contracts/schedules.ts";
import { api, queries } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { RunBadge, ScheduleRuns } from "./schedule-runs.tsx";
import { useTimingText } from "./timing-text.ts";

const words = defineWords({
  en: {
    paused: "paused",
    over: "over",
    next: "next",
    runNow: "Run now",
    pause: "Pause",
    resume: "Resume",
    remove: "Remove",
    sure: "Really remove?",
    upcoming: "Next runs",
    what: "Runs",
    as: "As",
    nobody: "no name given",
    rights: "No more than",
    skip: "Late runs are skipped",
  },
  zh: {
    paused: "已暂停",
    over: "已结束",
    next: "下次",
    runNow: "立即运行",
    pause: "暂停",
    resume: "恢复",
    remove: "删除",
    sure: "确定删除？",
    upcoming: "接下来",
    what: "运行",
    as: "身份",
    nobody: "未命名",
    rights: "权限不超过",
    skip: "迟到的运行会被跳过",
  },
});

export function ScheduleCard({ schedule }: { schedule: ScheduleInfo }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const [problem, setProblem] = useState<Error>();
  const [isSure, setSure] = useState(false);
  const timing = useTimingText(schedule.timing);
  const { id, name, target, isPaused, nextAt, upcoming, lastRun } = schedule;
  const { caller, ...rights } = schedule.authority;
  const act = (done: Promise<unknown>): void => {
    setProblem(undefined);
    done.catch(setProblem).finally(() => void queries.invalidateQueries({ queryKey: ["schedules"] }));
  };
  return (
    <section className="panel" aria-label={name}>
      <header>
        <h2 className="grow">
          <VisibleText text={name} />
        </h2>
        {lastRun ? <RunBadge state={lastRun.state} /> : null}
        {isPaused ? <span className="badge warn">{w.paused}</span> : null}
        {nextAt === undefined && !isPaused ? <span className="badge">{w.over}</span> : null}
        <button className="button small" onClick={() => act(api.schedules.run(id))}>
          <Zap size={14} aria-hidden /> {w.runNow}
        </button>
        <button className="button small" onClick={() => act(api.schedules.pause(id, { isPaused: !isPaused }))}>
          {isPaused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />} {isPaused ? w.resume : w.pause}
        </button>
        <button
          className="button small danger"
          onBlur={() => setSure(false)}
          onClick={() => (isSure ? act(api.schedules.remove(id)) : setSure(true))}
        >
          <Trash2 size={14} aria-hidden /> {isSure ? w.sure : w.remove}
        </button>
      </header>
      <div className="body">
        {problem ? <Failure error={problem} /> : null}
        <p className="row">
          <strong>{timing}</strong>
          {upcoming[0] === undefined ? null : (
            <span className="muted">
              {w.next} <TimeAgo at={upcoming[0]} />
            </span>
          )}
          {schedule.missed === "skip" ? <span className="badge">{w.skip}</span> : null}
        </p>
        <dl className="facts">
          <dt>{w.what}</dt>
          <dd className="mono">
            <VisibleText
              text={
                target.type === "call"
                  ? `${target.toolName} ${JSON.stringify(target.input)}`
                  : `${target.session}: ${target.text}`
              }
            />
          </dd>
          <dt>{w.as}</dt>
          <dd>{[caller.user, caller.agent, caller.session].filter(Boolean).join(" · ") || w.nobody}</dd>
          {Object.keys(rights).length > 0 ? (
            <>
              <dt>{w.rights}</dt>
              <dd className="mono">
                <VisibleText text={JSON.stringify(rights)} />
              </dd>
            </>
          ) : null}
          {upcoming.length > 0 ? (
            <>
              <dt>{w.upcoming}</dt>
              <dd className="muted">{upcoming.map((at) => showTime(at, language)).join(" · ")}</dd>
            </>
          ) : null}
        </dl>
        {lastRun ? <ScheduleRuns id={id} /> : null}
      </div>
    </section>
  );
}

function showTime(at: number, language: string): string {
  return new Date(at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
}
