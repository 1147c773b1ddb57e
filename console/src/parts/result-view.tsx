import { endpointUrl } from "../api.ts";
import { Link } from "wouter";
import type { ToolResult } from "../../../src/contracts/basics.ts";
import { defineWords, useWords } from "../language.tsx";
import { StatusBadge } from "./badges.tsx";
import { Button } from "./button.tsx";
import { ContentView } from "./content-view.tsx";
import { countOf, formatDuration } from "./format.ts";
import { JsonView } from "./json-view.tsx";

const words = defineWords({
  requested: ["The call waits for approval and runs when it is approved.", "此调用需要批准，批准后才会运行。"],
  answer: ["Answer it", "去处理"],
  details: ["Details for programs", "给程序的数据"],
  facts: ["Facts about the call", "关于此调用"],
  whole: (kilobytes: number) => [`Whole output (${kilobytes} KB)`, `完整输出（${kilobytes} KB）`],
  call: ["This call", "此调用"],
  cut: [
    "The content of results is not recorded. Only the server that ran the call has it, for its last 200 calls.",
    "结果内容不会被记录；只有执行调用的服务器保留最近 200 次调用的内容。",
  ],
  tokens: (count: number) => [`about ${countOf(count, "token")} for the model`, `约占 ${count} 个模型 token`],
});

/**
 * The result of a call: what the model gets, what a program gets, and a link to the rest. `isOfPage`: the page shows the call
 * and needs no link to it.
 */
export function ResultView({ result, isOfPage = false }: { result: ToolResult; isOfPage?: boolean }) {
  const w = useWords(words);
  const { spill, cut, ...facts } = result.metadata;
  const characters = result.content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0);
  return (
    <section className="stack result" aria-label={result.status}>
      <p className="row">
        {isOfPage ? null : (
          <>
            <StatusBadge status={result.status} />
            {result.durationMs === undefined ? null : (
              <span className="muted mono">{formatDuration(result.durationMs)}</span>
            )}
            {result.status === "failed" ? <span className="mono small muted">{result.error.code}</span> : null}
          </>
        )}
        <span className="muted small">{cut ? w.cut : w.tokens(Math.ceil(characters / 4))}</span>
        <span className="grow" />
        {isOfPage ? null : (
          <Link className="small" href={`/work/${encodeURIComponent(result.callId)}`}>
            {w.call}
          </Link>
        )}
      </p>
      {result.status === "pending" && (result.pending.kind === "approval" || result.pending.kind === "question") ? (
        <p className="notice warn">
          <span className="grow">{w.requested}</span>
          <Button look="small" text={w.answer} href={`/approvals/${result.pending.id}`} />
        </p>
      ) : null}
      <ContentView content={result.content} />
      {spill ? (
        <a className="small" href={endpointUrl(`/api/calls/${encodeURIComponent(result.callId)}/output`).href}>
          {w.whole(Math.ceil(spill.bytes / 1024))}
        </a>
      ) : null}
      {result.details !== undefined && typeof result.details !== "string" ? (
        <details>
          <summary className="muted">{w.details}</summary>
          <JsonView value={result.details} />
        </details>
      ) : null}
      {Object.keys(facts).length > 0 ? (
        <details>
          <summary className="muted">{w.facts}</summary>
          <JsonView value={facts} />
        </details>
      ) : null}
    </section>
  );
}
