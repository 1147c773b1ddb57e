import { ListTodo } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { JobState } from "../../../../src/contracts/jobs.ts";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { formatDuration } from "../../parts/format.ts";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { JobDetailView } from "./job-detail.tsx";
import { JobProgress, JobStateBadge, stateWords } from "./job-state.tsx";

const words = defineWords({
  en: {
    title: "Jobs",
    lead: "Background calls of all worker processes, newest first.",
    state: "State",
    all: "Any state",
    tool: "Tool",
    what: "What",
    tries: "Tries",
    took: "Took",
    when: "When",
    none: "No jobs",
    noneLead: "Calls of background tools, and calls that ask for it, are queued here.",
  },
  zh: {
    title: "作业",
    lead: "在后台运行的调用，由任何一个工作进程执行，最新在前。",
    state: "状态",
    all: "任意状态",
    tool: "工具",
    what: "内容",
    tries: "次数",
    took: "用时",
    when: "时间",
    none: "没有作业",
    noneLead: "后台模式的工具，或要求在后台运行的调用，会在这里排队，结果稍后到达。",
  },
});

/** Other processes run jobs too, and their events do not arrive here. */
const LIVE = { everyMs: 5000 };

export default function JobsView() {
  const [location] = useLocation();
  const wanted = location.split("/")[2];
  return wanted ? <JobDetailView key={wanted} id={decodeURIComponent(wanted)} /> : <JobsList />;
}

function JobsList() {
  const w = useWords(words);
  const states = useWords(stateWords);
  const [, go] = useLocation();
  const [state, setState] = useState<JobState | "">("");
  const { data, error, refetch } = useApi(
    "jobs",
    "list",
    [{ limit: 100, state: state === "" ? undefined : [state] }],
    LIVE,
  );
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        <select
          className="select narrow"
          aria-label={w.state}
          value={state}
          onChange={({ target }) => setState(target.value as JobState | "")}
        >
          <option value="">{w.all}</option>
          {(Object.keys(states) as JobState[]).map((name) => (
            <option key={name} value={name}>
              {states[name]} {data?.counts[name] ?? 0}
            </option>
          ))}
        </select>
      }
    >
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      {data?.items.length === 0 ? (
        <div className="panel">
          <Empty icon={ListTodo} title={w.none}>
            <p>{w.noneLead}</p>
          </Empty>
        </div>
      ) : null}
      {data && data.items.length > 0 ? (
        <div className="panel scroll-x">
          <table className="table">
            <thead>
              <tr>
                <th>{w.tool}</th>
                <th>{w.state}</th>
                <th>{w.what}</th>
                <th>{w.tries}</th>
                <th>{w.took}</th>
                <th>{w.when}</th>
              </tr>
            </thead>
            <tbody>
              {data.items.map((job) => (
                <tr key={job.id} className="link" onClick={() => go(`/jobs/${encodeURIComponent(job.id)}`)}>
                  <td className="mono">
                    <Link href={`/jobs/${encodeURIComponent(job.id)}`}>{job.toolName}</Link>
                  </td>
                  <td>
                    <JobStateBadge state={job.state} />
                  </td>
                  <td className="what">
                    <JobProgress job={job} />
                    <VisibleText text={job.display ?? ""} />
                  </td>
                  <td className="mono muted">{`${job.attempt}/${job.attempts}`}</td>
                  <td className="mono muted">
                    {job.startedAt === undefined || job.endedAt === undefined
                      ? ""
                      : formatDuration(job.endedAt - job.startedAt)}
                  </td>
                  <td className="muted">
                    <TimeAgo at={job.createdAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </PageFrame>
  );
}
