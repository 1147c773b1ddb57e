import { errorMessage } from "../../../core/error.ts";
import { localizedText, type TextKey } from "../../../core/localized-text.ts";
import { didYouMean } from "../../../core/nearest-name.ts";
import { signatureOf } from "../../../core/signature.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { compileGlob } from "../../../io/files/glob-pattern.ts";
import { NO_PREFIX_RULES, TRANSPARENT_WRAPPERS } from "../../../core/signature.ts";
import { isOriginGroup, TOOL_GROUPS } from "../tool-groups.ts";
import { compileWildcard, hasWildcard, parseParameterPattern, propertyNames } from "./rule-patterns.ts";
import { type Condition, looksLikeCondition } from "./rule-conditions.ts";
import {
  isEffectRule,
  isMute,
  mayAllow,
  parseRule,
  readTarget,
  type Rule,
  RULE_LISTS,
  type RuleList,
  type RuleSource,
  type RuleText,
  ruleToolName,
} from "./rule.ts";

/** Tools of Claude Code, Gemini and OpenCode that Haft does not have. Rules about them are no misspellings. */
const ELSEWHERE: ReadonlySet<string> = new Set(
  [
    "exitplanmode enterplanmode exitworktree enterworktree bashoutput killshell",
    "killbash taskoutput taskstop taskcreate taskget tasklist taskupdate slashcommand lsp structuredoutput toolsearch",
    "listmcpresourcestool readmcpresourcetool sendmessage teamcreate teamdelete croncreate crondelete cronlist",
    "powershell monitor workflow remotetrigger list_directory search_file_content replace save_memory",
    "google_web_search patch list codesearch",
  ].flatMap((names) => names.split(" ")),
);
const KINDS = ["kind:readonly", "kind:write", "kind:execute"];

/** Rules that never match, are shadowed by others, or mean something unexpected; with what to write instead. */
export function lintRules(sources: readonly RuleSource[], tools: readonly AnyTool[] = []): RuleFinding[] {
  const rules = sources.flatMap(rulesOf);
  const findings = rules.flatMap((rule) =>
    remarksOn(rule, rules, tools).map((found): RuleFinding => ({
      ...found,
      rule: rule.text,
      list: rule.list,
      origin: rule.origin,
    })),
  );
  for (const { origin, defaultMode } of sources) {
    if (defaultMode !== "bypassPermissions" || origin !== "project") continue;
    const ignored = remark("error", "mode_ignored", "lint.projectMode");
    findings.push({ ...ignored, rule: defaultMode, list: "defaultMode", origin });
  }
  return [...findings, ...sources.flatMap((source) => lintLimits(source, tools))];
}

interface Named {
  policy: { lint(): RuleFinding[]; provenance: { settings: { tools: object } } };
  tools: { registry: { list(): readonly AnyTool[] } };
}

/** For a start: names that are near to one that exists, so probably misspelt. Others may be registered later. */
export function misspeltNames({ policy, tools }: Named): string[] {
  const isNear = ({ code, values }: RuleRemark): boolean =>
    code === "unknown_tool" && String(values?.["hint"]).startsWith("Did you mean");
  const all = tools.registry.list();
  const labelled = Object.keys(policy.provenance.settings.tools).map((name) => {
    return { name, found: lintName({ name }, { text: name, list: "deny", origin: "" }, all) };
  });
  return [
    ...policy
      .lint()
      .filter(isNear)
      .map(({ origin, list, rule, message }) => `${rule} in permissions.${list} of ${origin}: ${message}`),
    ...labelled.flatMap(({ name, found }) =>
      found && isNear(found) ? `${name} in provenance.tools: ${found.message}` : [],
    ),
  ];
}

