import { useEffect, useRef, useState } from "react";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import type { RuleEffect } from "../../../../src/contracts/policy.ts";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { countOf } from "../../parts/format.ts";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Localized } from "../../parts/localized.tsx";
import { PHONE, Sheet } from "../../parts/sheet.tsx";
import { useMedia } from "../../parts/use-media.ts";
import { useSettled } from "../../parts/use-settled.ts";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: {
    session: ["What runs without approval in this session", "本会话中无需批准即可运行的内容"],
    always: ["What always runs without approval", "总是无需批准即可运行的内容"],
  },
  broader: ["wider than this call", "超出此次调用"],
  other: ["Another rule…", "其他规则…"],
  rule: ["Rule", "规则"],
  effect: [
    ({ judged, changed }: RuleEffect, tool: string) => {
      if (judged === 0) return `No earlier calls of ${tool} to compare with.`;
      const calls = judged === 1 ? "the last call" : `${changed} of the last ${judged} calls`;
      return `This rule would have allowed ${calls} of ${tool} without approval.`;
    },
    ({ judged, changed }: RuleEffect, tool: string) =>
      judged === 0
        ? `${tool} 没有可比较的历史调用。`
        : `${tool} 最近 ${judged} 次调用中，有 ${changed} 次按此规则无需批准。`,
  ],
  none: ({ judged }: RuleEffect, tool: string) => [
    `This rule would change nothing for the last ${countOf(judged, "call")} of ${tool}, including this one. Edit it, or approve once.`,
    `此规则不会改变 ${tool} 最近 ${judged} 次调用（包括这一次）的结果。请修改规则，或只批准一次。`,
  ],
  save: { session: ["Save for this session", "保存到本会话"], always: ["Save and always approve", "保存并总是批准"] },
  cancel: ["Cancel", "取消"],
});

/** The server judges up to 2,000 calls for each request. */
const TYPING_MS = 300;

/** The rule, once nothing was typed for a moment. */
function useTyped(rule: string): string | undefined {
  const written = rule.trim();
  const [typed, setTyped] = useState(written);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(written), TYPING_MS);
    return () => clearTimeout(timer);
  }, [written]);
  return written !== "" && typed === written ? written : undefined;
}

/**
 * What a rule would have meant for the newest calls of the tool, through the whole policy. `isKnown`: it was read, or cannot
 * be.
 */
function useRuleEffect(
  rule: string | undefined,
  toolName: string,
): { effect: RuleEffect | undefined; isKnown: boolean } {
  const isAsked = rule !== undefined;
  const { data, error } = useApi(
    "policy",
    "effect",
    isAsked ? [{ rule, decision: "allow", tool: toolName }] : undefined,
  );
  return { effect: isAsked ? data : undefined, isKnown: isAsked && (data !== undefined || error !== null) };
}

/** Whether a rule changes no call, not even the one that waits: something stronger still asks, or it is for other calls. */
function isWithoutEffect(effect: RuleEffect | undefined): boolean {
  return effect !== undefined && effect.problem === undefined && effect.judged > 0 && effect.changed === 0;
}

export type GrantScope = "session" | "always";

type Grant = NonNullable<ApprovalInfo["grants"]>[number];

export function Sentence({ grant: { key, values, sentence } }: { grant: Grant }) {
  return <Localized text={{ key, values, text: sentence }} />;
}

/** An approval as a person chose it. */
export interface Yes {
  decision: "once" | GrantScope;
  rule?: string;
  grant?: Grant;
  /** The rule allows more than what was shown. */
  isBroader?: boolean;
}

interface GrantChoiceProps {
  approval: ApprovalInfo;
  scope: GrantScope;
  onSave: (yes: Yes) => void;
  onCancel: () => void;
}

