import { TriangleAlert } from "lucide-react";
import type { McpServerInfo } from "../../../../src/contracts/mcp.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { formatClock } from "../../parts/format.ts";
import { Sentence } from "../../parts/localized.tsx";
import { useNow } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  attempt: (count: number) => [`Attempt ${count}`, `第 ${count} 次尝试`],
  now: ["connecting now", "正在连接"],
  next: (seconds: number) => [
    seconds > 0 ? `next try in ${seconds} s` : "next try now",
    seconds > 0 ? `${seconds} 秒后重试` : "马上重试",
  ],
  failed: (at: string) => [`failed at ${at}`, `${at} 失败`],
  stderr: ["What it printed last", "它最后的输出"],
  act: (place = "") => [
    `Correct its entry${place && ` in ${place}`}, or what it names, and press Reconnect.`,
    `请修改${place && ` ${place} 中`}它的条目或其中所指的内容，然后点“重新连接”。`,
  ],
});

const SHOWN_LINES = 5;

/** Why a server is not ready, also while it connects again; when it is tried next; what it printed. */
export function ServerProblem({ server }: { server: McpServerInfo }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const { error, attempt, nextTryAt, failedAt, stderr, state } = server;
  const now = useNow(nextTryAt === undefined ? undefined : 1000);
  if (error === undefined) return null;
  const facts = [
    attempt === undefined ? undefined : w.attempt(attempt),
    state === "connecting" ? w.now : undefined,
    nextTryAt === undefined ? undefined : w.next(Math.max(0, Math.ceil((nextTryAt - now) / 1000))),
    failedAt === undefined ? undefined : w.failed(formatClock(failedAt, language)),
  ].filter((fact) => fact !== undefined);
  // What a person can do may follow what happened: it is said once.
  const [what = "", advice = ""] = error.split(/(?<=\))\. (?=[A-Z])/);
  const isFault = state === "unavailable" || state === "connecting";
  // The message often ends with these lines.
  const lines = stderr.slice(-SHOWN_LINES).filter((line) => !error.includes(line.trim()));
  return (
    <div className={`notice ${isFault ? "bad" : "warn"}`}>
      <TriangleAlert size={18} aria-hidden />
      <div className="grow pre mcp-reason">
        <VisibleText as="strong" lang="en" text={what} />
        {advice !== "" ? <Sentence as="p" text={advice} /> : isFault ? <p>{w.act(server.origin)}</p> : null}
        {facts.length > 0 ? <p className="small">{facts.join(" · ")}</p> : null}
        {lines.length > 0 ? (
          <details className="small">
            <summary>{w.stderr}</summary>
            <VisibleText as="pre" text={lines.join("\n")} />
          </details>
        ) : null}
      </div>
    </div>
  );
}