/** Limits that count nothing. What is malformed was refused before. */
function lintLimits({ limits = [], origin }: RuleSource, tools: readonly AnyTool[]): RuleFinding[] {
  return limits.flatMap((limit) => {
    const names = [limit.tools ?? []].flat();
    const found = names.flatMap((name) => lintName({ name }, { text: name, list: "deny", origin }, tools) ?? []);
    const paying = tools.filter((tool) => tool.amount && names.some((name) => readTarget(name, "deny").names(tool)));
    if (limit.sum && names.length > 0 && found.length === 0 && tools.length > 0 && paying.length === 0)
      found.push(remark("warning", "never_matches", "lint.limitAmount"));
    return found.map((each) => ({ ...each, rule: names.join(", "), list: "limits", origin }));
  });
}

function rulesOf({ origin, folder, ...lists }: RuleSource): Rule[] {
  return RULE_LISTS.flatMap((list) =>
    (lists[list] ?? []).map((text) => ({
      text: text.trim(),
      list,
      origin,
      folder,
    })),
  );
}

function remarksOn(rule: Rule, all: readonly Rule[], tools: readonly AnyTool[]): RuleRemark[] {
  let parsed: RuleText;
  try {
    parsed = parseRule(rule.text);
  } catch (error) {
    return [{ level: "error", code: "malformed", message: `${errorMessage(error)}.` }];
  }
  if (parsed.problem !== undefined) return [{ level: "error", code: "malformed", message: `${parsed.problem}.` }];
  const unknown = lintName(parsed, rule, tools);
  if (unknown) return [unknown];
  const shadow = findShadow(rule, all);
  return [...lintSpec(parsed, rule, tools), ...(shadow ? [shadow] : [])];
}

function lintName({ name }: RuleText, { list }: Rule, tools: readonly AnyTool[]): RuleRemark | undefined {
  if (list === "allow" && !mayAllow(name)) {
    return remark("error", "ignored", "lint.allowPattern");
  }
  const key = name.toLowerCase();
  const known = (hint: string | undefined, otherwise: string): RuleRemark =>
    remark("error", "unknown_tool", "lint.unknown", { name, hint: hint ?? otherwise });
  if (isEffectRule(name)) return undefined;
  if (key.startsWith("kind:")) {
    return KINDS.includes(key) ? undefined : known(didYouMean(name, KINDS), `Kinds are ${KINDS.join(", ")}.`);
  }
  if (key.startsWith("group:")) {
    const groups = Object.keys(TOOL_GROUPS);
    if (groups.includes(key) || isOriginGroup(key)) return undefined;
    return known(didYouMean(name, groups), `Groups are ${groups.join(", ")}.`);
  }
  if (key.startsWith("mcp__") || name.includes("*") || tools.length === 0) return undefined;
  const target = readTarget(name, "deny");
  if (target.family || tools.some((tool) => target.names(tool))) return undefined;
  const folded = ruleToolName(name);
  if (Object.values(TOOL_GROUPS).some((members) => members.includes(folded))) return undefined;
  if (ELSEWHERE.has(folded)) return remark("note", "unknown_tool", "lint.elsewhere", { name });
  const names = tools.flatMap((tool) => [tool.name, ...tool.aliases]);
  const unknown = known(didYouMean(name, names), "It may be registered later, or be misspelled.");
  return { ...unknown, level: "warning" };
}

function lintCondition({ text, parameter }: Condition, named: readonly AnyTool[]): RuleRemark[] {
  const [first] = parameter ?? [];
  const known = named.flatMap((tool) => [...propertyNames(tool)]);
  if (first === undefined || known.length === 0) return [];
  if (named.some((tool) => propertyNames(tool).has(aliased(tool, first)))) return [];
  const hint = didYouMean(first, known) ?? `It has ${known.join(", ")}.`;
  return [remark("error", "never_matches", "lint.noParameter", { condition: text, parameter: first, hint })];
}

