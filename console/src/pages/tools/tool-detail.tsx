import { ArrowLeft } from "lucide-react";
import { Link } from "wouter";
import type { ToolInfo } from "../../../../src/contracts/tools.ts";
import { defineWords, useWords } from "../../language.tsx";
import { AnnotationBadges } from "../../parts/annotation-badges.tsx";
import { DecisionBadge, KindBadge } from "../../parts/badges.tsx";
import { CallForm } from "./call-form.tsx";

const words = defineWords({
  en: {
    back: "All tools",
    also: "Also called",
    calls: (count: number, failures: number) => `${count} calls, ${failures} failed`,
    notes: "Notes",
    origin: "From",
    asksByInput: "asks, depending on the input",
  },
  zh: {
    back: "全部工具",
    also: "别名",
    calls: (count: number, failures: number) => `${count} 次调用，${failures} 次失败`,
    notes: "说明",
    origin: "来源",
    asksByInput: "视输入决定是否询问",
  },
});

export function ToolDetail({ tool }: { tool: ToolInfo }) {
  const w = useWords(words);
  const { description, statistics, origin } = tool;
  const notes = [...(description.important ?? []), ...(description.usageNotes ?? [])];
  return (
    <section className="panel detail" aria-labelledby="tool-name">
      <header>
        <Link className="button plain small back" href="/tools">
          <ArrowLeft size={15} aria-hidden /> {w.back}
        </Link>
        <h2 id="tool-name" className="mono grow">
          {tool.name}
        </h2>
        <KindBadge kind={tool.kind} />
        {tool.verdict ? <DecisionBadge verdict={tool.verdict} /> : null}
      </header>
      <div className="body">
        <p>{description.short}</p>
        {description.long ? <p className="muted prose">{description.long}</p> : null}
        {tool.annotations ? (
          <AnnotationBadges annotations={tool.annotations} isTrusted={tool.annotations.isTrusted} />
        ) : null}
        {notes.length > 0 ? (
          <details>
            <summary className="muted">{w.notes}</summary>
            <ul className="notes">
              {notes.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>
          </details>
        ) : null}
        <div className="row small muted">
          {tool.groups.map((group) => (
            <span key={group} className="badge">
              {group.replace(/^group:/, "")}
            </span>
          ))}
          {origin.type === "builtin" ? null : (
            <span>
              {w.origin}{" "}
              {origin.type === "mcp" ? origin.server : origin.type === "plugin" ? origin.plugin : origin.type}
            </span>
          )}
          {tool.aliases.length > 0 ? (
            <span className="cut">
              {w.also} <span className="mono">{tool.aliases.join(", ")}</span>
            </span>
          ) : null}
          {statistics && statistics.count > 0 ? <span>{w.calls(statistics.count, statistics.failures)}</span> : null}
        </div>
        <CallForm tool={tool} />
      </div>
    </section>
  );
}
