import { CornerDownRight, MessagesSquare, Plus } from "lucide-react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { AgentSessionInfo, SessionQuestion, SessionState } from "../../../../src/contracts/sessions.ts";
import { api, useApi, useScope } from "../../api.ts";
import { pathPart } from "../../hash-location.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { countOf } from "../../parts/format.ts";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Choices } from "../../parts/choices.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { useRowKeys } from "../../parts/use-row-keys.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { SessionDetailView } from "./session-detail.tsx";
import { SessionStateBadge, SessionUsage, stateWords } from "./session-state.tsx";
import { addressOfSession, type TreeRow, treeOf } from "./session-tree.ts";
import "./sessions.css";

const words = defineWords({
  title: ["Sessions", "会话"],
  lead: [
    "Conversations with agents: messages, calls, what they wait for, and what they started.",
    "与代理的对话：消息、调用、正在等待的内容，以及启动的会话。",
  ],
  begin: ["New session", "新会话"],
  state: ["State", "状态"],
  all: ["All", "全部"],
  list: ["Sessions", "会话"],
  turns: (count: number) => [countOf(count, "turn"), `${count} 轮`],
  answer: ["Answer", "处理"],
  none: ["No sessions yet", "还没有会话"],
  noneLead: [
    "Start one here, or with: haft sessions send --new NAME TEXT",
    "在这里开始一个，或用：haft sessions send --new NAME TEXT",
  ],
  noneOf: ["No session is in this state", "没有处于此状态的会话"],
  noModel: [
    "No model is configured (agent.model): sessions can be read, but they cannot reply.",
    "没有配置模型（agent.model）：可以查看会话，但无法回复。",
  ],
});

/** Turns of other processes without calls cause no event. */
const LIVE = { everyMs: 5000 };
const STATES = ["waiting", "running", "idle", "failed", "stopped"] as const satisfies readonly SessionState[];

export default function SessionsView() {
  const [location] = useLocation();
  const wanted = pathPart(location, 2);
  return wanted ? <SessionDetailView key={wanted} id={wanted} /> : <SessionsList />;
}

function SessionsList() {
  const w = useWords(words);
  const states = useWords(stateWords);
  const [, go] = useLocation();
  const [search, setSearch] = useSearchParams();
  const state = STATES.find((each) => each === search.get("state"));
  const [failure, act] = useAction("sessions");
  const query = useApi("sessions", "list", [{ limit: 200, state }], LIVE);
  const all = useApi("sessions", "list", [{ limit: 200 }], LIVE).data;
  const countOfState = (wanted?: SessionState): number | undefined =>
    all && all.items.length < 200
      ? all.items.filter((each) => wanted === undefined || each.state === wanted).length
      : undefined;
  const canAnswer = query.data?.canAnswer;
  const mayBegin = useScope("call") && canAnswer === true;
  const begin = (): void => act(api.sessions.create(), ({ key }) => go(addressOfSession(key)));
  useKeys(mayBegin ? { n: { label: w.begin, run: begin } } : {});
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={mayBegin ? <Button look="primary" icon={Plus} hotkey="n" text={w.begin} onClick={begin} /> : null}
    >
      {failure}
      {canAnswer === false ? <p className="notice warn">{w.noModel}</p> : null}
      <Choices
        label={w.state}
        chosen={state ?? "all"}
        choices={[
          ["all", w.all, countOfState()],
          ...STATES.map((each) => [each, states[each], countOfState(each)] as const),
        ]}
        onChoose={(each) => setSearch(each === "all" ? {} : { state: each })}
      />
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              isPanel
              icon={MessagesSquare}
              title={state === undefined ? w.none : w.noneOf}
              lead={state === undefined ? w.noneLead : undefined}
            />
          ) : (
            <SessionRows rows={treeOf(items.toSorted(byWait))} />
          )
        }
      </Loaded>
    </PageFrame>
  );
}

/** Those that wait for a person first. */
function byWait(one: AgentSessionInfo, other: AgentSessionInfo): number {
  return Number(other.questionCount > 0) - Number(one.questionCount > 0);
}

function SessionRows({ rows }: { rows: readonly TreeRow[] }) {
  const w = useWords(words);
  const list = useRowKeys<HTMLUListElement>();
  return (
    <ul ref={list} className="panel plain-list" aria-label={w.list}>
      {rows.map(({ session, depth }) => (
        <li key={session.key} className={`list-row depth-${Math.min(depth, 4)}`}>
          <div className="line list-head">
            {depth > 0 ? <CornerDownRight size={14} className="muted" aria-hidden /> : null}
            <Link data-row className="cut session-name" href={addressOfSession(session.key)}>
              <VisibleText text={session.label ?? session.key} />
            </Link>
            <SessionStateBadge session={session} />
          </div>
          <div className="line list-facts small muted">
            <span>{w.turns(session.turns)}</span>
            <SessionUsage usage={session.usage} />
            <TimeAgo at={session.updatedAt} />
          </div>
          {session.questions[0] ? (
            <QuestionLine question={session.questions[0]} href={addressOfSession(session.key)} />
          ) : (
            <VisibleText
              as="p"
              className="session-last small muted cut"
              text={session.error ?? session.lastText?.replaceAll(/[*`#|]+|-{3,}/g, "") ?? ""}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

/** What the person is asked, and a way to the answer. */
function QuestionLine({ question, href }: { question: SessionQuestion; href: string }) {
  const w = useWords(words);
  return (
    <div className="line session-question">
      <RiskBadge level={question.risk} short />
      <VisibleText className="mono small muted" text={question.toolName} />
      <CallSubject subject={question.subject} />
      <Button look="small primary" text={w.answer} href={href} />
    </div>
  );
}
