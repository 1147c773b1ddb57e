import { reasonText, TEXTS } from "../../../core/localized-text.ts";
import type { CallMode, Verdict } from "../../../core/call.ts";
import type { CommandPart } from "../../../core/signature.ts";
import { type AnyTool, statesOnlyKind, type ToolPermission } from "../../../core/tool.ts";
import { isInside } from "../../../io/files/path-name.ts";
import type { CompiledRule } from "./compile-rule.ts";
import { isProtectedName, mayBecomeProtected, protectionOf } from "./protected-paths.ts";
import type { IndexedRule, RulesOfTool } from "./rule-set.ts";
import { readPermission } from "../../tool-answers.ts";
import { isReadOnlyPart, type Subject, type SubjectPath } from "./rule-subject.ts";

/** One call, with the rules that can match it. */
export interface Case {
  subject: Subject;
  rules: RulesOfTool;
  mode: CallMode;
  /** Of tools that do not say whether they ask. */
  defaultPermission: ToolPermission;
}

export interface JudgeStep {
  /** The name of the check in explanations. */
  name: string;
  look(one: Case): Verdict | undefined;
}

/** The first check with a verdict decides. Deny and ask rules come before any mode. */
export const JUDGE_STEPS: readonly JudgeStep[] = [
  { name: "deny rules", look: ({ subject, rules }) => judgeList(subject, rules, "deny") },
  { name: "ask rules", look: ({ subject, rules }) => judgeList(subject, rules, "ask") },
  { name: "plan mode", look: ({ subject, mode }) => planVerdict(subject.tool, mode) },
  { name: "protected paths", look: judgeProtected },
  { name: "unreadable parts", look: judgeUnread },
  { name: "mode", look: judgeMode },
  { name: "allow rules", look: judgeAllow },
  { name: "the tool itself", look: judgeTool },
];

export function judgeCase(one: Case): Verdict {
  for (const step of JUDGE_STEPS) {
    const verdict = step.look(one);
    if (verdict) return settle(verdict, one.mode);
  }
  return settle({ decision: "ask", by: "policy", ...reasonText("verdict.nothingAllows") }, one.mode);
}

/** As `judgeCase`, without paths, commands and addresses: only the mode and the tool decide. */
export function judgeWithoutRules(
  call: ToolCase,
  { mode, defaultPermission }: Omit<Case, "subject" | "rules">,
): Verdict {
  return settle(planVerdict(call.tool, mode) ?? bypassVerdict(mode) ?? toolVerdict(call, defaultPermission), mode);
}

/** What the tool decides about. */
type ToolCase = Pick<Subject, "tool" | "input"> & Partial<Pick<Subject, "answers">>;

/** In the mode dontAsk, ask becomes deny. */
export function settle(verdict: Verdict, mode: CallMode): Verdict {
  if (verdict.decision !== "ask" || mode !== "dontAsk") return verdict;
  const { values: _values, ...rest } = verdict;
  return { ...rest, decision: "deny", ...reasonText("verdict.dontAsk", { reason: verdict.reason }) };
}

function judgeList(subject: Subject, rules: RulesOfTool, list: "deny" | "ask"): Verdict | undefined {
  for (const { rule, isNamed } of rules[list]) {
    if (!rule.touches(subject, isNamed)) continue;
    const path = list === "deny" ? touchedPath(subject, { rule, isNamed }) : undefined;
    const names = { rule: rule.text, origin: rule.origin };
    const reason =
      path === undefined
        ? reasonText(list === "deny" ? "verdict.denyRule" : "verdict.askRule", names)
        : reasonText("verdict.denyRulePath", { ...names, path: path.given });
    return { decision: list, by: "rule", ...reason, ...ruleFacts([rule]) };
  }
  return undefined;
}

/** Which of several files a rule forbids, so that a caller can leave it out. */
function touchedPath(subject: Subject, { rule, isNamed }: IndexedRule): SubjectPath | undefined {
  const { reads, changes, command } = subject;
  if (rule.isBare || command !== undefined || reads.length + changes.length < 2) return undefined;
  const alone = { ...subject, reads: [], changes: [] };
  return (
    reads.find((path) => rule.touches({ ...alone, reads: [path] }, isNamed)) ??
    changes.find((path) => rule.touches({ ...alone, changes: [path] }, isNamed))
  );
}

