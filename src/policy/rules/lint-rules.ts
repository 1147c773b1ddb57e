import { didYouMean } from "../../core/nearest-name.ts";
import { signatureOf } from "../../core/signature.ts";
import type { AnyTool } from "../../core/tool.ts";
import { compileGlob } from "../../files/glob-pattern.ts";
import { isOriginGroup, TOOL_GROUPS } from "../groups.ts";
import { findShadow } from "./find-shadow.ts";
import { lintCommandRule } from "./lint-command-rule.ts";
import { propertyNames } from "./parameter-names.ts";
import { parseParameterPattern } from "./parameter-pattern.ts";
import type { RuleFinding, RuleRemark } from "./rule-finding.ts";
import { mayAllow, readTarget } from "./rule-target.ts";
import { parseRule, type Rule, RULE_LISTS, type RuleSource, type RuleText } from "./rule.ts";

const KINDS = ["kind:readonly", "kind:write", "kind:execute"];

/** Rules that can never match, that others hide, that look like something they are not; with what to write instead. */
export function lintRules(sources: readonly RuleSource[], tools: readonly AnyTool[] = []): RuleFinding[] {
  const rules = sources.flatMap(rulesOf);
  const findings = rules.flatMap((rule) =>
    remarksOn(rule, rules, tools).map((remark): RuleFinding => ({
      ...remark,
      rule: rule.text,
      list: rule.list,
      origin: rule.origin,
    })),
  );
  for (const { origin, defaultMode } of sources) {
    if (defaultMode !== "bypassPermissions" || origin !== "project") continue;
    const message = "A project's file cannot switch off questions. Say it in your own settings.";
    findings.push({ level: "error", code: "mode_ignored", rule: defaultMode, list: "defaultMode", origin, message });
  }
  return findings;
}

function rulesOf({ origin, folder, ...lists }: RuleSource): Rule[] {
  return RULE_LISTS.flatMap((list) =>
    (lists[list] ?? []).map((text) => ({
      text: text.trim(),
      list,
      origin,
      ...(folder === undefined ? {} : { folder }),
    })),
  );
}

function remarksOn(rule: Rule, all: readonly Rule[], tools: readonly AnyTool[]): RuleRemark[] {
  const parsed = parseRule(rule.text);
  if (parsed.problem !== undefined) return [{ level: "error", code: "malformed", message: `${parsed.problem}.` }];
  const unknown = lintName(parsed, rule, tools);
  if (unknown) return [unknown];
  const shadow = findShadow(rule, all);
  return [...lintSpec(parsed, rule, tools), ...(shadow ? [shadow] : [])];
}

function lintName({ name }: RuleText, { list }: Rule, tools: readonly AnyTool[]): RuleRemark | undefined {
  if (list === "allow" && !mayAllow(name)) {
    const message = 'To allow by a pattern, the server must be said: write "mcp__server__*", or name the tools.';
    return { level: "error", code: "ignored", message };
  }
  const key = name.toLowerCase();
  const known = (hint: string | undefined, otherwise: string): RuleRemark => ({
    level: "error",
    code: "unknown_tool",
    message: `There is no "${name}". ${hint ?? otherwise}`,
  });
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
  const names = tools.flatMap((tool) => [tool.name, ...tool.aliases]);
  const remark = known(didYouMean(name, names), "It may be registered later, or be misspelt.");
  return { ...remark, level: "warning" };
}

function lintSpec({ name, spec }: RuleText, { list, text }: Rule, tools: readonly AnyTool[]): RuleRemark[] {
  if (spec === undefined) return [];
  const target = readTarget(name, "deny");
  const named = tools.filter((tool) => target.names(tool));
  const parameter = parseParameterPattern(spec);
  const owner = parameter && named.find((tool) => propertyNames(tool).has(aliased(tool, parameter.name)));
  if (parameter && (owner || /^(?:command|file_path|path|url)$/.test(parameter.name))) {
    if (
      /^(?:command|file_path|path|url|from|to|patch)$/.test(owner ? aliased(owner, parameter.name) : parameter.name)
    ) {
      const value = spec.slice(parameter.name.length + 1);
      const message = `"${parameter.name}" is what the rule is about already. Write ${name}(${value}).`;
      return [{ level: "error", code: "ignored", message }];
    }
    const message = "Parameters are looked at by deny and ask rules only, so this allows nothing.";
    return list === "allow" ? [{ level: "error", code: "ignored", message }] : [];
  }
  if (target.family === "command") return lintCommandRule(spec, list);
  if (target.family === "urls") return lintHost(spec, list);
  const isFileTool = named.some((tool) => touchesFiles(tool));
  if (target.family === "reads" || target.family === "changes" || isFileTool)
    return lintPath(text, spec, target.family, named);
  const isMute = named.length > 0 && named.every((tool) => !tool.signature);
  const message = "The tool says nothing that a rule could be matched with. Write its name alone.";
  return isMute ? [{ level: "error", code: "never_matches", message }] : [];
}

function aliased(tool: AnyTool, parameter: string): string {
  return tool.parameterAliases.get(parameter) ?? parameter;
}

function lintHost(spec: string, list: Rule["list"]): RuleRemark[] {
  const host = /^domain:(.+)$/i.exec(spec)?.[1];
  if (host === undefined) {
    const message = 'Addresses are matched by host: write "domain:example.com".';
    return list === "allow" ? [{ level: "error", code: "ignored", message }] : [];
  }
  if (list !== "allow" || !host.replace(/^\*(?:\.|$)/, "").includes("*")) return [];
  const message = 'To allow, "*" may stand only at the beginning: "domain:*.example.com".';
  return [{ level: "error", code: "never_matches", message }];
}

function lintPath(text: string, spec: string, family: string | undefined, named: readonly AnyTool[]): RuleRemark[] {
  if (spec.startsWith("!")) {
    return [
      { level: "error", code: "never_matches", message: 'A rule has no "!": put what is excepted on another list.' },
    ];
  }
  try {
    compileGlob(spec);
  } catch (error) {
    return [{ level: "error", code: "never_matches", message: (error as Error).message }];
  }
  if (family !== undefined) return [];
  const general = named.some(({ isReadOnly }) => isReadOnly) ? "Read" : "Edit";
  const message =
    `It concerns this one tool; in Claude Code ${text} is ignored. ` +
    `${general}(${spec}) concerns every tool that touches these files.`;
  return [{ level: "note", code: "only_here", message }];
}

/** Asked with a text in every parameter: a tool cannot be asked for its signature in general. */
function touchesFiles(tool: AnyTool): boolean {
  try {
    const probe = Object.fromEntries(Array.from(propertyNames(tool), (name) => [name, "x"]));
    const { reads, changes } = signatureOf(tool, probe) ?? { text: "" };
    return reads !== undefined || changes !== undefined;
  } catch {
    return false;
  }
}
