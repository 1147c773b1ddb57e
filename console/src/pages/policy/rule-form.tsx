import { type FormEvent, useEffect, useState } from "react";
import type { NewRuleRequest, RuleInfo } from "../../../../src/contracts/policy.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { countOf, formatNumber } from "../../parts/format.ts";
import { Select } from "../../parts/select.tsx";
import { useAction } from "../../parts/use-action.tsx";

const words = defineWords({
  rule: ["Rule", "规则"],
  decision: ["Decision", "裁决"],
  decisions: { deny: ["deny", "拒绝"], ask: ["ask", "询问"], allow: ["allow", "允许"] },
  hint: [
    "For example Bash(git push *), Edit(src/**), WebFetch(domain:example.com), mcp__server__tool",
    "例如 Bash(git push *)、Edit(src/**)、WebFetch(domain:example.com)、mcp__server__tool",
  ],
  effect: (matched: string, judged: string) => [
    `It matches ${matched} of the last ${countOf(judged, "call")}.`,
    `它涉及最近 ${judged} 次调用中的 ${matched} 次。`,
  ],
  changed: (count: string) => [
    `${count} of them would be decided differently than now.`,
    `其中 ${count} 次的裁决会与现在不同。`,
  ],
  same: ["None of them would be decided differently than now.", "其中没有一次的裁决会与现在不同。"],
  cancel: ["Cancel", "取消"],
});

const DECISIONS = ["deny", "ask", "allow"] as const;
/** A person types faster than past calls are judged. */
const PAUSE_MS = 350;

/** The decision and the text of a rule. */
export function RuleFields(props: {
  value: NewRuleRequest;
  onRule: (rule: string) => void;
  onDecision: (decision: NewRuleRequest["decision"]) => void;
  autoFocus?: boolean;
}) {
  const w = useWords(words);
  const { rule, decision } = props.value;
  return (
    <>
      <Select
        label={w.decision}
        value={decision}
        options={DECISIONS.map((each) => [each, w.decisions[each]] as const)}
        onChoose={props.onDecision}
      />
      <input
        className="input mono grow"
        aria-label={w.rule}
        spellCheck={false}
        autoFocus={props.autoFocus}
        required
        value={rule}
        onChange={({ target }) => props.onRule(target.value)}
      />
    </>
  );
}

/** A rule that is added or changed, with its effect on past calls before it is saved. */
export function RuleForm(props: {
  label: string;
  saveText: string;
  note?: string;
  rule?: RuleInfo;
  save: (rule: NewRuleRequest) => Promise<unknown>;
  onDone: () => void;
}) {
  const w = useWords(words);
  const [rule, setRule] = useState(props.rule?.rule ?? "");
  const [decision, setDecision] = useState<NewRuleRequest["decision"]>(props.rule?.decision ?? "ask");
  const [failure, act] = useAction("policy");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    act(props.save({ rule: rule.trim(), decision }), props.onDone);
  };
  return (
    <form className="rule-form stack" aria-label={props.label} onSubmit={submit}>
      {failure}
      <div className="row">
        <RuleFields value={{ rule, decision }} onRule={setRule} onDecision={setDecision} autoFocus />
      </div>
      {rule.trim() === "" ? <p className="small muted">{w.hint}</p> : <Effect rule={rule.trim()} decision={decision} />}
      {props.note === undefined ? null : <p className="small muted mono">{props.note}</p>}
      <div className="row end">
        <Button text={w.cancel} onClick={props.onDone} />
        <Button look="primary" type="submit" text={props.saveText} disabled={rule.trim() === ""} />
      </div>
    </form>
  );
}

function Effect({ rule, decision }: NewRuleRequest) {
  const w = useWords(words);
  const { language } = useLanguage();
  const [asked, setAsked] = useState<NewRuleRequest>();
  useEffect(() => {
    const timer = setTimeout(() => setAsked({ rule, decision }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [rule, decision]);
  const { data, error } = useApi("policy", "effect", asked && [asked]);
  if (error) return <p className="field-error small">{error.message}</p>;
  if (data?.problem !== undefined) return <p className="field-error small">{data.problem}</p>;
  if (!data) return <p className="small muted">…</p>;
  const show = (value: number): string => formatNumber(value, language);
  return (
    <div className="stack small" role="status">
      <p>
        {w.effect(show(data.matched), show(data.judged))} {data.changed > 0 ? w.changed(show(data.changed)) : w.same}
      </p>
      {data.samples.slice(0, 3).map(({ callId, toolName, subject }) => (
        <span key={callId} className="row muted">
          <span className="mono">{toolName}</span> <CallSubject subject={subject} />
        </span>
      ))}
    </div>
  );
}
