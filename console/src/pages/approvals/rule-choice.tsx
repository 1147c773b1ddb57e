import { useDeferredValue, useState } from "react";
import type { ApprovalAnswerRequest, ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  en: {
    title: "Do not ask again for…",
    rule: "Rule",
    session: "For this session",
    always: "Always",
    allows: "Allows",
    asks: "Still asks for",
    effect: (matched: number, judged: number) => `Would have allowed ${matched} of the last ${judged} calls`,
  },
  zh: {
    title: "以下情况不再询问…",
    rule: "规则",
    session: "本会话",
    always: "总是",
    allows: "允许",
    asks: "仍会询问",
    effect: (matched: number, judged: number) => `最近 ${judged} 次调用中会允许 ${matched} 次`,
  },
});

/** The rule that `session` or `always` would save. It can be edited, and its effect on past calls is shown. */
export function RuleChoice(props: {
  offered: string;
  examples: ApprovalInfo["ruleExamples"];
  disabled: boolean;
  onAnswer: (request: ApprovalAnswerRequest) => void;
}) {
  const w = useWords(words);
  const [rule, setRule] = useState(props.offered);
  const requested = useDeferredValue(rule.trim());
  const { data: effect } = useApi("policy", "effect", [{ rule: requested, decision: "allow" }]);
  const isBad = rule.trim() === "" || effect?.problem !== undefined;
  return (
    <details className="rule-choice">
      <summary>{w.title}</summary>
      <div className="stack">
        <textarea
          className="textarea"
          aria-label={w.rule}
          rows={rule.split("\n").length}
          spellCheck={false}
          value={rule}
          onChange={({ target }) => setRule(target.value)}
        />
        {rule === props.offered
          ? props.examples?.map(({ rule: saved, allows, asks }) => (
              <dl key={saved} className="small muted">
                <dt>{w.allows}</dt>
                <dd className="mono">
                  <VisibleText text={allows.join(" | ")} />
                </dd>
                <dt>{w.asks}</dt>
                <dd className="mono">
                  <VisibleText text={asks.join(" | ")} />
                </dd>
              </dl>
            ))
          : null}
        {effect?.problem ? <p className="field-error small">{effect.problem}</p> : null}
        {effect && !effect.problem ? (
          <div className="small muted">
            {w.effect(effect.matched, effect.judged)}
            <ul className="notes mono">
              {effect.samples.slice(0, 5).map(({ callId, subject }) => (
                <li key={callId}>
                  <VisibleText text={subject.text} />
                </li>
              ))}
            </ul>
          </div>
        ) : null}
        <div className="row">
          <button
            className="button small"
            disabled={props.disabled || isBad}
            onClick={() => props.onAnswer({ decision: "session", rule: rule.trim() })}
          >
            {w.session}
          </button>
          <button
            className="button small"
            disabled={props.disabled || isBad}
            onClick={() => props.onAnswer({ decision: "always", rule: rule.trim() })}
          >
            {w.always}
          </button>
        </div>
      </div>
    </details>
  );
}
