import { ArrowDownLeft, ArrowUpRight } from "lucide-react";
import { useSearchParams } from "wouter";
import type { McpProtocolEntry } from "../../../../src/contracts/mcp.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Choices } from "../../parts/choices.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { formatClock, formatDuration, isoTime } from "../../parts/format.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  which: ["Messages", "消息"],
  kinds: { all: ["All", "全部"], calls: ["Requests and answers", "请求与应答"], errors: ["Errors", "错误"] },
  kind: {
    request: ["request", "请求"],
    response: ["answer", "应答"],
    error: ["error", "错误"],
    notification: ["notification", "通知"],
  },
  sent: ["sent", "发送"],
  received: ["received", "接收"],
  none: ["No messages yet.", "还没有消息。"],
  lead: [
    "The last 200 messages, newest first. Secrets are hidden, and long messages are truncated.",
    "最近 200 条消息，最新在前。密钥已隐藏，长消息会被截断。",
  ],
  copy: ["Copy all", "全部复制"],
});

const FILTERS = ["all", "calls", "errors"] as const;
const LIVE = { everyMs: 1500 };

/** What Haft and a server have said to each other. */
export function ProtocolLog({ server }: { server: string }) {
  const w = useWords(words);
  const [search, setSearch] = useSearchParams();
  const filter = FILTERS.find((each) => each === search.get("messages")) ?? "all";
  const query = useApi("mcp", "protocol", [server, {}], LIVE);
  const matches = ({ kind }: McpProtocolEntry): boolean =>
    filter === "all" || kind === "error" || (filter === "calls" && kind !== "notification");
  return (
    <Loaded query={query}>
      {({ items }) => {
        const shown = items.filter(matches).reverse();
        return (
          <div className="stack">
            <div className="row">
              <Choices
                label={w.which}
                chosen={filter}
                choices={FILTERS.map((each) => [each, w.kinds[each]] as const)}
                onChoose={(each) => setSearch({ tab: "protocol", messages: each }, { replace: true })}
              />
              <CopyButton label={w.copy} text={items.map(({ text }) => text).join("\n")} />
            </div>
            <p className="small muted">{w.lead}</p>
            {shown.length === 0 ? <p className="muted">{w.none}</p> : null}
            <ul className="plain-list mcp-messages" aria-label={w.which}>
              {shown.map((entry) => (
                <li key={entry.number}>
                  <Message entry={entry} />
                </li>
              ))}
            </ul>
          </div>
        );
      }}
    </Loaded>
  );
}

function Message({ entry }: { entry: McpProtocolEntry }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const { direction, kind, method, durationMs, at, text } = entry;
  const Arrow = direction === "sent" ? ArrowUpRight : ArrowDownLeft;
  return (
    <details>
      <summary className="row">
        <Arrow size={15} role="img" aria-label={w[direction]} className={direction === "sent" ? "sent" : "received"} />
        <VisibleText className="mono grow cut" text={method ?? "?"} />
        <span className={`badge ${kind === "error" ? "bad" : ""}`}>{w.kind[kind]}</span>
        <span className="mono small muted">{durationMs === undefined ? "" : formatDuration(durationMs)}</span>
        <time className="small muted" dateTime={isoTime(at)}>
          {formatClock(at, language)}
        </time>
      </summary>
      <VisibleText as="pre" className="code" text={text} />
    </details>
  );
}
