import type { BuiltInFacts } from "../core/tool.ts";

/** What policies, the command line and importers of settings must know of a built-in tool before any tool exists. */
export interface BuiltInTool extends Omit<BuiltInFacts, "zh"> {
  readonly name: string;
  readonly category: string;
}

/** The tools here that do the same as each tool of another program. */
export function toolsSameAs(program: keyof BuiltInFacts["sameAs"]): ReadonlyMap<string, readonly string[]> {
  const tools = new Map<string, string[]>();
  for (const { name, sameAs } of BUILT_IN_TOOLS) {
    for (const other of sameAs[program]) tools.set(other, [...(tools.get(other) ?? []), name]);
  }
  return tools;
}

/** The tools by the names that other programs give them. */
export function toolsKnownBy(names: "knownAs" | "knownInRules"): ReadonlyMap<string, string> {
  return new Map(BUILT_IN_TOOLS.flatMap((tool) => (tool[names] ?? []).map((other) => [other, tool.name] as const)));
}

// npm run tools:update writes what follows.
export const BUILT_IN_TOOLS: readonly BuiltInTool[] = [
  {
    name: "apply_patch",
    category: "file",
    isCore: true,
    sameAs: { opencode: ["edit", "write", "patch"], gemini: ["write_file", "replace"] },
  },
  { name: "ask_user", category: "session", sameAs: { opencode: ["question"], gemini: ["ask_user"] } },
  { name: "base64_decode", category: "data", sameAs: { opencode: [], gemini: [] } },
  { name: "base64_encode", category: "data", sameAs: { opencode: [], gemini: [] } },
  { name: "browser", category: "ui", sameAs: { opencode: [], gemini: [] } },
  {
    name: "call_subagent",
    category: "agent",
    isCore: true,
    usesOtherTools: true,
    knownInRules: ["agent", "task"],
    sameAs: { opencode: ["task"], gemini: [] },
  },
  { name: "canvas", category: "ui", sameAs: { opencode: [], gemini: [] } },
  { name: "cli_response", category: "agent", isCore: true, sameAs: { opencode: [], gemini: [] } },
  { name: "create_artifact", category: "artifact", sameAs: { opencode: [], gemini: [] } },
  { name: "cron", category: "automation", usesOtherTools: true, sameAs: { opencode: [], gemini: [] } },
  { name: "current_time", category: "system", sameAs: { opencode: [], gemini: [] } },
  { name: "delete_file", category: "file", isCore: true, sameAs: { opencode: ["write"], gemini: ["write_file"] } },
  { name: "diff_artifact", category: "artifact", sameAs: { opencode: [], gemini: [] } },
  {
    name: "edit",
    category: "file",
    isCore: true,
    knownAs: ["edit_file", "multi_edit", "multiedit"],
    sameAs: { opencode: ["edit", "multiedit"], gemini: ["replace"] },
  },
  {
    name: "edit_notebook",
    category: "file",
    isCore: true,
    knownAs: ["notebookedit", "notebook_edit"],
    sameAs: { opencode: ["edit"], gemini: ["replace"] },
  },
  {
    name: "exec",
    category: "runtime",
    isCore: true,
    knownAs: ["bash", "shell", "run_shell_command"],
    sameAs: { opencode: ["bash"], gemini: ["run_shell_command"] },
  },
  { name: "get_env", category: "system", sameAs: { opencode: [], gemini: [] } },
  { name: "get_file_info", category: "file", isCore: true, sameAs: { opencode: [], gemini: ["read_file"] } },
  {
    name: "glob",
    category: "search",
    isCore: true,
    sameAs: { opencode: ["glob"], gemini: ["glob"] },
    partlyKnownAs: ["search_files"],
  },
  {
    name: "grep",
    category: "search",
    isCore: true,
    sameAs: { opencode: ["grep"], gemini: ["search_file_content", "grep_search"] },
  },
  { name: "grep_artifact", category: "artifact", sameAs: { opencode: [], gemini: [] } },
  { name: "http_get", category: "network", sameAs: { opencode: ["webfetch"], gemini: ["web_fetch"] } },
  { name: "http_post", category: "network", sameAs: { opencode: ["webfetch"], gemini: ["web_fetch"] } },
  {
    name: "http_request",
    category: "network",
    sameAs: { opencode: ["webfetch"], gemini: ["web_fetch"] },
    partlyKnownAs: ["http_get", "http_post"],
  },
  { name: "json_parse", category: "data", sameAs: { opencode: [], gemini: [] } },
  { name: "json_stringify", category: "data", sameAs: { opencode: [], gemini: [] } },
  { name: "list_artifacts", category: "artifact", sameAs: { opencode: [], gemini: [] } },
  {
    name: "list_files",
    category: "file",
    isCore: true,
    knownAs: ["ls"],
    sameAs: { opencode: ["list"], gemini: ["list_directory"] },
  },
  { name: "list_mcp_resources", category: "mcp", usesOtherTools: true, sameAs: { opencode: [], gemini: [] } },
  { name: "message", category: "message", sameAs: { opencode: [], gemini: [] } },
  { name: "move_file", category: "file", isCore: true, sameAs: { opencode: ["write"], gemini: ["write_file"] } },
  {
    name: "process",
    category: "runtime",
    isCore: true,
    sameAs: { opencode: ["bash"], gemini: ["run_shell_command"] },
    partlyKnownAs: ["BashOutput", "TaskOutput", "KillBash", "KillShell", "TaskStop"],
  },
  {
    name: "read",
    category: "file",
    isCore: true,
    knownAs: ["read_file"],
    sameAs: { opencode: ["read"], gemini: ["read_file"] },
    partlyKnownAs: ["read_files"],
  },
  { name: "read_artifact", category: "artifact", sameAs: { opencode: [], gemini: [] } },
  {
    name: "read_many",
    category: "file",
    isCore: true,
    knownAs: ["read_many_files"],
    sameAs: { opencode: ["read"], gemini: ["read_file", "read_many_files"] },
  },
  { name: "read_mcp_resource", category: "mcp", usesOtherTools: true, sameAs: { opencode: [], gemini: [] } },
  { name: "read_result", category: "data", sameAs: { opencode: [], gemini: [] } },
  { name: "request_permission", category: "session", sameAs: { opencode: [], gemini: [] } },
  { name: "rewrite_artifact", category: "artifact", sameAs: { opencode: [], gemini: [] } },
  { name: "run_code", category: "code", isCore: true, usesOtherTools: true, sameAs: { opencode: [], gemini: [] } },
  { name: "session_status", category: "session", sameAs: { opencode: [], gemini: [] } },
  { name: "sessions_history", category: "session", sameAs: { opencode: [], gemini: [] } },
  { name: "sessions_list", category: "session", sameAs: { opencode: [], gemini: [] } },
  { name: "sessions_send", category: "session", usesOtherTools: true, sameAs: { opencode: [], gemini: [] } },
  { name: "sessions_spawn", category: "session", usesOtherTools: true, sameAs: { opencode: [], gemini: [] } },
  { name: "sessions_stop", category: "session", sameAs: { opencode: [], gemini: [] } },
  { name: "set_env", category: "system", sameAs: { opencode: [], gemini: [] } },
  { name: "skill", category: "agent", isCore: true, sameAs: { opencode: ["skill"], gemini: ["activate_skill"] } },
  { name: "sleep", category: "system", sameAs: { opencode: [], gemini: [] } },
  { name: "stop_response", category: "agent", isCore: true, sameAs: { opencode: [], gemini: [] } },
  { name: "todo", category: "session", sameAs: { opencode: ["todowrite", "todoread"], gemini: ["write_todos"] } },
  { name: "tool_search", category: "agent", isCore: true, usesOtherTools: true, sameAs: { opencode: [], gemini: [] } },
  { name: "update_artifact", category: "artifact", sameAs: { opencode: [], gemini: [] } },
  {
    name: "web_fetch",
    category: "network",
    isCore: true,
    knownAs: ["webfetch"],
    sameAs: { opencode: ["webfetch"], gemini: ["web_fetch"] },
  },
  {
    name: "web_search",
    category: "network",
    isCore: true,
    knownAs: ["websearch"],
    sameAs: { opencode: ["websearch"], gemini: ["google_web_search"] },
  },
  {
    name: "write",
    category: "file",
    isCore: true,
    knownAs: ["write_file"],
    sameAs: { opencode: ["write"], gemini: ["write_file"] },
    partlyKnownAs: ["str_replace_based_edit_tool", "str_replace_editor", "editor"],
  },
];
