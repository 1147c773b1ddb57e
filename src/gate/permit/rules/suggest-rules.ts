import { homedir } from "node:os";
import { relative } from "node:path";
import { type CommandPart, commandParser } from "../../../core/signature.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { isInside } from "../../../io/files/path-name.ts";
import { type ToolAnswers, withAnswers } from "../../tool-answers.ts";
import { isObject } from "../../../schema/json-schema.ts";
import { isNameOf, leavesOf, namesEveryArgument, NOTHING_ELSE, shownName } from "./rule-conditions.ts";
import { escapeWildcard, hostOf } from "./rule-patterns.ts";
import { isReadOnlyPart, pathBasesFor, readSubject, type Subject, type SubjectPath } from "./rule-subject.ts";
import { parseRule, readTarget } from "./rule.ts";

const MAX_RULES = 5;

export interface SuggestedFor {
  tool: AnyTool;
  input: unknown;
  cwd: string;
  home?: string;
  /** As in `JudgedCall`. */
  answers?: ToolAnswers | undefined;
}

/** What "this session" and "always" can save for a call. */
export interface SuggestedRules {
  /** They allow the values that were shown and no more. Empty if no rule can say that. */
  narrow: string[];
  /** Each allows more: any values, the folder, the host. A person may choose one. */
  broader: string[][];
}

/**
 * The rules that "always allow" saves for this call. They bind every argument: a number at most this amount, a text
 * exactly, and no further argument. For a command there is one per program that it really runs, in the same form, never one
 * for the wrapper around it; for files exactly these files.
 */
export function suggestRules(call: SuggestedFor): string[] {
  return suggestAll(call).narrow;
}

function suggestAll({ tool, input, cwd, home = homedir(), answers }: SuggestedFor): SuggestedRules {
  const own = tool.rule?.(input);
  // The tool can be allowed only once.
  if (own === "") return { narrow: [], broader: [] };
  const subject = readSubject(tool, input, pathBasesFor(cwd, home), answers);
  const narrow = subject.failed ? [] : [...new Set(narrowRules(subject))];
  const broader = subject.failed ? [] : broaderRules(subject);
  if (own !== undefined) broader.unshift([namesTool(own, tool) ? own : ruleOf(tool, own)]);
  return { narrow: narrow.length > MAX_RULES ? [] : narrow, broader };
}

