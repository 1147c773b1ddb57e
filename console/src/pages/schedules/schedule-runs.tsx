import { Link } from "wouter";
import type { ScheduleRun } from "../../../../src/contracts/schedules.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { formatDateTime, formatDuration } from "../../parts/format.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  en: {
    runs: "Past runs",
    number: "Run",
    due: "Due",
    state: "State",
    took: "Took",
    outcome: "Result",
    states: {
      running: "running",
      waiting: "waits",
      completed: "completed",
      failed: "failed",
      missed: "missed",
      skipped: "skipped",
    },
    missed: (count: number) => `${count < 1000 ? count : "1000 or more"} missed while Haft was not running`,
    none: "It has not run yet.",
    requested: (by: string | undefined) => (by === undefined ? "requested" : `requested by ${by}`),
    call: "The call",
    job: "The job",
    answer: "Answer",
  },
  zh: {
    runs: "过去的运行",
    number: "序号",
    due: "应在",
    state: "状态",
    took: "用时",
    outcome: "结果",
    states: {
      running: "运行中",
      waiting: "等待",
      completed: "完成",
      failed: "失败",
      missed: "错过",
      skipped: "跳过",
    },
    none: "还没有运行过。",
    missed: (count: number) => `Haft 未运行时错过 ${count < 1000 ? count : "1000 或更多"} 次`,
    requested: (by: string | undefined) => (by === undefined ? "手动运行" : `由 ${by} 要求`),
    call: "查看调用",
    job: "查看作业",
    answer: "去处理",
  },
});

const TONES: Record<ScheduleRun["state"], string> = {
  running: "accent",
  waiting: "warn",
  completed: "ok",
  failed: "bad",
  missed: "warn",
  skipped: "",
};

export function RunBadge({ state }: { state: ScheduleRun["state"] }) {
  return <span className={`badge ${TONES[state]}`}>{useWords(words).states[state]}</span>;
}

/** Where a run can be looked at, or answered. */
export function RunLinks({ run: { pending, callId } }: { run: ScheduleRun }) {
  const w = useWords(words);
  return (
    <>
      {pending?.kind === "approval" || pending?.kind === "question" ? (
        <Link className="button small primary" href={`/approvals/${encodeURIComponent(pending.id)}`}>
          {w.answer}
        </Link>
      ) : null}
      {pending?.kind === "job" ? <Link href={`/jobs/${encodeURIComponent(pending.id)}`}>{w.job}</Link> : null}
      {callId === undefined ? null : <Link href={`/work/${encodeURIComponent(callId)}`}>{w.call}</Link>}
    </>
  );
}

/** The past runs, newest first. */
export function ScheduleRuns({ id }: { id: string }) {
  const w = useWords(words);
  const query = useApi("schedules", "runs", [id, { limit: 50 }]);
  return (
    <div className="stack">
      <h3>{w.runs}</h3>
      <Loaded query={query}>
        {({ items }) => (items.length === 0 ? <p className="muted">{w.none}</p> : <RunTable runs={items} />)}
      </Loaded>
    </div>
  );
}

function RunTable({ runs }: { runs: readonly ScheduleRun[] }) {
  const w = useWords(words);
  const { language } = useLanguage();
  return (
    <div className="scroll-x" role="region" aria-label={w.runs} tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th>{w.number}</th>
            <th>{w.due}</th>
            <th>{w.state}</th>
            <th>{w.took}</th>
            <th>{w.outcome}</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.number}>
              <td className="mono muted">{run.number}</td>
              <td className="muted">{formatDateTime(run.dueAt, language)}</td>
              <td>
                <RunBadge state={run.state} />
              </td>
              <td className="mono muted">
                {run.startedAt === undefined || run.endedAt === undefined
                  ? ""
                  : formatDuration(run.endedAt - run.startedAt)}
              </td>
              <td>
                <span className="row">
                  {run.missed > 0 ? <span className="badge warn">{w.missed(run.missed)}</span> : null}
                  {run.trigger === "request" ? <span className="badge">{w.requested(run.by)}</span> : null}
                  {run.outcome ? <VisibleText text={run.outcome} /> : null}
                  <RunLinks run={run} />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
