import type { AuditFilter, AuditPage } from "../../../../src/contracts/audit.ts";
import { defineWords, type Pair, useLanguage, useWords } from "../../language.tsx";
import { formatNumber } from "../../parts/format.ts";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  names: {
    tool: ["Tool", "工具"],
    status: ["State", "状态"],
    decision: ["Verdict", "裁决"],
    user: ["Caller", "调用者"],
  },
  values: {
    completed: ["completed", "完成"],
    failed: ["failed", "失败"],
    pending: ["asked", "已询问"],
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
  return (
    <div className="stack facets">
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
}
