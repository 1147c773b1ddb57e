import type { AuditFilter, AuditPage } from "../../../../src/contracts/audit.ts";
import { defineWords, type Pair, useLanguage, useWords } from "../../language.tsx";
import { formatNumber } from "../../parts/format.ts";
import { useMedia } from "../../parts/use-media.ts";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  filters: ["Filters", "筛选"],
  lead: [
    "Counts are of entries: a call that waited has several. Work counts calls.",
    "以下为记录数：等待过的调用有多条记录。“工作”页统计调用数。",
  ],
  names: {
    tool: ["Tool", "工具"],
    status: ["Outcome", "结果"],
    decision: ["Verdict", "裁决"],
    user: ["Caller", "调用者"],
  },
  values: {
    completed: ["completed", "完成"],
    failed: ["failed", "失败"],
    denied: ["denied", "已拒绝"],
    pending: ["waits", "等待"],
    unknown: ["outcome unknown", "结果未知"],
    allow: ["allowed", "允许"],
    ask: ["asked", "询问"],
    deny: ["denied", "拒绝"],
  } as Record<string, Pair>,
});

type Facet = AuditPage["facets"][number]["name"];

/** The counts of the results by field. A click filters by a value; a second click removes the filter. */
export function Facets(props: {
  facets: AuditPage["facets"];
  chosen: AuditFilter;
  onChoose: (name: Facet, value: string | undefined) => void;
}) {
  const w = useWords(words);
  const { language } = useLanguage();
  const textOf = (name: Facet, value: string): string =>
    name !== "tool" && name !== "user" && Object.hasOwn(w.values, value) ? (w.values[value] ?? value) : value;
  const isPhone = useMedia("(max-width: 760px)");
  const facets = (
    <div className="stack facets">
      <p className="small muted">{w.lead}</p>
      {props.facets
        .filter(({ values }) => values.length > 0)
        .map(({ name, values }) => (
          <div key={name} className="row">
            <h2 className="facet-title">{w.names[name]}</h2>
            {values.slice(0, 12).map(({ value, count }) => {
              const isChosen = props.chosen[name] === value;
              return (
                <button
                  key={value}
                  className={isChosen ? "badge accent" : "badge"}
                  aria-pressed={isChosen}
                  onClick={() => props.onChoose(name, isChosen ? undefined : value)}
                >
                  <VisibleText text={textOf(name, value)} />{" "}
                  <span className="muted">{formatNumber(count, language)}</span>
                </button>
              );
            })}
          </div>
        ))}
    </div>
  );
  if (!isPhone) return facets;
  return (
    <details open={Object.values(props.chosen).some((value) => value !== undefined)}>
      <summary className="small muted">{w.filters}</summary>
      {facets}
    </details>
  );
}