function lintSpec({ name, spec, conditions }: RuleText, { list, text }: Rule, tools: readonly AnyTool[]): RuleRemark[] {
  if (spec === undefined) return [];
  const target = readTarget(name, "deny");
  const named = tools.filter((tool) => target.names(tool));
  if (conditions) return conditions.flatMap((condition) => lintCondition(condition, named));
  const parameter = parseParameterPattern(spec);
  const owner = parameter && named.find((tool) => propertyNames(tool).has(aliased(tool, parameter.name)));
  if (parameter && (owner || /^(?:command|file_path|path|url)$/.test(parameter.name))) {
    if (
      /^(?:command|file_path|path|url|from|to|patch)$/.test(owner ? aliased(owner, parameter.name) : parameter.name)
    ) {
      const value = spec.slice(parameter.name.length + 1);
      return [
        remark("error", "ignored", "lint.matchedAlready", { parameter: parameter.name, rule: `${name}(${value})` }),
      ];
    }
    return list === "allow" ? [remark("error", "ignored", "lint.allowParameter")] : [];
  }
  if (target.family === "command") return lintCommandRule(spec, list);
  if (target.family === "urls") return lintHost(spec, list);
  const isFileTool = named.some((tool) => touchesFiles(tool));
  if (target.family === "reads" || target.family === "changes" || isFileTool)
    return lintPath(text, spec, target.family, named);
  return isMute(named) ? [remark("error", "never_matches", "lint.noSignature")] : [];
}

function aliased(tool: AnyTool, parameter: string): string {
  return tool.parameterAliases.get(parameter) ?? parameter;
}

function lintHost(spec: string, list: Rule["list"]): RuleRemark[] {
  const host = /^domain:(.+)$/i.exec(spec)?.[1];
  if (host === undefined) {
    return list === "allow" ? [remark("error", "ignored", "lint.host")] : [];
  }
  if (list !== "allow" || !host.replace(/^\*(?:\.|$)/, "").includes("*")) return [];
  return [remark("error", "never_matches", "lint.hostPattern")];
}

function lintPath(text: string, spec: string, family: string | undefined, named: readonly AnyTool[]): RuleRemark[] {
  if (spec.startsWith("!")) {
    return [remark("error", "never_matches", "lint.negation")];
  }
  try {
    compileGlob(spec);
  } catch (error) {
    return [{ level: "error", code: "never_matches", message: errorMessage(error) }];
  }
  if (family !== undefined) return [];
  const general = named.some(({ isReadOnly }) => isReadOnly) ? "Read" : "Edit";
  return [remark("note", "only_here", "lint.onlyHere", { rule: text, general: `${general}(${spec})` })];
}

/** Tried with a text in every parameter: a tool gives its signature only for an input. */
function touchesFiles(tool: AnyTool): boolean {
  try {
    const probe = Object.fromEntries(Array.from(propertyNames(tool), (name) => [name, "x"]));
    const signature = signatureOf(tool, probe);
    if (signature instanceof Promise) {
      signature.catch(() => undefined);
      return false;
    }
    const { reads, changes } = signature ?? { text: "" };
    return reads !== undefined || changes !== undefined;
  } catch {
    return false;
  }
}

/** Something about a rule that its author probably did not mean. */
export interface RuleFinding {
  /** `error`: no effect, or another one than written. `warning`: more or less effect than it seems. `note`: information. */
  level: "error" | "warning" | "note";
  code:
    | "malformed"
    | "unknown_tool"
    | "ignored"
    | "never_matches"
    | "too_wide"
    | "shadowed"
    | "duplicate"
    | "only_here"
    | "mode_ignored";
  rule: string;
  list: Rule["list"] | "defaultMode" | "limits";
  origin: string;
  /** What is wrong, and what to write instead. */
  message: string;
  /** The key of `message`, for interfaces in other languages. */
  key?: string;
  /** The values in `message`, by name. */
  values?: Record<string, string | number>;
}

/** The findings of a check about one rule. */
type RuleRemark = Pick<RuleFinding, "level" | "code" | "message" | "key" | "values">;

function remark(
  level: RuleFinding["level"],
  code: RuleFinding["code"],
  key: TextKey,
  values?: Record<string, string>,
): RuleRemark {
  const { text, ...found } = localizedText(key, values);
  return { level, code, message: text, ...found };
}

const RUNS_ANYTHING = new RegExp(
  "^(?:bash|sh|zsh|dash|ksh|fish|sudo|doas|su|env|xargs|eval|exec|python3?|node|ruby|perl|php|npx|bunx|ssh" +
    "|docker (?:run|exec))$",
);

