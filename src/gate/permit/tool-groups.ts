import { ToolCategory } from "../../core/category.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { AnyTool } from "../../core/tool.ts";

/** A built-in tool is in the group of its category. */
const GROUP_OF_CATEGORY: Readonly<Record<Exclude<ToolCategory, "custom">, string>> = {
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
};

/**
 * The names that belong to a group whoever provides the tool: a host's own `exec` is in `group:runtime` too. A new built-in
 * tool needs no entry, because `groupsOf` reads its category.
 */
export const TOOL_GROUPS: Readonly<Record<string, readonly string[]>> = {
  "group:fs": [
    "read",
    "read_many",
    "write",
    "edit",
    "apply_patch",
    "edit_notebook",
    "list_files",
    "delete_file",
    "move_file",
    "get_file_info",
    "glob",
    "grep",
  ],
  "group:runtime": ["exec", "process", "run_code", "current_time", "sleep", "get_env", "set_env"],
  "group:web": ["web_search", "web_fetch", "http_get", "http_post", "http_request"],
  "group:sessions": [
    "sessions_list",
    "sessions_send",
    "sessions_spawn",
    "sessions_history",
    "session_status",
    "sessions_stop",
    "ask_user",
    "todo",
  ],
  "group:messaging": ["message"],
  "group:ui": ["browser", "canvas"],
  "group:automation": ["cron"],
  "group:data": ["json_parse", "json_stringify", "base64_encode", "base64_decode"],
  "group:resources": ["list_mcp_resources", "read_mcp_resource"],
  "group:artifacts": [
    "create_artifact",
    "read_artifact",
    "update_artifact",
    "rewrite_artifact",
    "list_artifacts",
    "diff_artifact",
    "grep_artifact",
  ],
  "group:agents": ["call_subagent", "stop_response", "cli_response", "skill", "tool_search"],
};

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
  if (origin.type !== "builtin" || !hasGroup(category)) return [];
  const group = GROUP_OF_CATEGORY[category];
  // What these tools read comes from MCP servers.
  return category === ToolCategory.MCP ? [group, "group:mcp"] : [group];
}

function hasGroup(category: string): category is keyof typeof GROUP_OF_CATEGORY {
  return Object.hasOwn(GROUP_OF_CATEGORY, category);
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

/** Other systems' names for the tools. */
const KNOWN_AS: Readonly<Record<string, string>> = {
  bash: "exec",
  shell: "exec",
  run_shell_command: "exec",
  read_file: "read",
  read_many_files: "read_many",
  write_file: "write",
  edit_file: "edit",
  multi_edit: "edit",
  multiedit: "edit",
  notebookedit: "edit_notebook",
  notebook_edit: "edit_notebook",
  ls: "list_files",
  websearch: "web_search",
  webfetch: "web_fetch",
};

/** One spelling of a tool's name in a list: lower case, `_`, and the canonical name for known aliases. */
export function normalizeToolName(name: string): string {
  const folded = foldToolName(name);
  return Object.hasOwn(KNOWN_AS, folded) ? KNOWN_AS[folded]! : folded;
}

export function foldToolName(name: string): string {
  return name.trim().toLowerCase().replaceAll("-", "_");
}
