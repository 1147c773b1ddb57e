import { ArrowLeft } from "lucide-react";
import { Link } from "wouter";
import type { Verdict } from "../../../../src/contracts/basics.ts";
import type { ToolInfo } from "../../../../src/contracts/tools.ts";
import { defineWords, useWords } from "../../language.tsx";
import { countOf } from "../../parts/format.ts";
import { AnnotationBadges } from "../../parts/annotation-badges.tsx";
import { DecisionBadge, KindBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { VerdictText } from "../../parts/localized.tsx";
import { useToolText } from "../../parts/tool-text.ts";
import { OneLine, VisibleText } from "../../parts/visible-text.tsx";
import { CallForm } from "./call-form.tsx";

const words = defineWords({
  back: ["All tools", "全部工具"],
  also: ["Also called", "别名"],
  calls: (count: number, failures: number, denials: number) => [
    `${countOf(count, "call")} ended: ${failures} failed, ${denials} denied`,
    `${count} 次调用已结束：${failures} 次失败，${denials} 次被拒绝`,
  ],
  notes: ["Notes", "说明"],
  more: ["More about this tool", "更多说明"],
  origin: ["From", "来源"],
});

export function ToolDetail({ tool, back }: { tool: ToolInfo; back: string }) {
  const w = useWords(words);
  const { short } = useToolText()(tool);
  const { description, statistics, origin } = tool;
  const notes = [...(description.important ?? []), ...(description.usageNotes ?? [])];
  return (
    <section className="panel detail" aria-labelledby="tool-name">
      <header>
        <Button look="plain small back" icon={ArrowLeft} text={w.back} href={back} />
        <h2 id="tool-name" className="mono grow">
          <OneLine text={tool.name} />
        </h2>
        <KindBadge kind={tool.kind} />
        {tool.verdict ? <DecisionBadge verdict={tool.verdict} /> : null}
      </header>
      <div className="body">
        <VisibleText as="p" text={short} />
        {tool.verdict ? <Reason verdict={tool.verdict} /> : null}
        {tool.annotations ? (
          <AnnotationBadges annotations={tool.annotations} isTrusted={tool.annotations.isTrusted} />
        ) : null}
        {description.long ? (
          <details>
            <summary className="muted">{w.more}</summary>
            <VisibleText as="p" className="muted prose" lang="en" text={description.long} />
          </details>
        ) : null}
        {notes.length > 0 ? (
          <details>
            <summary className="muted">{w.notes}</summary>
            <ul className="notes">
              {notes.map((note) => (
                <VisibleText key={note} as="li" lang="en" text={note} />
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
          {statistics && statistics.count > 0 ? (
            <Link href={`/work?tool=${encodeURIComponent(tool.name)}`}>
              {w.calls(statistics.count, statistics.failures, statistics.denials)}
            </Link>
          ) : null}
        </div>
        <CallForm tool={tool} />
      </div>
    </section>
  );
}

/** What the policy says before the input is known. */
function Reason({ verdict }: { verdict: Verdict }) {
  return (
    <p className="small muted">
      <VerdictText verdict={verdict} />{" "}
      {verdict.rule === undefined ? null : <VisibleText as="code" text={verdict.rule} />}
    </p>
  );
}
