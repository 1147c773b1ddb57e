import { isObject } from "../../schema/json-schema.ts";
import type { ConfigPath } from "../problems.ts";
import type { SettingsReader } from "./settings-reader.ts";

/** How a permission of OpenCode is written as a rule. */
const RULES: Readonly<Record<string, string>> = {
  bash: "Bash",
  edit: "Edit",
  read: "Read",
  grep: "Grep",
  glob: "Glob",
  list: "LS",
  webfetch: "WebFetch",
  websearch: "WebSearch",
  task: "Agent",
  skill: "Skill",
};
/** Permissions whose patterns are paths or commands, as those of rules are. */
const HAS_PATTERNS = new Set(["bash", "edit", "read"]);

const TOOLS: Readonly<Record<string, readonly string[]>> = {
  bash: ["exec", "process"],
  edit: ["edit", "apply_patch"],
  write: ["write", "apply_patch", "move_file", "delete_file"],
  patch: ["apply_patch"],
  multiedit: ["edit"],
  read: ["read"],
  grep: ["grep"],
  glob: ["glob"],
  list: ["list_files"],
  webfetch: ["web_fetch", "http_get", "http_post", "http_request"],
  websearch: ["web_search"],
  task: ["call_subagent"],
  skill: ["skill"],
  todowrite: [],
  todoread: [],
  lsp: [],
  question: [],
  codesearch: [],
};

/** `opencode.json`, without its MCP servers. */
export function readOpencodeSettings(reader: SettingsReader): void {
  readPermission(reader);
  for (const { key, value, at } of reader.entries("tools")) {
    if (value !== false) reader.applied(at, "The tool exists if Haft has it.");
    else disableTool(reader, key, at);
  }
  for (const section of ["agent", "mode", "command"]) {
    for (const { at } of reader.entries(section)) {
      const instead = section === "command" ? ".claude/commands/NAME.md" : ".claude/agents/NAME.md or agents.NAME";
      reader.notApplied(at, `It is not loaded. Write ${instead}.`);
    }
  }
  if (reader.get("instructions") !== undefined) {
    reader.notApplied(["instructions"], "Import these files in AGENTS.md: @path.");
  }
  for (const key of ["model", "small_model", "provider"]) {
    if (reader.get(key) !== undefined) reader.notApplied([key], "The model of Haft's agent is agent.model.");
  }
  if (reader.get("plugin") !== undefined) {
    reader.notApplied(["plugin"], "Plugins of OpenCode do not run here. Those of Haft are named in plugins.");
  }
}

function readPermission(reader: SettingsReader): void {
  const all = reader.get("permission");
  if (typeof all === "string") return addForAll(reader, all, ["permission"], []);
  const entries = reader.entries("permission");
  const named = entries.map(({ key }) => key).filter((key) => key !== "*");
  for (const { key, value, at } of entries) {
    if (key === "*") addForAll(reader, value, at, named);
    else if (!isObject(value)) addPermission(reader, key, value, at);
    else {
      for (const [pattern, action] of Object.entries(value)) {
        addPermission(reader, key, action, [...at, pattern], pattern);
      }
    }
  }
}

/** For every tool that the file does not name. */
function addForAll(reader: SettingsReader, action: unknown, at: ConfigPath, named: readonly string[]): void {
  if (action === "ask") {
    const rules = [...Object.keys(RULES).filter((key) => !named.includes(key)), "mcp"];
    for (const key of rules) reader.addRule("ask", key === "mcp" ? "mcp__*" : RULES[key]!, at);
    return reader.narrowed(at, "Tools that the file does not name always ask.");
  }
  if (action !== "deny") return addPermission(reader, "*", action, at);
  const kept = named.flatMap((key) => TOOLS[key] ?? serverToolsOf(key));
  if (kept.length === 0) reader.addRule("deny", "*", at);
  else reader.allowOnlyTools([...kept, "current_time", "tool_search", "cli_response", "stop_response"]);
  reader.narrowed(at, "Tools that the file does not name do not exist here.");
}

/** In OpenCode the last match wins, here deny before ask before allow: the result is never wider. */
function addPermission(reader: SettingsReader, key: string, action: unknown, at: ConfigPath, pattern = "*"): void {
  if (action === "allow") {
    const [rule] = rulesOf(key, pattern);
    return reader.notApplied(at, `It widens. To run such calls without asking, write permissions.allow: ${rule}.`);
  }
  if (key === "external_directory") {
    return reader.applied(at, "Tools reach nothing outside the workspace and workspace.allowedPaths.");
  }
  if (key === "doom_loop") return reader.notApplied(at, "Haft has no such check. Limit runs with agent.limits.steps.");
  if (action !== "ask" && action !== "deny") {
    return reader.notApplied(at, 'The value must be "allow", "ask" or "deny".');
  }
  if (key !== "*" && !Object.hasOwn(RULES, key) && Object.hasOwn(TOOLS, key)) {
    return reader.applied(at, "Haft has no such tool.");
  }
  const rules = rulesOf(key, pattern);
  for (const rule of rules) reader.addRule(action, rule, at);
  const wider =
    pattern !== "*" && !HAS_PATTERNS.has(key) ? " Its pattern has no equivalent, so every call is meant." : "";
  const order = pattern === "*" && action === "deny" ? " A deny here also denies what other patterns allow." : "";
  reader.narrowed(at, `${action === "deny" ? "Denied" : "Asks"} here by ${rules.join(", ")}.${wider}${order}`);
}

function rulesOf(key: string, pattern: string): string[] {
  if (key === "*") return ["*"];
  if (!Object.hasOwn(RULES, key)) return serverToolsOf(key);
  const name = RULES[key]!;
  if (pattern === "*" || !HAS_PATTERNS.has(key)) return [name];
  const written = pattern.replace(/^\$HOME(?=\/)/, "~").replace(/[()\\]/g, "\\$&");
  if (key === "bash") return [`${name}(${written.replaceAll("?", "*")})`];
  // There `*` also matches slashes.
  const deeper = written.replace(/\/([^/]*\*[^/]*)$/, "/**/$1");
  return [...new Set([written, deeper])].map((path) => `${name}(${path})`);
}

function disableTool(reader: SettingsReader, key: string, at: ConfigPath): void {
  const tools = Object.hasOwn(TOOLS, key) ? TOOLS[key]! : serverToolsOf(key);
  if (tools.length === 0) return reader.applied(at, "Haft has no such tool.");
  reader.denyTools(tools);
  reader.narrowed(at, `These do not exist here: ${tools.join(", ")}.`);
}

/** `server_tool` and `server_*` are tools of MCP servers, whose names may have `_` too; `*` alone is every tool. */
function serverToolsOf(key: string): string[] {
  if (key === "*") return ["*"];
  const parts = key.split("_");
  if (parts.length === 1) return [`mcp__${key}`];
  return parts.slice(1).map((_, at) => `mcp__${parts.slice(0, at + 1).join("_")}__${parts.slice(at + 1).join("_")}`);
}
