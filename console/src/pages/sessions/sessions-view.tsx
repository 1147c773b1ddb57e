import { MessagesSquare, Plus } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { SessionDetailView } from "./session-detail.tsx";
import { SessionStateBadge } from "./session-state.tsx";

const words = defineWords({
  en: {
    title: "Sessions",
    lead: "Conversations with agents: what was said and done, what waits, and what they spawned.",
    begin: "New session",
    name: "Session",
    state: "State",
    said: "Said last",
    turns: "Turns",
    when: "Changed",
    none: "No sessions yet",
    noneLead: "Begin one here, or with: haft sessions send --new NAME TEXT",
    noModel: "No model is configured (agent.model): sessions can be read, and nobody answers in them.",
  },
  zh: {
    title: "会话",
    lead: "与代理的对话：说过和做过什么、在等什么、派生了什么。",
    begin: "新会话",
    name: "会话",
    state: "状态",
    said: "最后说的",
    turns: "轮次",
    when: "更新",
    none: "还没有会话",
    noneLead: "在这里开始一个，或用：haft sessions send --new NAME TEXT",
    noModel: "没有配置模型（agent.model）：可以阅读会话，但没有人回答。",
  },
});

export default function SessionsView() {
  const [location] = useLocation();
  const wanted = location.split("/")[2];
  return wanted ? <SessionDetailView id={decodeURIComponent(wanted)} /> : <SessionsList />;
}

function SessionsList() {
  const w = useWords(words);
  const [, go] = useLocation();
  const [problem, setProblem] = useState<Error>();
  const { data, error, refetch } = useApi("sessions", "list", [{ limit: 200 }]);
  const begin = (): void => {
    setProblem(undefined);
    api.sessions
      .create()
      .then(({ key }) => {
        void queries.invalidateQueries({ queryKey: ["sessions"] });
        go(addressOf(key));
      })
      .catch(setProblem);
  };
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        data?.canAnswer ? (
          <button className="button primary" onClick={begin}>
            <Plus size={15} aria-hidden /> {w.begin}
          </button>
        ) : null
      }
    >
      {(error ?? problem) ? <Failure error={(error ?? problem)!} again={() => void refetch()} /> : null}
      {data?.canAnswer === false ? <p className="notice warn">{w.noModel}</p> : null}
      {data?.items.length === 0 ? (
        <div className="panel">
          <Empty icon={MessagesSquare} title={w.none}>
            <p>{w.noneLead}</p>
          </Empty>
        </div>
      ) : null}
      {data && data.items.length > 0 ? (
        <div className="panel scroll-x">
          <table className="table">
            <thead>
              <tr>
                <th>{w.name}</th>
                <th>{w.state}</th>
                <th>{w.said}</th>
                <th>{w.turns}</th>
                <th>{w.when}</th>
              </tr>
            </thead>
            <tbody>
              {data.items.map((session) => (
                <tr key={session.key} className="link" onClick={() => go(addressOf(session.key))}>
                  <td>
                    <Link href={addressOf(session.key)}>
                      <VisibleText text={session.label ?? session.key} />
                    </Link>
                  </td>
                  <td>
                    <SessionStateBadge state={session.state} />
                  </td>
                  <td className="what">
                    <VisibleText text={session.error ?? session.lastText ?? ""} />
                  </td>
                  <td className="mono muted">{session.turns}</td>
                  <td className="muted">
                    <TimeAgo at={session.updatedAt} />
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

function addressOf(key: string): string {
  return `/sessions/${encodeURIComponent(key)}`;
}
