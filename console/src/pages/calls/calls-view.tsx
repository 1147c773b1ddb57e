import { Activity } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { CallStatus } from "../../../../src/contracts/calls.ts";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { StatusBadge } from "../../parts/badges.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { formatDuration } from "../../parts/format.ts";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { CallDetailView } from "./call-detail.tsx";
import { Waterfall } from "./waterfall.tsx";

const words = defineWords({
  en: {
    title: "Calls",
    lead: "What ran, what waits and how long each part took, newest first.",
    tool: "Tool",
    status: "Status",
    when: "When",
    took: "Took",
    what: "What",
    all: "Any status",
    session: "Session",
    anySession: "All sessions",
    search: "Search words",
    noMatch: "No call matches",
    none: "No calls yet",
    noneLead: "Call a tool from the Tools page, the command line or an agent, and it shows here while it runs.",
    statuses: { completed: "completed", failed: "failed", pending: "asked", running: "running" } as Record<
      string,
      string
    >,
  },
  zh: {
    title: "调用",
    lead: "运行过的、等待中的，以及每一段所用的时间，最新在前。",
    tool: "工具",
    status: "状态",
    when: "时间",
    took: "用时",
    what: "内容",
    all: "任意状态",
    session: "会话",
    anySession: "全部会话",
    search: "搜索词语",
    noMatch: "没有符合条件的调用",
    none: "还没有调用",
    noneLead: "从工具页、命令行或代理调用一个工具，运行时就会显示在这里。",
    statuses: { completed: "完成", failed: "失败", pending: "已询问", running: "运行中" } as Record<string, string>,
  },
});

export default function CallsView() {
  const [location] = useLocation();
  const wanted = location.split("/")[2];
  return wanted ? <CallDetailView callId={decodeURIComponent(wanted)} /> : <CallsList />;
}

function CallsList() {
  const w = useWords(words);
  const [, go] = useLocation();
  const [status, setStatus] = useState<CallStatus | "">("");
  const [session, setSession] = useState("");
  const [search, setSearch] = useState("");
  const isFiltered = status !== "" || session !== "" || search !== "";
  const { data, error, refetch } = useApi("calls", "list", [
    {
      limit: 100,
      status: status === "" ? undefined : [status],
      session: session || undefined,
      search: search || undefined,
    },
  ]);
  const calls = data?.items ?? [];
  const sessions = [...new Set(calls.flatMap(({ caller }) => caller.session ?? []))].sort();
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        <>
          <input
            className="input narrow"
            aria-label={w.search}
            placeholder={w.search}
            value={search}
            onChange={({ target }) => setSearch(target.value)}
          />
          {sessions.length > 0 || session !== "" ? (
            <select
              className="select narrow"
              aria-label={w.session}
              value={session}
              onChange={({ target }) => setSession(target.value)}
            >
              <option value="">{w.anySession}</option>
              {[...new Set([...sessions, ...(session ? [session] : [])])].map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          ) : null}
          <select
            className="select narrow"
            aria-label={w.status}
            value={status}
            onChange={({ target }) => setStatus(target.value as CallStatus | "")}
          >
            <option value="">{w.all}</option>
            {Object.entries(w.statuses).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </>
      }
    >
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      {data && calls.length === 0 ? (
        <div className="panel">
          <Empty icon={Activity} title={isFiltered ? w.noMatch : w.none}>
            {isFiltered ? null : <p>{w.noneLead}</p>}
          </Empty>
        </div>
      ) : null}
      {calls.length > 0 ? (
        <>
          <Waterfall calls={calls.slice(0, 30)} />
          <div className="panel scroll-x">
            <table className="table">
              <thead>
                <tr>
                  <th>{w.tool}</th>
                  <th>{w.status}</th>
                  <th>{w.what}</th>
                  <th>{w.took}</th>
                  <th>{w.when}</th>
                </tr>
              </thead>
              <tbody>
                {calls.map((call) => (
                  <tr
                    key={call.callId}
                    className="link"
                    onClick={() => go(`/calls/${encodeURIComponent(call.callId)}`)}
                  >
                    <td className="mono">
                      <Link href={`/calls/${encodeURIComponent(call.callId)}`}>{call.toolName}</Link>
                    </td>
                    <td>
                      <StatusBadge status={call.status} />
                    </td>
                    <td className="what">
                      <VisibleText text={call.display ?? call.errorCode ?? ""} />
                    </td>
                    <td className="mono muted">
                      {call.durationMs === undefined ? "" : formatDuration(call.durationMs)}
                    </td>
                    <td className="muted">
                      <TimeAgo at={call.requestedAt} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      ) : null}
    </PageFrame>
  );
}
