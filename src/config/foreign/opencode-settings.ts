import { isObject } from "../../schema/json-schema.ts";
import { toolsSameAs } from "../../tools/built-in-tools.ts";
import type { ConfigPath } from "../problems.ts";
import { serverToolsOf, type SettingsReader } from "./settings-reader.ts";

/** Permissions that are rules about what a call touches, whichever tool it is of. */
const RULES: Readonly<Record<string, string>> = {
  bash: "Bash",
  edit: "Edit",
  write: "Edit",
  patch: "Edit",
  multiedit: "Edit",
  read: "Read",
  webfetch: "WebFetch",
};
/** Permissions whose patterns are paths or commands, as those of rules are. */
const HAS_PATTERNS = new Set(["bash", "edit", "write", "patch", "multiedit", "read"]);

/** The tools of OpenCode, and the tools here that do the same. */
const TOOLS: ReadonlyMap<string, readonly string[]> = new Map([
  ["lsp", []],
  ["codesearch", []],
  ...toolsSameAs("opencode"),
]);
/** They stay in the conversation: a setting for all tools asks no approval for them. */
const NOT_ASKED = new Set(["todowrite", "todoread", "question"]);

/** `opencode.json`, without its MCP servers. */
export function readOpencodeSettings(reader: SettingsReader): void {
  readPermission(reader, ["permission"]);
  readTools(reader, ["tools"]);
  const main = String(reader.get("default_agent") ?? "build");
  for (const section of ["agent", "mode", "command"]) {
    for (const { key, at } of reader.entries(section)) {
      const instead = section === "command" ? ".claude/commands/NAME.md" : ".claude/agents/NAME.md or agents.NAME";
      if (section !== "command" && key === main) readMainAgent(reader, at);
      else reader.notApplied(at, `It is not loaded. Write ${instead}.`);
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

/** What narrows the default agent narrows every call here. */
function readMainAgent(reader: SettingsReader, path: string[]): void {
  readPermission(reader, [...path, "permission"]);
  readTools(reader, [...path, "tools"]);
  for (const { key, at } of reader.entries(...path)) {
    if (key !== "permission" && key !== "tools")
      reader.notApplied(at, "Of this agent, only settings that grant less are applied.");
  }
}

function readTools(reader: SettingsReader, path: string[]): void {
  for (const { key, value, at } of reader.entries(...path)) {
    if (value === false) disableTool(reader, key, at);
    else if (value === true) reader.applied(at, "The tool exists if Haft has it.");
    else reader.invalid(at, "Must be true or false.");
  }
}

function readPermission(reader: SettingsReader, path: string[]): void {
  const all = reader.get(...path);
  if (typeof all === "string") return addForAll(reader, all, path, []);
  if (all !== undefined && !isObject(all)) return reader.invalid(path, "Must be a text or an object.");
  const entries = reader.entries(...path);
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
    const ruled = new Set(named.flatMap(matchingKeys).flatMap(rulesOfTool));
    const asked = [...Object.keys(RULES), ...TOOLS.keys()].filter((key) => !NOT_ASKED.has(key)).flatMap(rulesOfTool);
    const rules = [...new Set([...asked.filter((rule) => !ruled.has(rule)), "run_code", "mcp__*"])];
    for (const rule of rules) reader.addRule("ask", rule, at);
    return reader.narrowed(
      at,
      `Needs approval here, by ${rules.join(", ")}. Haft's other tools follow their own permissions.`,
    );
  }
  if (action !== "deny") return addPermission(reader, "*", action, at);
  // A "?" has no equivalent in a list of tools, and "*" instead would be wider.
  const kept = named.filter((key) => !key.includes("?")).flatMap((key) => toolsOf(key));
  if (kept.length === 0) reader.addRule("deny", "*", at);
  else reader.allowOnlyTools([...kept, "current_time", "tool_search", "cli_response", "stop_response"]);
  reader.narrowed(at, "Tools that the file does not name do not exist here.");
}

/** In OpenCode the last match wins, here deny before ask before allow: the result is never wider. */
function addPermission(reader: SettingsReader, key: string, action: unknown, at: ConfigPath, pattern = "*"): void {
  if (action === "allow") {
    if (key === "external_directory") {
      return reader.notApplied(at, "It would grant more. To reach other folders, name them in workspace.allowedPaths.");
    }
    const [rule] = key === "doom_loop" ? [] : rulesOf(key, pattern);
    if (rule === undefined) return reader.applied(at, "Haft has nothing that this would allow.");
    return reader.notApplied(
      at,
      `It would grant more. To run such calls without approval, set permissions.allow: ${rule}.`,
    );
  }
  if (action !== "ask" && action !== "deny") return reader.invalid(at, 'Must be "allow", "ask" or "deny".');
  if (key === "external_directory") {
    return reader.applied(at, "Tools reach nothing outside the workspace and workspace.allowedPaths.");
  }
  if (key === "doom_loop") return reader.notApplied(at, "Haft has no such check. Limit runs with agent.limits.steps.");
  if (TOOLS.get(key)?.length === 0) return reader.applied(at, "Haft has no such tool.");
  const rules = rulesOf(key, pattern);
  for (const rule of rules) reader.addRule(action, rule, at);
  const wider =
    pattern !== "*" && !HAS_PATTERNS.has(key) ? " Its pattern has no equivalent, so every call is meant." : "";
  const order = pattern === "*" && action === "deny" ? " A deny here also denies what other patterns allow." : "";
  reader.narrowed(at, `${action === "deny" ? "Denied" : "Asks"} here by ${rules.join(", ")}.${wider}${order}`);
}

function rulesOf(key: string, pattern: string): readonly string[] {
  if (key === "*") return ["*"];
  if (!TOOLS.has(key)) return [...new Set([...matchingKeys(key).flatMap(rulesOfTool), ...serverToolsOf(key)])];
  const rules = rulesOfTool(key);
  if (pattern === "*" || !HAS_PATTERNS.has(key)) return rules;
  const [name] = rules;
  const written = pattern.replace(/^\$HOME(?=\/)/, "~").replace(/[()\\]/g, "\\$&");
  if (key === "bash") return [`${name}(${written.replaceAll("?", "*")})`];
  // There `*` also matches slashes.
  const deeper = written.replace(/\/([^/]*\*[^/]*)$/, "/**/$1");
  return [...new Set([written, deeper])].map((path) => `${name}(${path})`);
}

function rulesOfTool(key: string): readonly string[] {
  if (!Object.hasOwn(RULES, key)) return TOOLS.get(key) ?? [];
  // It types into shells; a rule about commands does not see what.
  return key === "bash" ? [RULES[key]!, "process"] : [RULES[key]!];
}

function disableTool(reader: SettingsReader, key: string, at: ConfigPath): void {
  const tools = toolsOf(key);
  if (tools.length === 0) return reader.applied(at, "Haft has no such tool.");
  reader.denyTools(tools);
  reader.narrowed(at, `These do not exist here: ${tools.join(", ")}.`);
}

function toolsOf(key: string): readonly string[] {
  if (key === "*") return ["*"];
  return TOOLS.get(key) ?? [...new Set([...matchingKeys(key).flatMap(toolsOf), ...serverToolsOf(key)])];
}

/** The tools of OpenCode that a written key means, which may have `*` and `?`. */
function matchingKeys(written: string): string[] {
  const parts = written.split(/([*?])/).map((part) => {
    return part === "*" ? ".*" : part === "?" ? "." : part.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  });
  const pattern = new RegExp(`^${parts.join("")}$`);
  return [...TOOLS.keys()].filter((key) => pattern.test(key));
}
