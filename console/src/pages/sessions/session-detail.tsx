import { ArrowLeft, Send, Square } from "lucide-react";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import type { ToolResult } from "../../../../src/contracts/basics.ts";
import type { AgentSessionDetail, AgentSessionInfo, SessionEntry } from "../../../../src/contracts/sessions.ts";
import { api, useApi, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { countOf } from "../../parts/format.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { Said, SessionEntryView } from "./session-entry.tsx";
import { SessionQuestions } from "./session-questions.tsx";
import { SessionStateBadge, SessionUsage } from "./session-state.tsx";
import { addressOfSession, treeOf } from "./session-tree.ts";
import { TodoList } from "./todo-list.tsx";
import { type StreamedSession, useSessionStream } from "./use-session-stream.ts";

const words = defineWords({
  back: ["All sessions", "全部会话"],
  stop: ["Stop", "停止"],
  send: ["Send", "发送"],
  say: ["Say something", "说点什么"],
  conversation: ["Conversation", "对话"],
  nothing: ["Nothing was said yet.", "还没有内容。"],
  speaking: ["It speaks", "正在回答"],
  noModel: [
    "No model is configured (agent.model): this session can be read, but it cannot reply.",
    "没有配置模型（agent.model）：可以查看此会话，但无法回复。",
  ],
  family: ["Sessions of this task", "此任务的会话"],
  waits: ["Waits for", "等待"],
  inbox: (count: number) => [countOf(count, "message is next", "messages are next"), `接下来有 ${count} 条消息`],
  here: ["this one", "当前"],
});

const LIVE = { everyMs: 5000 };

export function SessionDetailView({ id }: { id: string }) {
  const w = useWords(words);
  const query = useApi("sessions", "get", [id], LIVE);
  const stream = useSessionStream(id);
  const { data } = query;
  const session = data && observed(data, stream.entries);
  const [failure, act] = useAction("sessions");
  const stop = (): void => act(api.sessions.stop(id));
  const mayCall = useScope("call");
  const isActive = session?.state === "running" || session?.state === "waiting";
  return (
    <PageFrame
      title={session?.label ?? id}
      lead={<span className="mono small">{id}</span>}
      actions={
        <>
          <Button look="plain" icon={ArrowLeft} text={w.back} href="/sessions" />
          {session ? <SessionStateBadge session={session} /> : null}
          {isActive && mayCall ? <Button look="danger" icon={Square} text={w.stop} onClick={stop} /> : null}
        </>
      }
    >
      {failure}
      <Loaded query={{ ...query, data: session }}>
        {(shown) => (
          <SessionBody session={shown} stream={stream} say={(text) => act(api.sessions.send(id, { text }))} />
        )}
      </Loaded>
    </PageFrame>
  );
}

/** The stream shows the begin of a turn a moment before the session is fetched again. */
function observed(session: AgentSessionDetail, entries: readonly SessionEntry[]): AgentSessionDetail {
  const last = entries.at(-1);
  const hasBegun =
    session.state === "idle" && last !== undefined && last.end === undefined && last.turn > session.turns;
  return hasBegun ? { ...session, state: "running" } : session;
}

function SessionBody(props: { session: AgentSessionDetail; stream: StreamedSession; say: (text: string) => void }) {
  const { session, stream, say } = props;
  const w = useWords(words);
  const field = useRef<HTMLTextAreaElement>(null);
  const canAnswer = useApi("sessions", "list", [{ limit: 1 }]).data?.canAnswer;
  const maySay = useScope("call") && canAnswer === true;
  const { entries, early } = stream;
  const results = useMemo(() => new Map([...resultsOf(entries), ...early]), [entries, early]);
  const asked = useMemo(() => new Set(session.questions.map(({ callId }) => callId)), [session.questions]);
  const pending = session.pending.filter(({ callId }) => !asked.has(callId));
  useKeys(maySay ? { m: { label: w.say, run: () => field.current?.focus() } } : {});
  return (
    <>
      {canAnswer === false ? <p className="notice warn">{w.noModel}</p> : null}
      <p className="row small muted">
        <SessionUsage usage={session.usage} />
        {session.waiting > 0 ? <span>· {w.inbox(session.waiting)}</span> : null}
        {pending.length > 0 ? (
          <span>
            · {w.waits} <span className="mono">{pending.map(({ name }) => name).join(", ")}</span>
          </span>
        ) : null}
      </p>
      <TodoList items={session.todos} />
      <Family sessions={session.family} current={session.key} />
      <section className="panel" aria-label={w.conversation}>
        <Conversation stream={stream} results={results} asked={asked} />
        <SessionQuestions session={session} />
        <End stream={stream} asked={asked.size} />
      </section>
      {maySay ? <SayForm say={say} field={field} /> : null}
    </>
  );
}

function Conversation(props: {
  stream: StreamedSession;
  results: ReadonlyMap<string, ToolResult>;
  asked: ReadonlySet<string>;
}) {
  const { entries, speaking } = props.stream;
  const w = useWords(words);
  return (
    <div className="body stack chat" role="log" aria-live="polite">
      {entries.length === 0 ? <p className="muted">{w.nothing}</p> : null}
      {entries.map((entry) => (
        <SessionEntryView key={entry.seq} entry={entry} results={props.results} asked={props.asked} />
      ))}
      {speaking === "" ? null : (
        <article className="stack said agent" aria-label={w.speaking}>
          <Said text={speaking} />
        </article>
      )}
    </div>
  );
}

/** What came last stays in view: the words, or the question that they lead to. */
function End({ stream: { entries, speaking }, asked }: { stream: StreamedSession; asked: number }) {
  const end = useRef<HTMLDivElement>(null);
  // Newer browsers return a promise, which is no clean-up.
  useEffect(() => {
    end.current?.scrollIntoView({ block: "nearest" });
  }, [entries, speaking, asked]);
  return <div ref={end} className="chat-end" />;
}

/** The sessions that belong together, as a tree. A session that is alone needs none. */
function Family({ sessions, current }: { sessions: readonly AgentSessionInfo[]; current: string }) {
  const w = useWords(words);
  if (sessions.length < 2) return null;
  return (
    <nav className="panel" aria-label={w.family}>
      <header>
        <h2>{w.family}</h2>
      </header>
      <ul className="plain-list">
        {treeOf(sessions).map(({ session, depth }) => (
          <li key={session.key} className={`list-row depth-${Math.min(depth, 4)}`}>
            <div className="line list-head">
              {session.key === current ? (
                <strong className="cut session-name" aria-current="page">
                  <VisibleText text={session.label ?? session.key} /> <span className="muted">({w.here})</span>
                </strong>
              ) : (
                <Link className="cut session-name" href={addressOfSession(session.key)}>
                  <VisibleText text={session.label ?? session.key} />
                </Link>
              )}
              <SessionStateBadge session={session} />
            </div>
            <div className="line list-facts small muted">
              <SessionUsage usage={session.usage} />
            </div>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Enter sends, Shift+Enter starts a new line. During IME composition Enter belongs to the composition. */
function SayForm({ say, field }: { say: (text: string) => void; field: RefObject<HTMLTextAreaElement | null> }) {
  const w = useWords(words);
  const [text, setText] = useState("");
  const submit = (): void => {
    if (text.trim() === "") return;
    say(text);
    setText("");
  };
  return (
    <form
      className="say row"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={field}
        className="textarea grow"
        rows={2}
        aria-label={w.say}
        placeholder={w.say}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      <Button look="primary" icon={Send} type="submit" text={w.send} disabled={text.trim() === ""} />
    </form>
  );
}

/** The last known result of each call. A late result replaces `pending`. */
function resultsOf(entries: readonly SessionEntry[]): Map<string, ToolResult> {
  const results = new Map<string, ToolResult>();
  for (const { message, incoming } of entries) {
    if (message?.role === "tool") for (const result of message.results) results.set(result.callId, result);
    if (incoming?.result) results.set(incoming.result.callId, incoming.result);
  }
  return results;
}
