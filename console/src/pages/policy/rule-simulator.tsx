import { useState } from "react";
import { Link } from "wouter";
import type { Verdict } from "../../../../src/contracts/basics.ts";
import type { Simulation } from "../../../../src/contracts/policy.ts";
import { api } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { Failure } from "../../parts/failure.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  en: {
    title: "Try a rule on past calls",
    rule: "Rule",
    decision: "Verdict",
    run: "Simulate",
    changed: (changed: number, judged: number) => `${changed} of ${judged} past calls would be judged differently.`,
    lead: "Nothing is saved and nothing runs.",
  },
  zh: {
    title: "在过去的调用上试一条规则",
    rule: "规则",
    decision: "裁决",
    run: "模拟",
    changed: (changed: number, judged: number) => `过去 ${judged} 次调用中有 ${changed} 次的裁决会改变。`,
    lead: "不会保存，也不会运行任何东西。",
  },
});

export function RuleSimulator() {
  const w = useWords(words);
  const [rule, setRule] = useState("Bash(git push *)");
  const [decision, setDecision] = useState<Verdict["decision"]>("deny");
  const [simulation, setSimulation] = useState<Simulation>();
  const [problem, setProblem] = useState<Error>();
  const simulate = (): void => {
    setProblem(undefined);
    api.policy.simulate({ add: [{ rule, decision }] }).then(setSimulation, setProblem);
  };
  return (
    <section className="panel" aria-label={w.title}>
      <header>
        <h2 className="grow">{w.title}</h2>
        <span className="small muted">{w.lead}</span>
      </header>
      <form
        className="body"
        onSubmit={(event) => {
          event.preventDefault();
          simulate();
        }}
      >
        <div className="row">
          <select
            className="select narrow"
            aria-label={w.decision}
            value={decision}
            onChange={({ target }) => setDecision(target.value as Verdict["decision"])}
          >
            <option>deny</option>
            <option>ask</option>
            <option>allow</option>
          </select>
          <input
            className="input mono grow"
            aria-label={w.rule}
            spellCheck={false}
            value={rule}
            onChange={({ target }) => setRule(target.value)}
          />
          <button className="button">{w.run}</button>
        </div>
        {problem ? <Failure error={problem} /> : null}
        {simulation ? (
          <div className="stack" role="status">
            <p>{w.changed(simulation.changed.length, simulation.judged)}</p>
            <ul className="rows">
              {simulation.changed.slice(0, 50).map(({ callId, toolName, subject, before, after }) => (
                <li key={callId}>
                  <Link href={`/calls/${encodeURIComponent(callId)}`}>
                    <span className="row">
                      <strong className="mono">{toolName}</strong>
                      <span className="grow cut muted">
                        <VisibleText text={subject.text} />
                      </span>
                      <DecisionBadge verdict={before} /> → <DecisionBadge verdict={after} />
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ) : null}
      </form>
    </section>
  );
}
