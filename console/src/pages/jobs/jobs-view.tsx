import { ListTodo, RotateCw, Square } from "lucide-react";
import { useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { JobInfo, JobState } from "../../../../src/contracts/jobs.ts";
import { api, useApi, useScope } from "../../api.ts";
import { pathPart } from "../../hash-location.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Choices } from "../../parts/choices.tsx";
import { Empty } from "../../parts/empty.tsx";
import { formatDuration } from "../../parts/format.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useRowKeys } from "../../parts/use-row-keys.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { JobDetailView } from "./job-detail.tsx";
import { JobProgress, JobStateBadge, JobWaitText, stateWords } from "./job-state.tsx";
import "./jobs.css";

const words = defineWords({
  title: ["Jobs", "作业"],
  lead: ["Background calls of all processes, newest first.", "所有工作进程在后台运行的调用，最新在前。"],
  state: ["State", "状态"],
  all: ["All", "全部"],
  tool: ["Only of this tool", "只看此工具"],
  list: ["Jobs", "作业"],
  tries: (attempt: number, attempts: number) => [`attempt ${attempt} of ${attempts}`, `第 ${attempt} / ${attempts} 次`],
  more: ["Older jobs", "更早的作业"],
  cancel: ["Cancel", "取消"],
  retry: ["Run again", "再次运行"],
  none: ["No jobs", "没有作业"],
  noneLead: [
    "Calls of background tools, and calls with the background option, are queued here.",
    "后台工具的调用，以及选择在后台运行的调用，会在这里排队。",
  ],
  noneOf: ["No job matches", "没有符合条件的作业"],
});

/** Other processes run jobs too, and not each of their changes is an event. */
const LIVE = { everyMs: 3000 };
const STEP = 100;

export default function JobsView() {
  const [location] = useLocation();
  const wanted = pathPart(location, 2);
  return wanted ? <JobDetailView key={wanted} id={wanted} /> : <JobsList />;
}

function JobsList() {
  const w = useWords(words);
  const states = useWords(stateWords);
  const names = Object.keys(states) as JobState[];
  const [search, setSearch] = useSearchParams();
  const state = names.find((name) => name === search.get("state"));
  const tool = search.get("tool") ?? "";
  const [count, setCount] = useState(STEP);
  const query = useApi(
    "jobs",
    "list",
    [{ limit: Math.min(count, 500), state: state && [state], tool: tool || undefined }],
    LIVE,
  );
  const choose = (change: { state?: string; tool?: string }): void => {
    const wanted = { state, tool, ...change };
    setSearch(Object.fromEntries(Object.entries(wanted).filter(([, value]) => value)) as Record<string, string>, {
      replace: change.tool !== undefined,
    });
  };
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        <SearchBox className="job-filter" label={w.tool} value={tool} onChange={(value) => choose({ tool: value })} />
      }
    >
      <Choices
        label={w.state}
        chosen={state ?? "all"}
        choices={[["all", w.all], ...names.map((name) => [name, states[name], query.data?.counts[name] ?? 0] as const)]}
        onChoose={(name) => choose({ state: name === "all" ? undefined : name })}
      />
      <Loaded query={query}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty
              isPanel
              icon={ListTodo}
              title={state || tool ? w.noneOf : w.none}
              lead={state || tool ? undefined : w.noneLead}
            />
          ) : (
            <>
              <JobRows jobs={items} />
              {next !== undefined && count < 500 ? (
                <Button text={w.more} onClick={() => setCount(count + STEP)} />
              ) : null}
            </>
          )
        }
      </Loaded>
    </PageFrame>
  );
}

function JobRows({ jobs }: { jobs: readonly JobInfo[] }) {
  const w = useWords(words);
  const mayCall = useScope("call");
  const list = useRowKeys<HTMLUListElement>();
  const [failure, act] = useAction("jobs");
  return (
    <>
      {failure}
      <ul ref={list} className="panel plain-list" aria-label={w.list}>
        {jobs.map((job) => (
          <li key={job.id} className="list-row" aria-label={`${job.toolName} ${job.subject.text}`}>
            <div className="line list-head">
              <JobStateBadge state={job.state} />
              <Link data-row className="mono job-name" href={`/jobs/${encodeURIComponent(job.id)}`}>
                <VisibleText text={job.toolName} />
              </Link>
              <CallSubject subject={job.subject} />
            </div>
            <div className="line list-facts small muted">
              <RiskBadge level={job.risk} short />
              {job.attempt > 1 ? <span>{w.tries(job.attempt, job.attempts)}</span> : null}
              {job.startedAt !== undefined && job.endedAt !== undefined ? (
                <span className="mono">{formatDuration(job.endedAt - job.startedAt)}</span>
              ) : null}
              <TimeAgo at={job.createdAt} />
              {!mayCall ? null : job.endedAt === undefined ? (
                <Button look="small danger" icon={Square} onClick={() => act(api.jobs.cancel(job.id))}>
                  {w.cancel}
                </Button>
              ) : (
                <Button look="small" icon={RotateCw} text={w.retry} onClick={() => act(api.jobs.retry(job.id))} />
              )}
            </div>
            <div className="job-more small muted">
              <JobWaitText job={job} />
              <JobProgress job={job} />
              {job.display ? <VisibleText className="cut" text={job.display} /> : null}
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}