/** What `session` or `always` would allow, in full sentences. Nothing is saved before a person has confirmed one. */
export function GrantChoice({ approval, scope, onSave, onCancel }: GrantChoiceProps) {
  const w = useWords(words);
  const grants = approval.grants?.filter((grant) => grant.scope === scope) ?? [];
  /** An index of `grants`; behind the last one: a rule of one's own. */
  const [chosen, setChosen] = useState(0);
  const [written, setWritten] = useState(grants[0]?.rules.join("\n") ?? "");
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const isSettled = useSettled(`${approval.id} ${scope}`);
  const isSheet = useMedia(PHONE);
  const offered = grants[chosen];
  const rule = offered ? offered.rules.join("\n") : written;
  const typed = useTyped(rule);
  const { effect, isKnown } = useRuleEffect(typed, approval.toolName);
  const own = useApi(
    "approvals",
    "grant",
    offered || typed === undefined ? undefined : [approval.id, { scope, rule: typed }],
  );
  const grant = offered ?? (typed === undefined ? undefined : own.data);
  // A choice without an effect is not offered, and a rule of one's own not before its effect and its sentence are shown.
  const isBad = !grant || effect?.problem !== undefined || isWithoutEffect(effect) || (!offered && !isKnown);
  useEffect(() => {
    if (isSettled && !isBad && offered) button.current?.focus();
  }, [isSettled]);
  useEffect(() => {
    if (!offered) box.current?.focus();
  }, [offered]);
  const save = (): void => {
    if (isSettled && !isBad) onSave({ decision: scope, rule: rule.trim(), grant, isBroader: grant.isBroader });
  };
  const choice = (at: number, isBroader: boolean, sentence: React.ReactNode): React.ReactNode => (
    <label key={at} className="grant-option">
      <input type="radio" name={`grant-${approval.id}`} checked={at === chosen} onChange={() => setChosen(at)} />
      <span className="grow">
        {sentence} {isBroader ? <span className="badge warn">{w.broader}</span> : null}
      </span>
    </label>
  );
  const body = (
    <>
      {/* Arrow keys move between the choices, not between the cards. */}
      <fieldset
        className="stack grant-choice"
        onKeyDown={(event) => event.key.startsWith("Arrow") && event.stopPropagation()}
      >
        <legend className={isSheet ? "sr-only" : undefined}>{w.title[scope]}</legend>
        {grants.map((each, at) => choice(at, each.isBroader, <Sentence grant={each} />))}
        {choice(grants.length, true, !offered && grant ? <Sentence grant={grant} /> : w.other)}
      </fieldset>
      {offered ? (
        <VisibleText as="code" className="rule-text small" text={rule} />
      ) : (
        <textarea
          ref={box}
          className="textarea"
          aria-label={w.rule}
          rows={written.split("\n").length}
          spellCheck={false}
          value={written}
          onChange={({ target }) => setWritten(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") onCancel();
            else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
          }}
        />
      )}
      <RuleMeaning toolName={approval.toolName} effect={effect} />
    </>
  );
  const buttons = (
    <div className="row answers">
      <Button ref={button} look="primary" hotkey="↵" disabled={!isSettled || isBad} onClick={save}>
        {w.save[scope]}
      </Button>
      <Button hotkey="Esc" text={w.cancel} onClick={onCancel} />
    </div>
  );
  if (isSheet) {
    const foot = (
      <>
        <p className="grant-sentence">{grant ? <Sentence grant={grant} /> : w.other}</p>
        {buttons}
      </>
    );
    return (
      <Sheet title={w.title[scope]} onClose={onCancel} foot={foot}>
        {body}
      </Sheet>
    );
  }
  // What scrolls is above the buttons: the focus is on one of them, and must not move the choice out of sight.
  return (
    <div className="stack answer-bar grant-panel" role="dialog" aria-label={w.title[scope]}>
      <div className="stack">{body}</div>
      {buttons}
    </div>
  );
}

/** What a rule would have meant for earlier calls, with examples. */
function RuleMeaning({ toolName, effect }: { toolName: string; effect: RuleEffect | undefined }) {
  const w = useWords(words);
  if (effect?.problem !== undefined) {
    return <VisibleText as="p" className="field-error small" role="alert" text={effect.problem} />;
  }
  return (
    <>
      {effect ? (
        <p className="small muted">{isWithoutEffect(effect) ? w.none(effect, toolName) : w.effect(effect, toolName)}</p>
      ) : null}
      {effect && effect.samples.length > 0 ? (
        <ul className="notes mono small">
          {effect.samples.slice(0, 5).map(({ callId, subject }) => (
            <li key={callId}>
              <CallSubject subject={subject} />
            </li>
          ))}
        </ul>
      ) : null}
    </>
  );
}
