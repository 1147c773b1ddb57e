import { ToolCategory } from "../../core/category.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { AnyTool } from "../../core/tool.ts";
import { BUILT_IN_TOOLS, toolsKnownBy } from "../../tools/built-in-tools.ts";

/** A built-in tool is in the group of its category. */
const GROUP_OF_CATEGORY: ReadonlyMap<string, string> = new Map(
  Object.entries({
    file: "group:fs",
    search: "group:fs",
    runtime: "group:runtime",
    system: "group:runtime",
    code: "group:runtime",
    network: "group:web",
    session: "group:sessions",
    message: "group:messaging",
    ui: "group:ui",
    automation: "group:automation",
    data: "group:data",
    mcp: "group:resources",
    artifact: "group:artifacts",
    agent: "group:agents",
  } satisfies Record<Exclude<ToolCategory, "custom">, string>),
);

/** The names that belong to a group whoever provides the tool: a host's own `exec` is in `group:runtime` too. */
export const TOOL_GROUPS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  [...new Set(GROUP_OF_CATEGORY.values())].map((group) => [
    group,
    BUILT_IN_TOOLS.flatMap(({ name, category }) => (GROUP_OF_CATEGORY.get(category) === group ? [name] : [])),
  ]),
);

/** Replaces groups by their tools; other entries stay, normalized. */
export function expandToolGroups(entries: readonly string[]): string[] {
  const names = new Set<string>();
  for (const entry of entries) {
    const group = groupNamed(entry);
    if (group) for (const name of group) names.add(name);
    else names.add(normalizeToolName(entry));
  }
  return [...names];
}

export function groupNamed(entry: string): readonly string[] | undefined {
  const key = entry.trim().toLowerCase();
  return Object.hasOwn(TOOL_GROUPS, key) ? TOOL_GROUPS[key] : undefined;
}

/** Whether a name is a group of a plugin or server. */
export function isOriginGroup(entry: string): boolean {
  return /^group:(?:plugins|mcp|plugin:.+|mcp:.+)$/.test(entry.trim().toLowerCase());
}

/** The groups of a tool: of a built-in one by its category, of others by their origin. */
export function groupsOf({ origin, category }: AnyTool): readonly string[] {
  if (origin.type === "plugin") return ["group:plugins", `group:plugin:${origin.plugin.toLowerCase()}`];
  if (origin.type === "mcp") return ["group:mcp", `group:mcp:${origin.server.toLowerCase()}`];
  // The category of any other tool is only a label: it must not put the tool into a group that a policy allows.
  const group = origin.type === "builtin" ? GROUP_OF_CATEGORY.get(category) : undefined;
  if (group === undefined) return [];
  // What these tools read comes from MCP servers.
  return category === ToolCategory.MCP ? [group, "group:mcp"] : [group];
}

/** The built-in profiles. */
const PROFILES = {
  minimal: ["session_status"],
  coding: ["group:fs", "group:runtime", "group:sessions", "group:data"],
  messaging: ["group:messaging", "sessions_list", "sessions_history", "session_status"],
  full: ["*"],
} as const satisfies Record<string, readonly string[]>;

/** A built-in profile, or one of the policy's own `profiles`. */
export type ProfileName = keyof typeof PROFILES | (string & {});

/** The user's own profiles: names, groups and `*` patterns. */
export type Profiles = Readonly<Record<string, readonly string[]>>;

export function profileNamed(name: string, own: Profiles = {}): readonly string[] {
  if (isReadyProfile(name)) return PROFILES[name];
  if (Object.hasOwn(own, name)) return own[name]!;
  const names = [...Object.keys(PROFILES), ...Object.keys(own)];
  throw new TypeError(
    `There is no profile "${name}". ${didYouMean(name, names) ?? `Profiles are: ${names.join(", ")}.`}`,
  );
}

/** A user's profile cannot replace a built-in one: "full" means the same in every file. */
export function isReadyProfile(name: string): name is keyof typeof PROFILES {
  return Object.hasOwn(PROFILES, name);
}

const KNOWN_AS = toolsKnownBy("knownAs");

/** One spelling of a tool's name in a list: lower case, `_`, and the canonical name for known aliases. */
export function normalizeToolName(name: string): string {
  const folded = foldToolName(name);
  return KNOWN_AS.get(folded) ?? folded;
}

export function foldToolName(name: string): string {
  return name.trim().toLowerCase().replaceAll("-", "_");
}
