import type { CommandPart } from "../../core/signature.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { isReadOnlyPart } from "./read-only-part.ts";
import type { IndexedRule } from "./rule-index.ts";
import type { Subject, SubjectPath } from "./subject.ts";

export interface CoverageOptions {
  /** Whether a change of this file is allowed without a rule, by the mode. */
  mayChange(path: SubjectPath): boolean;
  isInside(path: SubjectPath): boolean;
}

/**
 * The rules that together allow a call: each thing that it touches must be covered by one of them, or be harmless by
 * itself. Undefined where something is left over.
 */
export function findCoverage(
  rules: readonly IndexedRule[],
  subject: Subject,
  options: CoverageOptions,
): readonly CompiledRule[] | undefined {
  const whole = rules.find(({ rule, isNamed }) => rule.isBare && (isNamed || touchesOnly(rule, subject)));
  if (whole) return [whole.rule];
  const scoped = rules.filter(({ rule }) => !rule.isBare);
  if (scoped.length === 0) return undefined;
  if (subject.command) return coverCommand(scoped, subject, options);
  const { changes, reads, urls, text } = subject;
  if (changes.length > 0) return coverAll(changes, (path) => findPathRule(scoped, path, subject, "changes"));
  if (reads.length > 0) return coverAll(reads, (path) => findPathRule(scoped, path, subject, "reads"));
  if (urls.length > 0) return coverAll(urls, (url) => findNamed(scoped, (rule) => rule.coversUrl(url)));
  return text === undefined ? undefined : coverAll([text], (one) => findNamed(scoped, (rule) => rule.coversText(one)));
}

/** `Edit` alone covers every tool that changes files; `Read` those that read and change nothing. */
function touchesOnly({ family }: CompiledRule, { changes, reads }: Subject): boolean {
  return family === "changes" ? changes.length > 0 : family === "reads" && changes.length === 0 && reads.length > 0;
}

function coverCommand(
  rules: readonly IndexedRule[],
  subject: Subject,
  { mayChange, isInside }: CoverageOptions,
): readonly CompiledRule[] | undefined {
  const command = subject.command as NonNullable<Subject["command"]>;
  if (command.undetermined !== undefined || !rules.some(({ isNamed }) => isNamed)) return undefined;
  // Somebody allowed this very text, with all that is in it.
  const asWritten = findNamed(rules, (rule) => rule.coversCommand(command.text.trim(), true));
  if (asWritten) return [asWritten];
  if (command.closed !== undefined) return undefined;
  const covered = coverAll(command.parts, (part) => coverPart(rules, part, subject));
  const outputs = coverAll(subject.outputs(), (path) =>
    mayChange(path) ? "harmless" : findPathRule(rules, path, subject, "changes"),
  );
  const inputs = coverAll(subject.inputs(), (path) =>
    isInside(path) ? "harmless" : findPathRule(rules, path, subject, "reads"),
  );
  if (!covered || !outputs || !inputs) return undefined;
  // Without any rule it is for the tool to say.
  const used = [...covered, ...outputs, ...inputs];
  return used.length > 0 ? used : undefined;
}

function coverPart(
  rules: readonly IndexedRule[],
  part: CommandPart,
  subject: Subject,
): CompiledRule | "harmless" | undefined {
  if (part.harmless) return "harmless";
  if (part.closed !== undefined) return undefined;
  for (const { text, exactOnly } of part.forms) {
    const rule = findNamed(rules, (each) => each.coversCommand(text, exactOnly));
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
