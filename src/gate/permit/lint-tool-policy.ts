import { didYouMean } from "../../core/nearest-name.ts";
import type { AnyTool } from "../../core/tool.ts";
import { groupNamed, isOriginGroup, normalizeToolName, groupsOf, profileNamed, TOOL_GROUPS } from "./tool-groups.ts";
import type { PolicyConfig } from "./policy-layers.ts";
import { appliesTo, type ToolPolicy } from "./tool-policy.ts";

const LISTS = ["allow", "alsoAllow", "deny"] as const;
const OF_EACH = ["profile", ...LISTS, "profiles"];
const OF_THE_WHOLE = [...OF_EACH, "byProvider", "agents", "sandbox", "subagents"];

export interface LintOptions {
  /** All registered tools, those of servers and plugins too: needed to check single names. */
  tools?: Iterable<AnyTool>;
}

/**
 * Probable mistakes in a policy, such as a deny entry that matches nothing. Throws if a list is not
 * a list or a profile does not exist. Names of single tools are checked once the tools are known.
 */
export function lintToolPolicy(config: PolicyConfig, { tools }: LintOptions = {}): string[] {
  const known = tools && [...tools];
  const own = config.profiles ?? {};
  const { byDepth, ...ofSubagents } = config.subagents ?? {};
  const inherit = (policy: ToolPolicy): ToolPolicy => ({ profiles: own, ...policy });
  return [
    ...lintOne(config, "a policy", OF_THE_WHOLE, known),
    ...Object.entries(own).flatMap(([name, list]) => lintList(list, `the profile "${name}"`, known)),
    ...Object.entries(config.byProvider ?? {}).flatMap(([name, policy]) =>
      lintOne(inherit(policy), `provider "${name}"`, OF_EACH, known),
    ),
    ...Object.entries(config.agents ?? {}).flatMap(([name, policy]) =>
      lintOne(inherit(policy), `agent "${name}"`, OF_EACH, known),
    ),
    ...(config.sandbox ? lintOne(inherit(config.sandbox), "the sandbox", OF_EACH, known) : []),
    ...lintOne(inherit(ofSubagents), "subagents", [...OF_EACH, "byDepth"], known),
    ...Object.entries(byDepth ?? {}).flatMap(([depth, policy]) =>
      lintOne(inherit(policy), `subagents from depth ${depth}`, OF_EACH, known),
    ),
  ];
}

type Known = readonly AnyTool[] | undefined;

function lintOne(policy: ToolPolicy, owner: string, keys: readonly string[], tools: Known): string[] {
  const unknown = Object.keys(policy)
    .filter((key) => !keys.includes(key))
    .map((key) => `${capital(owner)} has no "${key}". ${didYouMean(key, keys) ?? `It has ${keys.join(", ")}.`}`);
  if (policy.profile !== undefined) profileNamed(policy.profile, policy.profiles);
  const useless =
    policy.alsoAllow && policy.profile === undefined
      ? [`"alsoAllow" of ${owner} adds to a profile, but no profile is set: it has no effect. Use "allow".`]
      : [];
  const lists = LISTS.flatMap((list) =>
    policy[list] === undefined ? [] : lintList(policy[list], `"${list}" of ${owner}`, tools),
  );
  return [...unknown, ...useless, ...lists, ...lintAllow(policy.allow ?? [], owner, tools)];
}

function lintList(entries: readonly string[], where: string, tools: Known): string[] {
  if (!Array.isArray(entries)) throw new TypeError(`${where} must be a list of names, groups and patterns.`);
  return entries.flatMap((entry) => {
    if (typeof entry !== "string")
      throw new TypeError(`${where} contains ${JSON.stringify(entry)}, which is not a string.`);
    if (groupNamed(entry)) return [];
    if (entry.trim().toLowerCase().startsWith("group:")) return lintGroup(entry, where, tools);
    return tools ? lintName(entry, where, tools) : [];
  });
}

/** Groups of plugins and servers are not known before these are loaded. */
function lintGroup(entry: string, where: string, tools: Known): string[] {
  const key = entry.trim().toLowerCase();
  if (key === "group:plugins" || key === "group:mcp" || (!tools && isOriginGroup(entry))) return [];
  const known = [...Object.keys(TOOL_GROUPS), "group:plugins", "group:mcp", ...(tools ?? []).flatMap(groupsOf)];
  if (known.includes(key)) return [];
  const hint = didYouMean(entry, known) ?? `Groups are: ${[...new Set(known)].join(", ")}.`;
  return [`"${entry}" in ${where} is not a group, so it matches no tool. ${hint}`];
}

/** A built-in tool that this runtime does not have is not a mistake. */
function lintName(entry: string, where: string, tools: readonly AnyTool[]): string[] {
  const builtin = Object.values(TOOL_GROUPS).flat();
  if (builtin.includes(normalizeToolName(entry)) || tools.some((tool) => appliesTo(entry, tool))) return [];
  if (entry.includes("*")) return [`"${entry}" in ${where} matches no registered tool.`];
  const hint = didYouMean(entry, [...tools.flatMap(({ name, aliases }) => [name, ...aliases]), ...builtin]);
  return [`"${entry}" in ${where} is not a registered tool, so it has no effect.${hint ? ` ${hint}` : ""}`];
}

/** Valid, but probably meant to add the plugin's tools. */
function lintAllow(allow: readonly string[], owner: string, tools: Known): string[] {
  if (allow.length === 0 || !allow.every((entry) => isOfPlugins(entry, tools))) return [];
  return [
    `"allow" of ${owner} names only tools of plugins and servers, so no built-in tool is left. ` +
      'To add them to the others, name them under "alsoAllow" of a profile, or leave "allow" out.',
  ];
}

function isOfPlugins(entry: string, tools: Known): boolean {
  if (isOriginGroup(entry) || entry.trim().startsWith("mcp__")) return true;
  if (!tools || groupNamed(entry)) return false;
  const meant = tools.filter((tool) => appliesTo(entry, tool));
  return meant.length > 0 && meant.every(({ origin }) => origin.type === "plugin" || origin.type === "mcp");
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
