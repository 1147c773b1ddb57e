import { Ban, CircleCheck, CircleX, Hourglass, LoaderCircle, type LucideIcon } from "lucide-react";
import type { AgentSessionInfo, SessionState } from "../../../../src/contracts/sessions.ts";
import { defineWords, type Pair, useLanguage, useWords } from "../../language.tsx";
import { formatNumber } from "../../parts/format.ts";

export const stateWords = defineWords<Record<SessionState, Pair>>({
  idle: ["idle", "空闲"],
  running: ["at work", "工作中"],
  waiting: ["waiting", "等待中"],
  stopped: ["stopped", "已停止"],
  failed: ["failed", "失败"],
});

const words = defineWords({
  forYou: (count: number) => [
    count > 1 ? `waits for you (${count})` : "waits for you",
    count > 1 ? `等你处理（${count}）` : "等你处理",
  ],
  tokens: (input: string, output: string) => [
    `${input} tokens in, ${output} out`,
    `输入 ${input}，输出 ${output} 个 token`,
  ],
});

const LOOKS: Record<SessionState, readonly [tone: string, icon: LucideIcon]> = {
  idle: ["ok", CircleCheck],
  running: ["accent", LoaderCircle],
  waiting: ["warn", Hourglass],
  stopped: ["", Ban],
  failed: ["bad", CircleX],
};

/** A session that waits for a person says so; others wait for a job or a client. */
export function SessionStateBadge({ session }: { session: Pick<AgentSessionInfo, "state" | "questionCount"> }) {
  const states = useWords(stateWords);
  const w = useWords(words);
  const [tone, Icon] = LOOKS[session.state];
  return (
    <span className={`badge ${tone}`}>
      <Icon size={12} aria-hidden />
      {session.questionCount > 0 ? w.forYou(session.questionCount) : states[session.state]}
    </span>
  );
}

/** What a session has used so far. */
export function SessionUsage({ usage }: { usage: AgentSessionInfo["usage"] }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const { inputTokens, outputTokens, costUsd } = usage;
  return (
    <span className="session-usage">
      {w.tokens(formatNumber(inputTokens, language), formatNumber(outputTokens, language))}
      {costUsd === undefined ? null : <strong className="mono">{` · ${formatCost(costUsd)}`}</strong>}
    </span>
  );
}

/** `$1.24`, and more digits for small amounts. */
function formatCost(usd: number): string {
  return `$${usd.toFixed(usd >= 1 || usd === 0 ? 2 : 4)}`;
}
