import type { Verdict } from "../../core/call.ts";
import { isProtectedName, mayBecomeProtected } from "./protected-path.ts";
import type { RulesOfTool } from "./rule-index.ts";
import type { Subject } from "./subject.ts";

/** A rule that forbids or asks does not lose to words that are only known when the command runs. */
export function judgeHidden(subject: Subject, rules: RulesOfTool): Verdict | undefined {
  const hides = subject.command?.hides;
  if (!hides) return undefined;
  const found = [...rules.deny, ...rules.ask].find(({ rule, isNamed }) => rule.mayTouchHidden(subject, isNamed));
  if (found) {
    const { text, origin } = found.rule;
    return {
      decision: "ask",
      by: "policy",
      reason: `What it does is only known when it runs, and the rule ${text} (${origin}) may concern it. Write the command out, without variables, patterns or programs that run others.`,
      rule: text,
      origin,
    };
  }
  const names = subject.command?.text.split(/[\s'"`;|&()<>=:,{}/\\]+/) ?? [];
  const mayProtected =
    hides.changes.some(mayBecomeProtected) || (hides.commands.includes("") && names.some(isProtectedName));
  if (!mayProtected) return undefined;
  return {
    decision: "ask",
    by: "policy",
    reason: "It may change a protected path, which is only known when it runs. Write the path out.",
  };
}
