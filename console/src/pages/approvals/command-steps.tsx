import type { CommandStep } from "../../../../src/contracts/basics.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CodeText } from "../../parts/code-text.tsx";
import { Localized } from "../../parts/localized.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";

const words = defineWords({
  title: ["Steps of the command", "命令的步骤"],
  operators: {
    "&&": ["then, if that succeeded", "成功后"],
    "||": ["otherwise, if that failed", "失败后"],
    ";": ["then", "然后"],
    "|": ["gives its output to", "输出传给"],
    "&": ["at the same time", "同时"],
  },
});

/** A command, one line for each of its programs: what it does, and why it needs an approval. */
export function CommandSteps({ steps }: { steps: readonly CommandStep[] }) {
  const w = useWords(words);
  return (
    <ol className="plain-list steps-list" aria-label={w.title}>
      {steps.map(({ text, operator, level, does, asks }, at) => (
        <li key={at} className={`stack command-step risk-${level}`}>
          {operator === undefined ? null : (
            <span className="step-operator">
              <code>{operator}</code> <span className="muted small">{w.operators[operator]}</span>
            </span>
          )}
          <code className="pre step-text">
            <CodeText text={text} language="bash" />
          </code>
          <span className="row step-facts small">
            {asks || level !== "low" ? <RiskBadge level={level} short /> : null}
            {does ? (
              <span className="muted">
                <Localized text={does} />
              </span>
            ) : null}
            {asks && asks.text !== does?.text ? (
              <span className="step-asks">
                <Localized text={asks} />
              </span>
            ) : null}
          </span>
        </li>
      ))}
    </ol>
  );
}
