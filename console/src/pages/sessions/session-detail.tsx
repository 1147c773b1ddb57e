import { ArrowLeft, Send, Square } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import type { ToolResult } from "../../../../src/contracts/basics.ts";
import type { AgentSessionDetail, SessionEntry } from "../../../../src/contracts/sessions.ts";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { SessionEntryView } from "./session-entry.tsx";
import { SessionStateBadge } from "./session-state.tsx";
import { useSessionStream } from "./use-session-stream.ts";

const words = defineWords({
  en: {
    back: "All sessions",
    stop: "Stop",
    send: "Send",
    say: "Say something",
    conversation: "Conversation",
    nothing: "Nothing was said yet.",
    speaking: "It speaks",
    noModel: "No model is configured (agent.model): this session can be read, and nobody answers in it.",
    tokens: (input: number, output: number) => `${input} tokens in, ${output} out`,
    spawned: "Spawned",
    by: "Spawned by",
    waits: "Waits for",
  },
  zh: {
    back: "全部会话",
    stop: "停止",
    send: "发送",
    say: "说点什么",
    conversation: "对话",
    nothing: "还没有内容。",
    speaking: "正在回答",
    noModel: "没有配置模型（agent.model）：可以阅读此会话，但没有人回答。",
    tokens: (input: number, output: number) => `输入 ${input}，输出 ${output} 个 token`,
    spawned: "派生了",
    by: "派生自",
    waits: "等待",
  },
});

export function SessionDetailView({ id }: { id: string }) {
  const w = useWords(words);
  const [problem, setProblem] = useState<Error>();
  const { data: session, error, refetch } = useApi("sessions", "get", [id]);
  const canAnswer = useApi("sessions", "list", [{ limit: 1 }]).data?.canAnswer;
  const { entries, speaking, early } = useSessionStream(id);
  const results = useMemo(() => new Map([...resultsOf(entries), ...early]), [entries, early]);
  const last = entries.at(-1);
  const isAtWork = last !== undefined && last.end === undefined;
  const act = (done: Promise<unknown>): void => {
    setProblem(undefined);
    done.catch(setProblem).finally(() => void queries.invalidateQueries({ queryKey: ["sessions"] }));
  };
  const back = (
    <Link className="button plain" href="/sessions">
      <ArrowLeft size={15} aria-hidden /> {w.back}
    </Link>
  );
  if (error || !session) {
    return error ? (
      <PageFrame title={id} actions={back}>
        <Failure error={error} again={() => void refetch()} />
      </PageFrame>
    ) : null;
  }
  return (
    <PageFrame
      title={session.label ?? id}
      lead={<span className="mono small">{id}</span>}
      actions={
        <>
          {back}
          <SessionStateBadge state={isAtWork ? "running" : session.state} />
          {isAtWork || session.state === "waiting" ? (
            <button className="button danger" onClick={() => act(api.sessions.stop(id))}>
              <Square size={14} aria-hidden /> {w.stop}
            </button>
          ) : null}
        </>
      }
    >
      {problem ? <Failure error={problem} /> : null}
      {canAnswer === false ? <p className="notice warn">{w.noModel}</p> : null}
      <Family session={session} />
      <section className="panel" aria-label={w.conversation}>
        <Conversation entries={entries} speaking={speaking} results={results} />
      </section>
      {canAnswer ? <SayForm say={(text) => act(api.sessions.send(id, { text }))} /> : null}
    </PageFrame>
  );
}

function Conversation(props: { entries: SessionEntry[]; speaking: string; results: ReadonlyMap<string, ToolResult> }) {
  const { entries, speaking, results } = props;
  const w = useWords(words);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // In braces: newer browsers return a promise, which React would take for a cleanup function.
    end.current?.scrollIntoView({ block: "nearest" });
  }, [entries, speaking]);
  return (
    <div className="body chat" role="log" aria-live="polite">
      {entries.length === 0 ? <p className="muted">{w.nothing}</p> : null}
      {entries.map((entry) => (
        <SessionEntryView key={entry.seq} entry={entry} results={results} />
      ))}
      {speaking === "" ? null : (
        <article className="said agent" aria-label={w.speaking}>
          <p className="words">
            <VisibleText text={speaking} />
          </p>
        </article>
      )}
      <div ref={end} className="chat-end" />
    </div>
  );
}

function Family({ session: { parent, children, usage, pending } }: { session: AgentSessionDetail }) {
  const w = useWords(words);
  return (
    <p className="row small muted">
      <span>{w.tokens(usage.inputTokens, usage.outputTokens)}</span>
      {parent === undefined ? null : (
        <span>
          {w.by} <Link href={`/sessions/${encodeURIComponent(parent)}`}>{parent}</Link>
        </span>
      )}
      {children.length === 0 ? null : <span>{w.spawned}</span>}
      {children.map((child) => (
        <Link key={child.key} href={`/sessions/${encodeURIComponent(child.key)}`}>
          {child.label ?? child.key}
        </Link>
      ))}
      {pending.length === 0 ? null : (
        <span>
          {w.waits} <span className="mono">{pending.map(({ name }) => name).join(", ")}</span>
        </span>
      )}
    </p>
  );
}

/** Enter sends, Shift+Enter starts a new line. During IME composition Enter belongs to the composition. */
function SayForm({ say }: { say: (text: string) => void }) {
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
      <button className="button primary" disabled={text.trim() === ""}>
        <Send size={14} aria-hidden /> {w.send}
      </button>
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