function planVerdict(tool: AnyTool, mode: CallMode): Verdict | undefined {
  if (mode !== "plan" || tool.isReadOnly) return undefined;
  return { decision: "deny", by: "mode", ...reasonText("verdict.planMode") };
}

function judgeProtected({ subject, mode }: Case): Verdict | undefined {
  if (!subject.has.changes) return undefined;
  for (const path of [...subject.changes, ...subject.commandChanges()]) {
    const why = protectionOf(path, subject.bases, mode === "acceptEdits");
    if (why !== undefined)
      return { decision: "ask", by: "policy", ...reasonText("verdict.protected", { path: path.given, why }) };
  }
  return undefined;
}

function judgeUnread({ subject, rules, mode }: Case): Verdict | undefined {
  const problem = subject.failed ? TEXTS["verdict.noSignature"] : subject.command?.problem;
  if (problem === undefined) return judgeHidden(subject, rules);
  // In this mode it matters only if a deny rule may match a hidden part.
  const mayHide = [...rules.deny, ...rules.ask].some(({ rule }) => !rule.isBare);
  if (mode === "bypassPermissions" && !mayHide) return undefined;
  return { decision: "ask", by: "policy", ...reasonText("verdict.unreadable", { problem }) };
}

function bypassVerdict(mode: CallMode): Verdict | undefined {
  if (mode !== "bypassPermissions") return undefined;
  return { decision: "allow", by: "mode", ...reasonText("verdict.bypass") };
}

function judgeMode(one: Case): Verdict | undefined {
  const { subject, mode } = one;
  const bypass = bypassVerdict(mode);
  if (bypass) return judgeStarted(one) ?? bypass;
  const { changes, tool } = subject;
  if (mode !== "acceptEdits" || tool.kind !== "write" || changes.length === 0) return undefined;
  if (!changes.every((path) => isInWorkspace(path, subject))) return undefined;
  return { decision: "allow", by: "mode", ...reasonText("verdict.acceptEdits") };
}

function judgeAllow({ subject, rules, mode }: Case): Verdict | undefined {
  if (rules.allow.length === 0) return undefined;
  const forbidding = commandRules(rules, subject);
  const covering = findCoverage(rules.allow, subject, {
    mayChange: (path) => mode === "acceptEdits" && isInWorkspace(path, subject),
    isInside: (path) => isInWorkspace(path, subject),
    // `Bash(npm *)` next to a denied `Bash(npm publish *)` is a person's decision about npm.
    mustNameStarted: ({ program }) => forbidding.some((rule) => rule.program?.name !== program),
  });
  if (!covering) return undefined;
  const [first, ...more] = covering;
  const which =
    more.length === 0
      ? reasonText("verdict.allowRule", { rule: first?.text ?? "", origin: first?.origin ?? "" })
      : reasonText("verdict.allowRules", { rules: covering.map(({ text }) => text).join(", ") });
  return { decision: "allow", by: "rule", ...which, ...ruleFacts(covering) };
}

function judgeTool(one: Case): Verdict {
  const verdict = toolVerdict(one.subject, one.defaultPermission);
  return verdict.decision === "allow" ? (judgeStarted(one) ?? verdict) : verdict;
}

/** The tool's own decision. If it does not say, a read-only tool runs, and the default decides about any other. */
export function toolVerdict(
  { tool, input, answers }: ToolCase,
  defaultPermission: ToolPermission = "confirm",
): Verdict {
  const permission = readPermission(tool, input, answers);
  const names = { tool: tool.name };
  if (permission === "auto" || (permission === undefined && tool.isReadOnly)) {
    return { decision: "allow", by: "tool", ...reasonText("verdict.toolAllows", names) };
  }
  if (permission !== undefined) return { decision: "ask", by: "tool", ...reasonText("verdict.toolAsks", names) };
  if (defaultPermission === "auto") {
    return { decision: "allow", by: "policy", ...reasonText("verdict.defaultAllows", names) };
  }
  const reason = tool.permission === statesOnlyKind ? "verdict.toolAsks" : "verdict.undeclared";
  return { decision: "ask", by: "tool", ...reasonText(reason, names) };
}

