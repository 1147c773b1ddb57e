import { useEffect, useState } from "react";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import type { RuleEffect } from "../../../../src/contracts/policy.ts";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { countOf } from "../../parts/format.ts";
import { CallSubject } from "../../parts/call-subject.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  en: {
    rule: "Rule",
    saves: "Session and always also save:",
    allows: "Allows",
    asks: "Still asks for",
    effect: ({ judged, changed }: RuleEffect, tool: string) => {
      if (judged === 0) return `No earlier calls of ${tool} to compare with.`;
      const calls = judged === 1 ? "the last call" : `${changed} of the last ${judged} calls`;
      return `This rule would have allowed ${calls} of ${tool} without approval.`;
    },
    none: ({ judged }: RuleEffect, tool: string) =>
      `This rule would change nothing for the last ${countOf(judged, "call")} of ${tool}, including this one. Edit it, or approve once.`,
  },
  zh: {
    rule: "规则",
    saves: "“本会话”和“总是”还会保存：",
    allows: "允许",
    asks: "仍会询问",
    effect: ({ judged, changed }: RuleEffect, tool: string) =>
      judged === 0
        ? `${tool} 没有可比较的历史调用。`
        : `${tool} 最近 ${judged} 次调用中，有 ${changed} 次按此规则无需批准。`,
    none: ({ judged }: RuleEffect, tool: string) =>
      `此规则不会改变 ${tool} 最近 ${judged} 次调用（包括这一次）的结果。请修改规则，或只批准一次。`,
  },
});

/** The server judges up to 2,000 calls for each request. */
const TYPING_MS = 300;

/**
 * What a rule would have meant for the newest calls of the tool, through the whole policy. `isKnown`: it was read, or cannot
 * be.
 */
export function useRuleEffect(
  rule: string,
  { toolName, rule: suggested }: ApprovalInfo,
  isEnabled: boolean,
): { effect: RuleEffect | undefined; isKnown: boolean } {
  const written = rule.trim();
  const [typed, setTyped] = useState(written);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(written), TYPING_MS);
    return () => clearTimeout(timer);
  }, [written]);
  const isAsked = isEnabled && written !== "" && (typed === written || written === suggested);
  const query = { rule: written, decision: "allow", tool: toolName } as const;
  const { data, error } = useApi("policy", "effect", isAsked ? [query] : undefined);
  return { effect: data, isKnown: isAsked && (data !== undefined || error !== null) };
}

/** Whether a rule changes no call, not even the one that waits: something stronger still asks, or it is for other calls. */
export function isWithoutEffect(effect: RuleEffect | undefined): boolean {
  return effect !== undefined && effect.problem === undefined && effect.judged > 0 && effect.changed === 0;
}

interface RuleChoiceProps {
  approval: ApprovalInfo;
  rule: string;
  effect: RuleEffect | undefined;
  isEditing: boolean;
  box: React.RefObject<HTMLTextAreaElement | null>;
  onEdit: (rule: string) => void;
  onLeave: () => void;
  onSave: () => void;
}

/** The rule that `session` or `always` would save, with its effect on past calls. */
export function RuleChoice({ approval, rule, effect, isEditing, box, onEdit, onLeave, onSave }: RuleChoiceProps) {
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
            else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSave();
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
        <p className="small muted">
          {isWithoutEffect(effect) ? w.none(effect, approval.toolName) : w.effect(effect, approval.toolName)}
        </p>
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