/** The suggestions that really allow the call. If none: this exact command, unless its program is only known later. */
export async function suggestSufficientRules(
  call: SuggestedFor,
  allows: (rules: readonly string[]) => boolean | Promise<boolean>,
): Promise<SuggestedRules> {
  const { narrow, broader } = await withAnswers((answers) => suggestAll({ ...call, answers }));
  const sufficient: string[][] = [];
  for (const rules of broader) {
    if (rules.join("\n") !== narrow.join("\n") && (await allows(rules))) sufficient.push(rules);
  }
  if (narrow.length > 0 && (await allows(narrow))) return { narrow, broader: sufficient };
  const bases = pathBasesFor(call.cwd, call.home ?? homedir());
  const { command } = await withAnswers((answers) => readSubject(call.tool, call.input, bases, answers));
  const isCertain = command?.problem === undefined && command?.parts.every(({ program }) => !/[$`*?[{~]/.test(program));
  if (!command || !isCertain || command.text.length > MAX_EXACT_LENGTH) return { narrow: [], broader: sufficient };
  const exact = [ruleOf(call.tool, escapeWildcard(command.text.trim()))];
  return { narrow: (await allows(exact)) ? exact : [], broader: sufficient };
}

/** A longer rule is not readable in a question or in a file. */
const MAX_EXACT_LENGTH = 1000;

function narrowRules(subject: Subject): string[] {
  const { tool, command, changes, reads, urls, input } = subject;
  if (command) return rulesForCommand(subject) ?? [];
  // Other tools have further arguments, which a rule about files does not bind.
  if (tool.origin.type === "builtin") {
    if (changes.length > 0) return changes.map((path) => `Edit(${pathSpec(path, subject)})`);
    if (reads.length > 0) return reads.map((path) => `Read(${pathSpec(path, subject)})`);
  }
  // Rules about `WebFetch` match hosts, never parameters.
  if (urls.length > 0 && readTarget(tool.name, "allow").family === "urls") return hostRules(subject);
  const bound = boundValues(tool, input);
  return bound === undefined ? [] : [bound];
}

/** The folder of the files, the host, any values. */
function broaderRules(subject: Subject): string[][] {
  const { tool, command, changes, reads, urls, text } = subject;
  if (command) return [];
  const isBuiltin = tool.origin.type === "builtin";
  if (changes.length + reads.length > 0) {
    const rules = changes.map((path) => `Edit(${pathSpec(path, subject)})`);
    const folders = changes.map((path) => `Edit(${folderSpec(path, subject)})`);
    return isBuiltin ? [[...new Set(folders)]] : [rules];
  }
  if (urls.length > 0) return [hostRules(subject)].filter((rules) => rules.length > 0);
  // Otherwise the text could be read as a condition.
  const escaped = escapeWildcard(text ?? "").replace(/[<>]|[=!]=/g, "\\$&");
  return [...(text === undefined ? [] : [[ruleOf(tool, escaped)]]), ...(isBuiltin ? [] : [[shownName(tool)]])];
}

function hostRules({ tool, urls }: Subject): string[] {
  const hosts = urls.map(hostOf);
  return hosts.includes(undefined) ? [] : hosts.map((host) => `${shownName(tool)}(domain:${host})`);
}

/** Numbers of which a smaller one does less. Of others, such as an id, only the same one is the same call. */
const QUANTITY = /(?:amount|total|price|cost|sum|fee|quantity|count)$/i;
const CONDITION_NAME = /^[A-Za-z_][\w-]*$/;

/** A rule that binds every argument of the call. Undefined if one of them cannot be compared. */
function boundValues(tool: AnyTool, input: unknown): string | undefined {
  // A rule with such a name would be one about files, commands or hosts.
  if (!isObject(input) || readTarget(shownName(tool), "allow").family) return undefined;
  const leaves = leavesOf(input);
  const conditions: string[] = [];
  for (const [path, value] of leaves) {
    const condition = path.every((name) => CONDITION_NAME.test(name)) ? boundValue(path, value) : undefined;
    if (condition === undefined) return undefined;
    conditions.push(condition);
  }
  const paths = leaves.map(([path]) => path);
  if (!namesEveryArgument(tool, paths)) conditions.push(NOTHING_ELSE);
  const rule = conditions.length === 0 ? shownName(tool) : `${shownName(tool)}(${conditions.join(" && ")})`;
  return rule.length > MAX_EXACT_LENGTH || !isReadBack(rule, conditions.length) ? undefined : rule;
}

function boundValue(path: readonly string[], value: unknown): string | undefined {
  const name = path.join(".");
  switch (typeof value) {
    case "boolean":
      return `${name}==${value}`;
    case "number": {
      if (!/^-?\d+(?:\.\d+)?$/.test(String(value))) return undefined;
      // Without a lower bound, a negative amount would be covered.
      return value >= 0 && QUANTITY.test(path.at(-1) ?? "") ? `${name}>=0 && ${name}<=${value}` : `${name}==${value}`;
    }
    case "string": {
      const quote = ['"', "'"].find((each) => !value.includes(each));
      return quote === undefined || /[\u0000-\u001f\u007f\u2028\u2029]/.test(value)
        ? undefined
        : `${name}==${quote}${value}${quote}`;
    }
    default:
      return undefined;
  }
}

/** Whether the rule means what was written: a name could be one of a group, or the text another kind of rule. */
function isReadBack(rule: string, count: number): boolean {
  const { problem, conditions = [] } = parseRule(rule);
  return problem === undefined && (count === 0 ? conditions.length === 0 : conditions.length >= count);
}

function rulesForCommand(subject: Subject): string[] | undefined {
  const command = subject.command as NonNullable<Subject["command"]>;
  if ((command.problem ?? command.closed ?? command.undetermined) !== undefined) return undefined;
  const rules: string[] = [];
  for (const part of command.parts) {
    if (part.harmless || isReadOnlyPart(part, subject)) continue;
    const programs = programsOf(part);
    if (!programs) return undefined;
    rules.push(...programs.map((spec) => ruleOf(subject.tool, spec)));
  }
  return [...rules, ...subject.outputs().map((path) => `Edit(${pathSpec(path, subject)})`)];
}

/** `npm run test *` of `timeout 5 npm run test --watch`, `whoami` of `zsh -lc whoami`. */
function programsOf({ forms, runs, closed }: CommandPart): string[] | undefined {
  const inner = forms.at(-1);
  if (closed !== undefined || inner === undefined || runs?.length === 0) return undefined;
  return (runs ?? [inner.text]).map((text) => {
    const isClosed = !runs && (inner.exactOnly || inner.spelled !== undefined);
    const length = isClosed ? undefined : commandParser()?.prefixLength(text);
    return length === undefined ? escapeWildcard(text) : `${text.split(" ").slice(0, length).join(" ")} *`;
  });
}

/** All that is in the folder of this path. */
function folderSpec(path: SubjectPath, subject: Subject): string {
  return `${pathSpec(path, subject).replace(/\/[^/]*$/, "")}/**`;
}

/** Exactly this path, with pattern characters escaped. */
function pathSpec({ name }: SubjectPath, { bases }: Subject): string {
  const folder = bases.cwd.find((each) => isInside(name, each));
  const shown = folder === undefined ? `/${name}` : `./${relative(folder, name)}`;
  return shown.replace(/[*?[\]{}()\\]/g, "\\$&");
}

function ruleOf(tool: AnyTool, spec: string): string {
  return `${shownName(tool)}(${spec.replace(/[()\\]/g, (found) => (found === "\\" ? found : `\\${found}`))})`;
}

function namesTool(text: string, tool: AnyTool): boolean {
  const { name, spec, problem } = parseRule(text);
  return problem === undefined && (spec !== undefined || text.trim() === name) && isNameOf(name, tool);
}
