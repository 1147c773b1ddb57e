import type { CommandName } from "../../../core/signature.ts";
import type { AnyTool } from "../../../core/tool.ts";
import {
  compileHostPattern,
  compileOpening,
  compilePathPattern,
  compileWildcard,
  hasParameter,
  hasWildcard,
  matchParameter,
  parseParameterPattern,
  type PathPattern,
  type TextMatcher,
} from "./rule-patterns.ts";
import { ConditionError, conditionsHold } from "./rule-conditions.ts";
import { isEffectRule, parseRule, readTarget, type Rule, type RuleTarget, type RuleText } from "./rule.ts";
import { folderNames, type PathBases, type RuleFamily, type Subject, type SubjectPath } from "./rule-subject.ts";

/** A compiled rule. How its spec is read depends on what the call touches. */
export interface CompiledRule extends Rule {
  /** It matches all calls of the tools that it names. */
  isBare: boolean;
  family: RuleFamily | undefined;
  target: RuleTarget;
  /** Whether it can match calls of this tool. */
  appliesTo(tool: AnyTool): boolean;
  /** For deny and ask: whether anything in the call matches. `isNamed`: the rule names the tool itself. */
  touches(subject: Subject, isNamed: boolean): boolean;
  /** For deny and ask: whether it may match parts of a command that are only known at run time. */
  mayTouchHidden(subject: Subject, isNamed: boolean): boolean;
  /** For allow, with conditions: whether all of them hold for the call. */
  coversCall(subject: Subject): boolean;
  hasConditions: boolean;
  /** For a rule about commands: the program that it names, if it names one, and whether it matches all its commands. */
  program?: { name: string; isWhole: boolean };
  /** Whether it compares a parameter of the tool, `Bash(run_in_background:true)`, instead of the command. */
  comparesParameter(tool: AnyTool): boolean;
  /** For allow: whether it covers one path, command or address of a call of the tool. */
  coversPath(path: SubjectPath, subject: Subject): boolean;
  coversCommand(command: CommandName): boolean;
  coversUrl(url: string): boolean;
  coversText(text: string): boolean;
  /** For rules about paths: what a search skips. */
  pathGlob(bases: PathBases): string | undefined;
}