/** By the path itself and by its real path. */
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

export interface CoverageOptions {
  /** Whether the mode allows a change of this file without a rule. */
  mayChange(path: SubjectPath): boolean;
  isInside(path: SubjectPath): boolean;
  /** Whether a rule must name what this part starts, because other rules deny some commands or ask about them. */
  mustNameStarted?(part: CommandPart): boolean;
}

/** The rules that together allow a call: each covers a thing that is not harmless. Undefined if something is left. */
export function findCoverage(
  rules: readonly IndexedRule[],
  subject: Subject,
  options: CoverageOptions,
): readonly CompiledRule[] | undefined {
  const whole = rules.find(({ rule, isNamed }) => rule.isBare && (isNamed || touchesOnly(rule, subject)));
  if (whole) return [whole.rule];
  const conditional = rules.find(({ rule, isNamed }) => isNamed && rule.coversCall(subject));
  if (conditional) return [conditional.rule];
  const scoped = rules.filter(({ rule }) => !rule.isBare && !rule.hasConditions);
  if (scoped.length === 0) return undefined;
  if (subject.command) return coverCommand(scoped, subject, options);
  const { changes, reads, urls, text } = subject;
  if (changes.length > 0) return coverAll(changes, (path) => findPathRule(scoped, path, subject, "changes"));
  if (reads.length > 0) return coverAll(reads, (path) => findPathRule(scoped, path, subject, "reads"));
  if (urls.length > 0) return coverAll(urls, (url) => findNamed(scoped, (rule) => rule.coversUrl(url)));
  return text === undefined ? undefined : coverAll([text], (one) => findNamed(scoped, (rule) => rule.coversText(one)));
}

/** `Edit` without a spec covers every tool that changes files; `Read` covers tools that only read. */
function touchesOnly({ family }: CompiledRule, { changes, reads }: Subject): boolean {
  return family === "changes" ? changes.length > 0 : family === "reads" && changes.length === 0 && reads.length > 0;
}

function coverCommand(
  rules: readonly IndexedRule[],
  subject: Subject,
  { mayChange, isInside, mustNameStarted }: CoverageOptions,
): readonly CompiledRule[] | undefined {
  const command = subject.command as NonNullable<Subject["command"]>;
  if (command.undetermined !== undefined || !rules.some(({ isNamed }) => isNamed)) return undefined;
  // A rule allows exactly this command text.
  const asWritten = findNamed(rules, (rule) => rule.coversCommand({ text: command.text.trim(), exactOnly: true }));
  if (asWritten) return [asWritten];
  if (command.closed !== undefined) return undefined;
  // A repeated part is judged once.
  const parts = new Map(command.parts.map((part) => [JSON.stringify(part), part]));
  const covered = coverAll([...parts.values()], (part) =>
    coverPart(rules, part, { subject, mustName: mustNameStarted?.(part) }),
  );
  const outputs = coverAll(subject.outputs(), (path) =>
    mayChange(path) ? "harmless" : findPathRule(rules, path, subject, "changes"),
  );
  const inputs = coverAll(subject.inputs(), (path) =>
    isInside(path) ? "harmless" : findPathRule(rules, path, subject, "reads"),
  );
  if (!covered || !outputs || !inputs) return undefined;
  // If no rule matches, the tool decides.
  const used = [...covered, ...outputs, ...inputs];
  return used.length > 0 ? used : undefined;
}

