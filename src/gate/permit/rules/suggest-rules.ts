import { homedir } from "node:os";
import { relative } from "node:path";
import type { CommandPart } from "../../../core/signature.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { isInside } from "../../../io/files/path-name.ts";
import { prefixLength } from "../../../io/shell/prefix-forms.ts";
import { type ToolAnswers, withAnswers } from "../../tool-answers.ts";
import { escapeWildcard, hostOf } from "./rule-patterns.ts";
import { isReadOnlyPart, pathBasesFor, readSubject, type Subject, type SubjectPath } from "./rule-subject.ts";
import { parseRule } from "./rule.ts";

const MAX_RULES = 5;

export interface SuggestedFor {
  tool: AnyTool;
  input: unknown;
  cwd: string;
  home?: string;
  /** As in `JudgedCall`. */
  answers?: ToolAnswers | undefined;
}

/**
 * The rules that "always allow" would save for this call: for a command one per program that it really runs, never
 * one for the wrapper around it; for files exactly these files. None if no reusable rule exists.
 */
export function suggestRules({ tool, input, cwd, home = homedir(), answers }: SuggestedFor): string[] {
  const own = tool.rule?.(input);
  if (own !== undefined) return own === "" ? [] : [namesTool(own, tool) ? own : ruleOf(tool, own)];
  const subject = readSubject(tool, input, pathBasesFor(cwd, home), answers);
  const rules = subject.failed ? [] : [...new Set(rulesFor(subject) ?? [])];
  return rules.length > MAX_RULES ? [] : rules;
}

/**
 * The first suggestion that really allows the call: the reusable rules, else a rule for exactly this command. A command
 * whose program is only known at run time has no such rule.
 */
export async function suggestSufficientRules(
  call: SuggestedFor,
  allows: (rules: readonly string[]) => boolean | Promise<boolean>,
): Promise<string[]> {
  const reusable = await withAnswers((answers) => suggestRules({ ...call, answers }));
  if (reusable.length > 0 && (await allows(reusable))) return reusable;
  const bases = pathBasesFor(call.cwd, call.home ?? homedir());
  const { command } = await withAnswers((answers) => readSubject(call.tool, call.input, bases, answers));
  const isCertain = command?.problem === undefined && command?.parts.every(({ program }) => !/[$`*?[{~]/.test(program));
  if (!command || !isCertain || command.text.length > MAX_EXACT_LENGTH) return [];
  const exact = [ruleOf(call.tool, escapeWildcard(command.text.trim()))];
  return (await allows(exact)) ? exact : [];
}

/** A longer rule is not readable in a question or in a file. */
const MAX_EXACT_LENGTH = 1000;

function rulesFor(subject: Subject): string[] | undefined {
  const { tool, command, changes, reads, urls, text } = subject;
  if (command) return rulesForCommand(subject);
  if (changes.length > 0) return changes.map((path) => `Edit(${pathSpec(path, subject)})`);
  if (reads.length > 0) return reads.map((path) => `Read(${pathSpec(path, subject)})`);
  if (urls.length > 0) {
    const hosts = urls.map(hostOf);
    return hosts.includes(undefined) ? undefined : hosts.map((host) => `${shownName(tool)}(domain:${host})`);
  }
  // Otherwise the text could be read as a condition.
  const escaped = escapeWildcard(text ?? "").replace(/[<>]|[=!]=/g, "\\$&");
  return [text === undefined ? shownName(tool) : ruleOf(tool, escaped)];
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
    const length = isClosed ? undefined : prefixLength(text);
    return length === undefined ? escapeWildcard(text) : `${text.split(" ").slice(0, length).join(" ")} *`;
  });
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

/** The name that users know from other tools' rules. */
function shownName(tool: AnyTool): string {
  return tool.dialects["claude"]?.name ?? tool.name;
}

function namesTool(text: string, tool: AnyTool): boolean {
  const { name, spec, problem } = parseRule(text);
  const names = [tool.name, ...tool.aliases, shownName(tool)];
  return problem === undefined && (spec !== undefined || text.trim() === name) && names.includes(name);
}
