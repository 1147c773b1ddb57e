import { useDeferredValue } from "react";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import type { RuleEffect } from "../../../../src/contracts/policy.ts";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  en: {
    rule: "Rule",
    saves: "Session and always also save:",
    allows: "Allows",
    asks: "Still asks for",
    effect: ({ matched, judged, changed }: RuleEffect, tool: string) =>
      judged === 0
        ? `There is no earlier call of ${tool} to compare with.`
        : `Would have allowed ${matched} of the newest ${judged} calls of ${tool} without asking; ${changed} of them asked.`,
    none: "It would change nothing: another rule still asks. So only “once” has an effect.",
  },
  zh: {
    rule: "规则",
    saves: "“本会话”和“总是”还会保存：",
    allows: "允许",
    asks: "仍会询问",
    effect: ({ matched, judged, changed }: RuleEffect, tool: string) =>
      judged === 0
        ? `${tool} 没有可比较的历史调用。`
        : `${tool} 最近 ${judged} 次调用中，会不询问就允许 ${matched} 次；其中 ${changed} 次曾询问。`,
    none: "不会有任何变化：另一条规则仍会询问。只有“批准一次”有效。",
  },
});

/** What a rule would have meant for past calls of the tool, through the whole policy. Undefined until it is known. */
export function useRuleEffect(rule: string | undefined, tool: string): RuleEffect | undefined {
  const requested = useDeferredValue(rule?.trim());
  const isAsked = requested !== undefined && requested !== "";
  return useApi("policy", "effect", isAsked ? [{ rule: requested, decision: "allow", tool }] : undefined).data;
}

/** Whether a rule covers past calls and changes none of them: something stronger still asks. */
export function isWithoutEffect(effect: RuleEffect | undefined): boolean {
  return effect !== undefined && effect.problem === undefined && effect.matched > 0 && effect.changed === 0;
}

interface RuleChoiceProps {
  approval: ApprovalInfo;
  rule: string;
  effect: RuleEffect | undefined;
  isEditing: boolean;
  box: React.RefObject<HTMLTextAreaElement | null>;
  onEdit: (rule: string) => void;
  onLeave: () => void;
}

/** The rule that `session` or `always` would save, with its effect on past calls. */
export function RuleChoice({ approval, rule, effect, isEditing, box, onEdit, onLeave }: RuleChoiceProps) {
  const w = useWords(words);
  return (
    <div className="rule-choice">
      {isEditing ? (
        <textarea
          ref={box}
          className="textarea"
          aria-label={w.rule}
          rows={rule.split("\n").length}
          spellCheck={false}
          value={rule}
          onChange={({ target }) => onEdit(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") onLeave();
          }}
        />
      ) : (
        <p className="small muted">
          {w.saves}{" "}
          <code className="rule-text">
            <VisibleText text={rule.replaceAll("\n", "  ")} />
          </code>
        </p>
      )}
      {effect?.problem === undefined ? null : (
        <p className="field-error small" role="alert">
          <VisibleText text={effect.problem} />
        </p>
      )}
      {effect && effect.problem === undefined ? (
        <p className="small muted">{isWithoutEffect(effect) ? w.none : w.effect(effect, approval.toolName)}</p>
      ) : null}
      {isEditing ? (
        <>
          {effect && effect.samples.length > 0 ? (
            <ul className="notes mono small">
              {effect.samples.slice(0, 5).map(({ callId, subject }) => (
                <li key={callId}>
                  <CallSubject subject={subject} />
                </li>
              ))}
            </ul>
          ) : null}
          {rule === approval.rule
            ? approval.ruleExamples?.map(({ rule: saved, allows, asks }) => (
                <dl key={saved} className="facts small">
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
        </>
      ) : null}
    </div>
  );
}
