import { Bot, CornerDownRight, User, Wrench } from "lucide-react";
import { lazy, Suspense } from "react";
import { Link } from "wouter";
import type { ToolResult } from "../../../../src/contracts/basics.ts";
import type { SessionEntry } from "../../../../src/contracts/sessions.ts";
import { useApi } from "../../api.ts";
import { defineWords, type Pair, useWords } from "../../language.tsx";
import { loadWithRetry } from "../../lazy-page.tsx";
import { StatusBadge } from "../../parts/badges.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  user: ["You", "你"],
  assistant: ["Agent", "代理"],
  runtime: ["Runtime", "运行时"],
  from: {
    message: ["Another session", "另一个会话"],
    announce: ["Report", "报告"],
    wake: ["Schedule", "定时"],
    result: ["Late result", "迟到的结果"],
  },
  thinking: ["What it thought", "它的思考"],
  input: ["Input", "输入"],
  call: ["The call", "查看调用"],
  asks: ["waiting for you", "等你处理"],
  ended: {
    aborted: ["stopped", "已停止"],
    error: ["failed", "失败"],
    limit: ["reached a limit", "达到上限"],
    loop: ["kept repeating itself", "一直在重复"],
  } as Record<string, Pair>,
  turn: ["The turn", "本轮"],
});

const Markdown = lazy(() => loadWithRetry(() => import("../../parts/markdown.tsx")));

/** What somebody said, drawn as Markdown. */
export function Said({ text }: { text: string }) {
  return (
    <Suspense fallback={<VisibleText as="p" className="pre words" text={text} />}>
      <Markdown text={text} />
    </Suspense>
  );
}

type Part = Exclude<Extract<NonNullable<SessionEntry["message"]>, { content: unknown }>["content"], string>[number];

/** One entry of the conversation. Calls are shown in the message that made them, with their results. */
export function SessionEntryView(props: {
  entry: SessionEntry;
  results: ReadonlyMap<string, ToolResult>;
  /** The calls that a person is asked about. */
  asked: ReadonlySet<string>;
}) {
  const w = useWords(words);
  const { message, incoming, end } = props.entry;
  const me = useApi("session", "show", []).data?.name;
  if (end && w.ended[end.stop] !== undefined) {
    return (
      <p className={`notice ${end.stop === "aborted" ? "warn" : "bad"}`}>
        {w.turn}: {w.ended[end.stop]}
        {end.error ? (
          <>
            {" · "}
            <VisibleText text={end.error} />
          </>
        ) : null}
      </p>
    );
  }
  if (!message || message.role === "tool") return null;
  const isPerson = message.role === "user" && incoming?.kind === "message" && incoming.from?.session === undefined;
  const isAgent = message.role === "assistant";
  const name = isAgent
    ? w.assistant
    : isPerson
      ? incoming?.from?.user === me
        ? w.user
        : (incoming?.from?.user ?? w.user)
      : incoming
        ? w.from[incoming.kind]
        : w.runtime;
  const parts: readonly Part[] =
    typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
  const Icon = isAgent ? Bot : isPerson ? User : CornerDownRight;
  return (
    <article className={`stack said ${isAgent ? "agent" : isPerson ? "person" : "runtime"}`} aria-label={name}>
      <header className="row small muted">
        <Icon size={14} aria-hidden /> {name}
      </header>
      {parts.map((part, at) => (
        <PartView key={at} part={part} results={props.results} asked={props.asked} />
      ))}
    </article>
  );
}

function PartView(props: { part: Part; results: ReadonlyMap<string, ToolResult>; asked: ReadonlySet<string> }) {
  const { part } = props;
  const w = useWords(words);
  switch (part.type) {
    case "text":
      return <Said text={part.text} />;
    case "reasoning":
      return (
        <details>
          <summary className="muted small">{w.thinking}</summary>
          <Said text={part.text} />
        </details>
      );
    case "image":
      return <p className="mono small muted">{part.mimeType}</p>;
    case "tool_call":
      return <CallView part={part} result={props.results.get(part.callId)} isAsked={props.asked.has(part.callId)} />;
  }
}

function CallView(props: {
  part: Extract<Part, { type: "tool_call" }>;
  result: ToolResult | undefined;
  isAsked: boolean;
}) {
  const { part, result, isAsked } = props;
  const w = useWords(words);
  return (
    <div className="call-line">
      <div className="row">
        <Wrench size={14} aria-hidden />
        <VisibleText className="mono" text={part.name} />
        {isAsked ? <span className="badge warn">{w.asks}</span> : <StatusBadge status={result?.status ?? "running"} />}
        <Link className="small" href={`/work/${encodeURIComponent(part.callId)}`}>
          {w.call}
        </Link>
      </div>
      {result && !isAsked && result.status !== "pending" ? <ResultLine input={part.input} result={result} /> : null}
      <details>
        <summary className="muted small">{w.input}</summary>
        <JsonView value={part.input} />
      </details>
    </div>
  );
}

/** What the call gave, in a line. Of a question to the user: the question too. */
function ResultLine({ input, result }: { input: unknown; result: ToolResult }) {
  const isQuestion = result.toolName === "ask_user" && result.status === "completed";
  const { questions } = (isQuestion ? input : {}) as { questions?: readonly { question?: unknown }[] };
  const asked = Array.isArray(questions) ? questions.map(({ question }) => String(question)) : [];
  return (
    <>
      {asked.length > 0 ? <VisibleText as="p" className="small pre words" text={asked.join(" ")} /> : null}
      <p className={isQuestion ? "small pre words" : "small muted cut"} lang={isQuestion ? undefined : "en"}>
        {isQuestion ? "→ " : null}
        <VisibleText text={result.display} />
      </p>
    </>
  );
}