function coverPart(
  rules: readonly IndexedRule[],
  part: CommandPart,
  { subject, mustName = false }: { subject: Subject; mustName?: boolean | undefined },
): CompiledRule | "harmless" | undefined {
  if (part.harmless) return "harmless";
  if (part.closed !== undefined) return undefined;
  for (const { starts = [], ...form } of part.forms) {
    const spelled = mustName ? [...(form.spelled ?? []), ...starts] : form.spelled;
    const rule = findNamed(rules, (each) => each.coversCommand({ ...form, spelled }));
    if (rule) return rule;
  }
  return isReadOnlyPart(part, subject) ? "harmless" : undefined;
}

function findPathRule(
  rules: readonly IndexedRule[],
  path: SubjectPath,
  subject: Subject,
  family: "reads" | "changes",
): CompiledRule | undefined {
  return rules.find(({ rule, isNamed }) => {
    const isApplicable = rule.family === undefined ? isNamed && subject.command === undefined : rule.family === family;
    return isApplicable && rule.coversPath(path, subject);
  })?.rule;
}

function findNamed(rules: readonly IndexedRule[], covers: (rule: CompiledRule) => boolean): CompiledRule | undefined {
  return rules.find(({ rule, isNamed }) => isNamed && covers(rule))?.rule;
}

function coverAll<T>(
  items: readonly T[],
  cover: (item: T) => CompiledRule | "harmless" | undefined,
): CompiledRule[] | undefined {
  const used = new Set<CompiledRule>();
  for (const item of items) {
    const rule = cover(item);
    if (rule === undefined) return undefined;
    if (rule !== "harmless") used.add(rule);
  }
  return [...used];
}

/** A denied program may be started by another one, unless every program is known to start none. */
function judgeStarted(one: Case): Verdict | undefined {
  const { subject, rules } = one;
  const [program] = subject.command?.hides?.programs ?? [];
  const [forbidding] = commandRules(rules, subject);
  if (program === undefined || !forbidding) return undefined;
  // A person has already decided about the program that a rule allows.
  const isAllowed = judgeAllow(one) !== undefined;
  if (isAllowed) return undefined;
  const { text, origin, list } = forbidding;
  return {
    decision: "ask",
    by: "policy",
    ...reasonText(list === "deny" ? "verdict.startsOthers" : "verdict.startsAsked", { program, rule: text, origin }),
    rule: text,
    origin,
  };
}

/** The rules that deny some commands, or ask about them. */
function commandRules({ deny, ask }: RulesOfTool, { tool, command }: Subject): CompiledRule[] {
  if (!command) return [];
  const found = [...deny, ...ask].filter(
    ({ rule }) => rule.family === "command" && !rule.isBare && !rule.hasConditions && !rule.comparesParameter(tool),
  );
  return found.map(({ rule }) => rule);
}

/** Whether an allow rule is exactly this command text: the person has seen what runs. */
function isNamedExactly({ allow }: RulesOfTool, { command }: Subject): boolean {
  if (!command || command.undetermined !== undefined) return false;
  const text = command.text.trim();
  return findNamed(allow, (rule) => !rule.isBare && rule.coversCommand({ text, exactOnly: true })) !== undefined;
}

/** Deny and ask rules also apply to words that are only known when the command runs. */
function judgeHidden(subject: Subject, rules: RulesOfTool): Verdict | undefined {
  const found = [...rules.deny, ...rules.ask].find(({ rule, isNamed }) => rule.mayTouchHidden(subject, isNamed));
  if (found && !(found.rule.family === "command" && isNamedExactly(rules, subject))) {
    const { text, origin, hasConditions } = found.rule;
    return {
      decision: "ask",
      by: "policy",
      ...reasonText(hasConditions ? "verdict.noValue" : "verdict.hidden", { rule: text, origin }),
      rule: text,
      origin,
    };
  }
  const hides = subject.command?.hides;
  if (!hides) return undefined;
  const names = subject.command?.text.split(/[\s'"`;|&()<>=:,{}/\\]+/) ?? [];
  const mayProtected =
    hides.changes.some(mayBecomeProtected) || (hides.commands.includes("") && names.some(isProtectedName));
  if (!mayProtected) return undefined;
  return {
    decision: "ask",
    by: "policy",
    ...reasonText("verdict.mayBeProtected"),
  };
}
