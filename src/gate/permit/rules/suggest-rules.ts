import { homedir } from "node:os";
import { relative } from "node:path";
import type { CommandPart } from "../../../core/signature.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { isInside } from "../../../io/files/path-name.ts";
import { escapeWildcard, hostOf } from "./rule-patterns.ts";
import { isReadOnlyPart, pathBasesFor, readSubject, type Subject, type SubjectPath } from "./rule-subject.ts";
import { parseRule } from "./rule.ts";

const MAX_RULES = 5;

export interface SuggestedFor {
  tool: AnyTool;
  input: unknown;
  cwd: string;
  home?: string;
}

/**
 * The rules that "always allow" would save for this call: for a command one per program that it really runs, never
 * one for the wrapper around it; for files exactly these files. None if no reusable rule exists.
 */
export function suggestRules({ tool, input, cwd, home = homedir() }: SuggestedFor): string[] {
  const own = tool.rule?.(input);
  if (own !== undefined) return own === "" ? [] : [namesTool(own, tool) ? own : ruleOf(tool, own)];
  const subject = readSubject(tool, input, pathBasesFor(cwd, home));
  const rules = subject.failed ? [] : [...new Set(rulesFor(subject) ?? [])];
  return rules.length > MAX_RULES ? [] : rules;
}

function rulesFor(subject: Subject): string[] | undefined {
  const { tool, command, changes, reads, urls, text } = subject;
  if (command) return rulesForCommand(subject);
  if (changes.length > 0) return changes.map((path) => `Edit(${pathSpec(path, subject)})`);
  if (reads.length > 0) return reads.map((path) => `Read(${pathSpec(path, subject)})`);
  if (urls.length > 0) {
    const hosts = urls.map(hostOf);
    return hosts.includes(undefined) ? undefined : hosts.map((host) => `${shownName(tool)}(domain:${host})`);
  }
  return [text === undefined ? shownName(tool) : ruleOf(tool, escapeWildcard(text))];
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
    const length = inner.exactOnly && !runs ? undefined : prefixLength(text);
    return length === undefined ? escapeWildcard(text) : `${text.split(" ").slice(0, length).join(" ")} *`;
  });
}

/** Exactly this path, with pattern characters escaped. */
function pathSpec({ name }: SubjectPath, { bases }: Subject): string {
  const folder = bases.cwd.find((each) => isInside(name, each));
  const shown = folder === undefined ? `/${name}` : `./${relative(folder, name)}`;
  return shown.replace(/[*?[\]{}\\]/g, "\\$&");
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

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Programs whose second word is a subcommand. */
const WITH_SUBCOMMANDS = words(`
  git npm pnpm yarn bun deno cargo go pip pip3 uv poetry docker podman kubectl helm gh glab make just brew apt apt-get dotnet
  terraform mix rails bundle gradle mvn composer npx bunx pytest tsc vitest jest eslint prettier ruff mypy
`);
/** Subcommands with a third word: `npm run test`, `git stash pop`, `docker compose up`. */
const WITH_TWO = words(`
  npm:run pnpm:run yarn:run bun:run deno:task git:stash git:remote git:submodule git:worktree docker:compose docker:image
  docker:container gh:pr gh:issue gh:repo gh:run uv:pip
`);
/** The rest decides too much: only the exact command is suggested. */
const ONLY_AS_IT_IS = words(`
  git:push git:reset git:clean git:checkout git:branch git:rebase git:filter-branch git:config docker:run docker:exec
  podman:run podman:exec kubectl:exec kubectl:delete helm:uninstall npm:exec npm:publish pnpm:exec pnpm:dlx yarn:dlx
  bun:x deno:run deno:eval go:run uv:run poetry:run bundle:exec terraform:destroy terraform:apply gh:api cargo:publish
`);
/** Programs that need no subcommand. */
const WHOLE = words("pytest tsc vitest jest eslint prettier ruff mypy");

/** How many first words of a command say what it does; undefined if only the whole command does. */
function prefixLength(command: string): number | undefined {
  const [program = "", first, second] = command.split(" ");
  if (!WITH_SUBCOMMANDS.has(program)) return undefined;
  if (WHOLE.has(program)) return 1;
  if (!isName(first) || ONLY_AS_IT_IS.has(`${program}:${first}`)) return undefined;
  if (!WITH_TWO.has(`${program}:${first}`)) return 2;
  return isName(second) ? 3 : undefined;
}

function isName(word: string | undefined): word is string {
  return word !== undefined && /^[A-Za-z][\w:@./-]*$/.test(word);
}
