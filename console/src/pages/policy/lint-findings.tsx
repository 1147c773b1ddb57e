import { CircleX, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "wouter";
import type { LintFinding, RuleInfo } from "../../../../src/contracts/policy.ts";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Localized } from "../../parts/localized.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { originOf } from "./rule-list.tsx";

const words = defineWords({
  decisions: { deny: ["Deny", "拒绝"], ask: ["Ask", "询问"], allow: ["Allow", "允许"] },
  title: ["Probable mistakes", "可能的错误"],
  edit: ["Edit the rule", "编辑规则"],
  revoke: ["Revoke the rule", "撤销规则"],
  byHand: (place: string) => [`Edit ${place}`, `请编辑 ${place}`],
  error: ["Error", "错误"],
  warning: ["Warning", "警告"],
});

/** Findings about rules: the rule, its place, what is wrong, and what to do. */
export function LintFindings({ rules, canChange }: { rules: readonly RuleInfo[]; canChange: boolean }) {
  const w = useWords(words);
  const [problem, setProblem] = useState<Error>();
  const { data, error, refetch } = useApi("policy", "lint", []);
  if (error) return <Failure error={error} again={() => void refetch()} />;
  if (!data || data.items.length === 0) return null;
  return (
    <section className="panel" aria-label={w.title}>
      <header>
        <h2>{w.title}</h2>
        <span className="badge warn">{data.items.length}</span>
      </header>
      {problem ? <Failure error={problem} /> : null}
      <ul className="plain-list">
        {data.items.map((finding, at) => {
          const found = canChange ? rules.find((rule) => rule.canEdit && isAbout(finding, rule)) : undefined;
          return <Finding key={at} finding={finding} rule={found} onProblem={setProblem} />;
        })}
      </ul>
    </section>
  );
}

function Finding(props: {
  finding: LintFinding;
  /** Undefined if it cannot be changed here. */
  rule: RuleInfo | undefined;
  onProblem: (problem: Error | undefined) => void;
}) {
  const { finding, rule } = props;
  const w = useWords(words);
  const [, setSearch] = useSearchParams();
  const { message: text, key = "", values, origin } = finding;
  const Icon = finding.level === "error" ? CircleX : TriangleAlert;
  const revoke = ({ rule: revoked, decision, origin: from }: RuleInfo): void => {
    props.onProblem(undefined);
    api.policy
      .changeRule({ rule: revoked, decision, origin: from })
      .catch(props.onProblem)
      .finally(() => void queries.invalidateQueries({ queryKey: ["policy"] }));
  };
  return (
    <li className={`list-row lint-row ${finding.level}`}>
      <Icon size={17} role="img" aria-label={w[finding.level]} />
      <div className="stack">
        {finding.rule === undefined ? null : (
          <span className="row">
            {finding.decision === undefined ? null : (
              <DecisionBadge verdict={{ decision: finding.decision }} text={w.decisions[finding.decision]} />
            )}
            <VisibleText as="code" className="rule-text" text={finding.rule} />
            {origin === undefined ? null : (
              <span className="small muted">{originOf({ origin, line: finding.line })}</span>
            )}
          </span>
        )}
        <Localized text={{ key, values, text }} />
      </div>
      <span className="row">
        {rule ? (
          <>
            <Button look="small" onClick={() => setSearch({ edit: [rule.decision, rule.rule, rule.origin].join(" ") })}>
              {w.edit}
            </Button>
            <Button look="small danger" text={w.revoke} onClick={() => revoke(rule)} />
          </>
        ) : origin === undefined ? null : (
          <span className="small muted">{w.byHand(originOf({ origin, line: finding.line }))}</span>
        )}
      </span>
    </li>
  );
}

function isAbout(finding: LintFinding, { rule, decision, origin }: RuleInfo): boolean {
  return finding.rule === rule && finding.decision === decision && finding.origin === origin;
}