/** Checks the spec of a rule about commands. */
function lintCommandRule(spec: string, list: RuleList): RuleRemark[] {
  const remarks: RuleRemark[] = [];
  const pattern = spec.endsWith(":*") ? `${spec.slice(0, -2)} *` : spec;
  const isOpen = hasWildcard(pattern);
  const never = (key: TextKey, values?: Record<string, string>): number =>
    remarks.push(remark("error", "never_matches", key, values));
  if (/:\*./.test(spec)) never("lint.prefixInside");
  if (list !== "allow") return remarks;
  if (isOpen && /&&|\|\||[;|\n]|&\s*$/.test(pattern)) {
    never("lint.chain");
  }
  if (/^[A-Za-z_]\w*=/.test(pattern) && isOpen) {
    never("lint.variables");
  }
  const [first = ""] = pattern.split(" ");
  if (isOpen && first !== "xargs" && TRANSPARENT_WRAPPERS.has(first)) {
    never("lint.wrapper", { program: first });
  }
  if (isOpen && NO_PREFIX_RULES.has(first)) {
    never("lint.runsCommand", { program: first });
  }
  const program = pattern.replace(/ ?\*$/, "");
  if (isOpen && RUNS_ANYTHING.test(program)) {
    remarks.push(remark("warning", "too_wide", "lint.allowsEverything", { program }));
  } else if (/[\w-]\*$/.test(pattern) && !/\s/.test(pattern)) {
    remarks.push(remark("warning", "too_wide", "lint.allowsSimilar", { program }));
  }
  return remarks;
}

/** The rule that shadows this one: in a list that is checked earlier, or with the same or a wider meaning. */
function findShadow(rule: Rule, all: readonly Rule[]): RuleRemark | undefined {
  const here = all.indexOf(rule);
  for (const [at, other] of all.entries()) {
    if (other === rule || !isBroader(other, rule)) continue;
    const [mine, its] = [RULE_LISTS.indexOf(rule.list), RULE_LISTS.indexOf(other.list)];
    const where = { rule: other.text, list: other.list, origin: other.origin };
    if (its < mine) return remark("warning", "shadowed", "lint.checkedFirst", where);
    if (its > mine) continue;
    const isSame = isBroader(rule, other);
    if (isSame && at < here) return remark("note", "duplicate", "lint.duplicate", where);
    if (!isSame) return remark("note", "shadowed", "lint.covered", where);
  }
  return undefined;
}

/** Whether `wide` matches everything that `narrow` matches, as far as the texts show. */
function isBroader(wide: Rule, narrow: Rule): boolean {
  if (looksLikeCondition(wide.text) || looksLikeCondition(narrow.text)) return wide.text === narrow.text;
  const [a, b] = [parseRule(wide.text), parseRule(narrow.text)];
  if (a.problem !== undefined || b.problem !== undefined) return false;
  if (!coversName(a.name, b.name)) return false;
  if (a.spec === undefined) return true;
  if (b.spec === undefined) return false;
  const [wideSpec, narrowSpec] = [plain(a.spec), plain(b.spec)];
  if (wideSpec === narrowSpec) return !isRelativeToSource(a.spec) || wide.folder === narrow.folder;
  // Only command patterns can be compared as text: `git *` covers `git push *`.
  return ruleToolName(a.name) === "exec" && compileWildcard(wideSpec)(narrowSpec);
}

function coversName(wide: string, narrow: string): boolean {
  const [a, b] = [ruleToolName(wide), ruleToolName(narrow)];
  if (a === b || a === "*") return true;
  if (a.endsWith("*")) return b.startsWith(a.slice(0, -1));
  return /^mcp__[^*]+$/.test(a) && !/^mcp__.+?__./.test(a) && b.startsWith(`${a}__`);
}

function plain(spec: string): string {
  return spec.endsWith(":*") ? `${spec.slice(0, -2)} *` : spec.trim();
}

function isRelativeToSource(spec: string): boolean {
  return spec.startsWith("/") && !spec.startsWith("//");
}
