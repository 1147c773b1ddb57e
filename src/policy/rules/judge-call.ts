import type { CallMode, Verdict } from "../../core/call.ts";
import { isInside } from "../../files/is-path-allowed.ts";
import { findCoverage } from "./allow-coverage.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { judgeHidden } from "./look-at-hidden.ts";
import { isProtectedPath } from "./protected-path.ts";
import type { RulesOfTool } from "./rule-index.ts";
import type { Subject, SubjectPath } from "./subject.ts";

/** One call to be judged, with the rules that can concern it. */
export interface Case {
  subject: Subject;
  rules: RulesOfTool;
  mode: CallMode;
}

export interface JudgeStep {
  /** What is looked at, in words. */
  name: string;
  look(one: Case): Verdict | undefined;
}

/** The first that has something to say decides. No mode comes before what rules forbid or insist on asking. */
export const JUDGE_STEPS: readonly JudgeStep[] = [
  { name: "deny rules", look: ({ subject, rules }) => judgeList(subject, rules, "deny") },
  { name: "ask rules", look: ({ subject, rules }) => judgeList(subject, rules, "ask") },
  { name: "plan mode", look: judgePlanMode },
  { name: "protected paths", look: judgeProtected },
  { name: "what could not be read", look: judgeUnread },
  { name: "mode", look: judgeMode },
  { name: "allow rules", look: judgeAllow },
  { name: "the tool itself", look: judgeTool },
];

export function judgeCase(one: Case): Verdict {
  for (const step of JUDGE_STEPS) {
    const verdict = step.look(one);
    if (verdict) return settle(verdict, one.mode);
  }
  return settle({ decision: "ask", by: "policy", reason: "Nothing allows it." }, one.mode);
}

/** Where nobody is to be asked, a question is a no. */
export function settle(verdict: Verdict, mode: CallMode): Verdict {
  if (verdict.decision !== "ask" || mode !== "dontAsk") return verdict;
  return { ...verdict, decision: "deny", reason: `${verdict.reason} In the mode dontAsk nobody is asked.` };
}

function judgeList(subject: Subject, rules: RulesOfTool, list: "deny" | "ask"): Verdict | undefined {
  for (const { rule, isNamed } of rules[list]) {
    if (!rule.touches(subject, isNamed)) continue;
    const verb = list === "deny" ? "forbids it" : "says to ask";
    return {
      decision: list,
      by: "rule",
      reason: `The rule ${rule.text} (${rule.origin}) ${verb}.`,
      ...ruleFacts([rule]),
    };
  }
  return undefined;
}

function judgePlanMode({ subject, mode }: Case): Verdict | undefined {
  if (mode !== "plan" || subject.tool.isReadOnly) return undefined;
  return { decision: "deny", by: "mode", reason: "In plan mode only read-only tools run." };
}

function judgeProtected({ subject }: Case): Verdict | undefined {
  if (!subject.has.changes) return undefined;
  const path = [...subject.changes, ...subject.commandChanges()].find((one) => isProtectedPath(one, subject.bases));
  if (!path) return undefined;
  return {
    decision: "ask",
    by: "policy",
    reason: `${path.given} is protected: what stands there is executed, or decides what is allowed.`,
  };
}

function judgeUnread({ subject, rules, mode }: Case): Verdict | undefined {
  const problem = subject.failed ? "The tool cannot say what this call touches." : subject.command?.problem;
  if (problem === undefined) return judgeHidden(subject, rules);
  // In this mode it matters only where something is forbidden that may be hidden in it.
  const mayHide = [...rules.deny, ...rules.ask].some(({ rule }) => !rule.isBare);
  if (mode === "bypassPermissions" && !mayHide) return undefined;
  return { decision: "ask", by: "policy", reason: `${problem} So rules cannot vouch for it.` };
}

function judgeMode({ subject, mode }: Case): Verdict | undefined {
  if (mode === "bypassPermissions") {
    return { decision: "allow", by: "mode", reason: "The mode bypassPermissions asks for nothing else." };
  }
  const { changes, tool } = subject;
  if (mode !== "acceptEdits" || tool.kind !== "write" || changes.length === 0) return undefined;
  if (!changes.every((path) => isInWorkspace(path, subject))) return undefined;
  return { decision: "allow", by: "mode", reason: "The mode acceptEdits lets changes of files in the workspace pass." };
}

function judgeAllow({ subject, rules, mode }: Case): Verdict | undefined {
  if (rules.allow.length === 0) return undefined;
  const covering = findCoverage(rules.allow, subject, {
    mayChange: (path) => mode === "acceptEdits" && isInWorkspace(path, subject),
    isInside: (path) => isInWorkspace(path, subject),
  });
  if (!covering) return undefined;
  const [first, ...more] = covering;
  const which =
    more.length === 0
      ? `The rule ${first?.text} (${first?.origin}) allows it.`
      : `The rules ${covering.map(({ text }) => text).join(", ")} allow every part of it.`;
  return { decision: "allow", by: "rule", reason: which, ...ruleFacts(covering) };
}

function judgeTool({ subject: { tool, input } }: Case): Verdict {
  return tool.permission(input) === "auto"
    ? { decision: "allow", by: "tool", reason: `"${tool.name}" need not ask for this.` }
    : { decision: "ask", by: "tool", reason: `"${tool.name}" asks before it runs.` };
}

/** By its name and by where it leads. */
function isInWorkspace(path: SubjectPath, { bases: { cwd } }: Subject): boolean {
  const inside = (name: string): boolean => cwd.some((folder) => isInside(name, folder));
  return inside(path.name) && inside(path.real());
}

function ruleFacts(rules: readonly CompiledRule[]): { rule: string; origin: string } {
  return {
    rule: [...new Set(rules.map(({ text }) => text))].join(", "),
    origin: [...new Set(rules.map(({ origin }) => origin))].join(", "),
  };
}
