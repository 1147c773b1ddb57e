import { Link } from "wouter";
import type { ScheduleRun } from "../../../../src/contracts/schedules.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { formatDateTime, formatDuration } from "../../parts/format.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { Table } from "../../parts/table.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  runs: ["Past runs", "过去的运行"],
  number: ["Run", "序号"],
  due: ["Due", "应在"],
  state: ["State", "状态"],
  took: ["Took", "用时"],
  outcome: ["Result", "结果"],
  states: {
    running: ["running", "运行中"],
    waiting: ["waits", "等待"],
    completed: ["completed", "完成"],
    failed: ["failed", "失败"],
    denied: ["denied", "已拒绝"],
    unknown: ["outcome unknown", "结果未知"],
    missed: ["missed", "错过"],
    skipped: ["skipped", "跳过"],
  },
  missed: (count: number) => [
    `${count < 1000 ? count : "1000 or more"} missed while Haft was not running`,
    `Haft 未运行时错过 ${count < 1000 ? count : "1000 或更多"} 次`,
  ],
  failing: (failed: number, count: number) => [
    failed === count ? `the last ${count} runs all failed` : `${failed} of the last ${count} runs failed`,
    failed === count ? `最近 ${count} 次全部失败` : `最近 ${count} 次中失败 ${failed} 次`,
  ],
  none: ["It has not run yet.", "还没有运行过。"],
  requested: (by: string | undefined) => [
    by === undefined ? "requested" : `requested by ${by}`,
    by === undefined ? "手动运行" : `由 ${by} 要求`,
  ],
  call: ["The call", "查看调用"],
  job: ["The job", "查看作业"],
  answer: ["Answer", "去处理"],
});

const TONES: Record<ScheduleRun["state"], string> = {
  running: "accent",
  waiting: "warn",
  completed: "ok",
  failed: "bad",
  denied: "warn",
  unknown: "warn",
  missed: "warn",
  skipped: "",
};

const FAILURES: ReadonlySet<string> = new Set(["failed", "denied", "unknown"]);

export function RunBadge({ state }: { state: ScheduleRun["state"] }) {
  return <span className={`badge ${TONES[state]}`}>{useWords(words).states[state]}</span>;
}

/** Where a run can be looked at, or answered. */
export function RunLinks({ run: { pending, callId } }: { run: ScheduleRun }) {
  const w = useWords(words);
  return (
    <>
      {pending?.kind === "approval" || pending?.kind === "question" ? (
        <Button look="small primary" text={w.answer} href={`/approvals/${encodeURIComponent(pending.id)}`} />
      ) : null}
      {pending?.kind === "job" ? <Link href={`/jobs/${encodeURIComponent(pending.id)}`}>{w.job}</Link> : null}
      {callId === undefined ? null : <Link href={`/work/${encodeURIComponent(callId)}`}>{w.call}</Link>}
    </>
  );
}

/** The last runs, the newest at the right: whether it fails once or again and again. */
export function FailedRuns({ id }: { id: string }) {
  const w = useWords(words);
  const ended =
    useApi("schedules", "runs", [id, { limit: 10 }]).data?.items.filter(
      ({ state }) => state === "completed" || FAILURES.has(state),
    ) ?? [];
  const failed = ended.filter(({ state }) => FAILURES.has(state)).length;
  if (ended.length < 2) return null;
  return (
    <>
      <span className="inline run-strip" aria-hidden>
        {ended.toReversed().map(({ number, state }) => (
          <i key={number} className={TONES[state]} />
        ))}
      </span>
      {failed < 2 ? null : <span className="badge bad">{w.failing(failed, ended.length)}</span>}
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
    <Table
      label={w.runs}
      rows={runs}
      keyOf={({ number }) => number}
      columns={[
        { head: w.number, look: "mono muted", cell: ({ number }) => number },
        { head: w.due, look: "muted nowrap", cell: ({ dueAt }) => formatDateTime(dueAt, language) },
        { head: w.state, cell: ({ state }) => <RunBadge state={state} /> },
        {
          head: w.took,
          look: "mono muted nowrap",
          cell: ({ startedAt, endedAt }) =>
            startedAt === undefined || endedAt === undefined ? "–" : formatDuration(endedAt - startedAt),
        },
        {
          head: w.outcome,
          cell: (run) => (
            <span className="line">
              {run.missed > 0 ? <span className="badge warn">{w.missed(run.missed)}</span> : null}
              {run.trigger === "request" ? <span className="badge">{w.requested(run.by)}</span> : null}
              {run.outcome ? <VisibleText lang="en" text={run.outcome} /> : null}
              <RunLinks run={run} />
            </span>
          ),
        },
      ]}
    />
  );
}