/** Throws a TypeError if the text is not a rule. */
export function compileRule(rule: Rule): CompiledRule {
  const { name, spec, conditions, problem } = readText(rule);
  if (problem !== undefined) throw new TypeError(`${describe(rule)}: ${problem}.`);
  if (rule.list === "allow" && isEffectRule(name)) {
    throw new ConditionError(
      `${describe(rule)}: a condition without a tool can ask or deny, not allow. Write Tool(${name}).`,
    );
  }
  const target = readTarget(name, rule.list);
  const list = rule.list === "allow" ? "allow" : "forbid";
  const source = rule.folder === undefined ? undefined : folderNames(rule.folder);
  const basesOf = withSource(source);
  const path = once(() => (spec === undefined ? undefined : compilePath(spec, list)));
  const host = once(() => (spec === undefined ? undefined : compileHostPattern(spec, list)));
  // `deny: Bash(touch)` means the program, with any words.
  const isProgram = list === "forbid" && target.family === "command" && /^[^\s*:]+$/.test(spec?.trim() ?? "");
  const matched = isProgram ? `${spec?.trim()} *` : (spec ?? "*").trim();
  const command = once(() => compileCommandPattern(matched));
  const opening = once(() => compileOpening(commandPattern(matched)));
  const parameter = spec === undefined || conditions ? undefined : parseParameterPattern(spec);
  const spelledOut = once(() => new Set(commandPattern(spec ?? "").split(/\s+/)));
  const isExact = spec !== undefined && !hasWildcard(commandPattern(spec));

  const compiled: CompiledRule = {
    ...rule,
    isBare: spec === undefined,
    hasConditions: conditions !== undefined,
    program: target.family === "command" && spec !== undefined && !conditions ? programOf(spec) : undefined,
    comparesParameter: (tool) => parameter !== undefined && hasParameter(tool, parameter.name),
    family: target.family,
    target,
    appliesTo: (tool) => target.names(tool) || target.mayApplyTo(tool),
    touches(subject, isNamed) {
      if (!isNamed && !(target.family && subject.has[target.family])) return false;
      if (spec === undefined) return isNamed || touchesFamily(target.family, subject);
      // If a value cannot be compared, asking is safe. A denial would refuse calls that it does not mean.
      if (conditions) return isNamed && (conditionsHold(conditions, subject) ?? rule.list === "ask");
      if (parameter && isNamed) {
        const matched = matchParameter(parameter, subject);
        if (matched !== undefined) return matched === "unknown" ? rule.list === "ask" : matched;
      }
      return touchesPaths(subject, isNamed) || touchesRest(subject);
    },
    mayTouchHidden(subject, isNamed) {
      if (conditions) return isNamed && conditionsHold(conditions, subject) === undefined;
      const matched = parameter && isNamed ? matchParameter(parameter, subject) : undefined;
      if (matched === "unknown") return true;
      const hides = subject.command?.hides;
      if (!hides || spec === undefined) return false;
      const { family } = target;
      if (family === "reads" || family === "changes") return hides[family].length > 0 || hides.commands.includes("");
      if (family === "urls" || (family === undefined && !isNamed)) return false;
      if (matched !== undefined) return false;
      return hides.commands.some(opening());
    },
    coversCall: (subject) => conditions !== undefined && conditionsHold(conditions, subject) === true,
    coversPath: (one, subject) => path()?.matches(one, basesOf(subject.bases)) ?? false,
    coversCommand({ text, exactOnly, spelled = [] }) {
      if (isExact) return command()(text);
      return !exactOnly && spelled.every((word) => spelledOut().has(word)) && command()(text);
    },
    coversUrl: (url) => host()?.(url) ?? false,
    coversText: (text) => command()(text),
    pathGlob: (bases) => path()?.glob(basesOf(bases)),
  };
  return compiled;

  function touchesPaths(subject: Subject, isNamed: boolean): boolean {
    const { family } = target;
    if (!isNamed && family !== "reads" && family !== "changes") return false;
    const pattern = path();
    if (!pattern) return false;
    const bases = basesOf(subject.bases);
    if (family !== "changes") {
      for (const one of subject.reads) if (pattern.matches(one, bases)) return true;
      if (family) for (const one of subject.commandReads()) if (pattern.matches(one, bases)) return true;
    }
    if (family === "reads") return false;
    const taken = (one: SubjectPath): boolean => pattern.matches(one, bases) || pattern.isParentOf(one, bases);
    return subject.changes.some(taken) || (family === "changes" && subject.commandChanges().some(taken));
  }

  function touchesRest({ command: reading, urls, text, reads, changes }: Subject): boolean {
    const { family } = target;
    if (family === "reads" || family === "changes") return false;
    if (reading && (family === "command" || family === undefined)) return reading.seen.some(command());
    if (urls.length > 0) return urls.some(host() ?? command());
    return text !== undefined && reads.length === 0 && changes.length === 0 && command()(text);
  }
}

function describe({ text, origin }: Rule): string {
  return `The rule ${JSON.stringify(text)} of ${origin}`;
}

function readText(rule: Rule): RuleText {
  try {
    return parseRule(rule.text);
  } catch (error) {
    if (error instanceof ConditionError) throw new ConditionError(`${describe(rule)}: ${error.message}.`);
    throw error;
  }
}

function touchesFamily(family: RuleFamily | undefined, subject: Subject): boolean {
  switch (family) {
    case "reads":
      return subject.reads.length > 0;
    case "changes":
      return subject.changes.length > 0;
    case "command":
      return subject.command !== undefined;
    case "urls":
      return subject.urls.length > 0;
    case undefined:
      return false;
  }
}

function commandPattern(spec: string): string {
  return spec.endsWith(":*") ? `${spec.slice(0, -2)} *` : spec;
}

function programOf(spec: string): CompiledRule["program"] {
  const [name = "", ...rest] = commandPattern(spec.trim()).split(/\s+/);
  if (name === "" || hasWildcard(name)) return undefined;
  return { name, isWhole: rest.length === 0 || (rest.length === 1 && rest[0] === "*") };
}

function compileCommandPattern(spec: string): TextMatcher {
  return compileWildcard(commandPattern(spec.trim()));
}

/** A pattern that cannot be compiled (too long, too many alternatives) allows nothing and denies everything. */
function compilePath(spec: string, list: "forbid" | "allow"): PathPattern {
  try {
    return compilePathPattern(spec, list);
  } catch {
    return { matches: () => list === "forbid", isParentOf: () => false, glob: () => "**" };
  }
}

/** The places with the rule's own folder, cached while they stay the same. */
function withSource(source: readonly string[] | undefined): (bases: PathBases) => PathBases {
  if (!source) return (bases) => bases;
  let of: PathBases | undefined;
  let made: PathBases | undefined;
  return (bases) => {
    if (of !== bases || !made) [of, made] = [bases, { ...bases, source }];
    return made;
  };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
