import type { AuditPage, AuditQuery } from "../../../../src/contracts/audit.ts";
import { defineWords, useWords } from "../../language.tsx";

const words = defineWords({
  en: { tool: "Tool", status: "Status", decision: "Verdict", user: "Caller" },
  zh: { tool: "工具", status: "状态", decision: "裁决", user: "调用者" },
});

/** The counts of the results by field. A click filters by a value; a second click removes the filter. */
export function Facets(props: {
  facets: AuditPage["facets"];
  chosen: AuditQuery;
  onChoose: (query: AuditQuery) => void;
}) {
  const w = useWords(words);
  return (
    <div className="facets">
      {props.facets
        .filter(({ values }) => values.length > 0)
        .map(({ name, values }) => (
          <div key={name} className="row">
            <h3>{w[name]}</h3>
            {values.slice(0, 12).map(({ value, count }) => {
              const isChosen = props.chosen[name] === value;
              const { [name]: _old, ...others } = props.chosen;
              return (
                <button
                  key={value}
                  className={isChosen ? "badge accent" : "badge"}
                  aria-pressed={isChosen}
                  onClick={() => props.onChoose(isChosen ? others : { ...others, [name]: value })}
                >
                  {value} <span className="muted">{count}</span>
                </button>
              );
            })}
          </div>
        ))}
    </div>
  );
}
