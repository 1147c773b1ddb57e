import { useState } from "react";
import { Link } from "wouter";
import type { ScheduleRun } from "../../../../src/contracts/schedules.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { formatDuration } from "../../parts/format.ts";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  en: {
    runs: "Past runs",
    number: "Run",
    due: "Due",
    state: "State",
    took: "Took",
    outcome: "What came of it",
    states: {
      running: "running",
      waiting: "waits",
      completed: "completed",
      failed: "failed",
      missed: "missed",
      skipped: "skipped",
    },
    missed: (count: number) => `${count < 1000 ? count : "1000 or more"} missed while nobody was running`,
    requested: (by: string) => `asked for by ${by}`,
    call: "call",
    answer: "answer it",
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
    missed: (count: number) => `无人运行时错过 ${count < 1000 ? count : "1000 或更多"} 次`,
    requested: (by: string) => `由 ${by} 要求`,
    call: "调用",
    answer: "去处理",
  },
});

const TONES: Record<ScheduleRun["state"], string> = {
  running: "accent pulse",
  waiting: "warn",
  completed: "ok",
  failed: "bad",
  missed: "warn",
  skipped: "",
};

export function RunBadge({ state }: { state: ScheduleRun["state"] }) {
  return <span className={`badge ${TONES[state]}`}>{useWords(words).states[state]}</span>;
}

/** Fetched when the list is opened. */
export function ScheduleRuns({ id }: { id: string }) {
  const w = useWords(words);
  const [isOpen, setOpen] = useState(false);
  const { data } = useApi("schedules", "runs", isOpen ? [id, { limit: 50 }] : undefined);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{w.runs}</summary>
      {data ? <RunTable runs={data.items} /> : null}
    </details>
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
              <td className="muted">{new Date(run.dueAt).toLocaleString(language)}</td>
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
                  {run.trigger === "request" ? <span className="badge">{w.requested(run.by ?? "?")}</span> : null}
                  {run.outcome ? <VisibleText text={run.outcome} /> : null}
                  {run.pending?.kind === "approval" ? (
                    <Link href={`/approvals/${run.pending.id}`}>{w.answer}</Link>
                  ) : run.callId ? (
                    <Link href={`/calls/${encodeURIComponent(run.callId)}`}>{w.call}</Link>
                  ) : null}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
