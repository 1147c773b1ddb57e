import { toolsSameAs } from "../../tools/built-in-tools.ts";
import type { ConfigPath } from "../problems.ts";
import { READ_ONLY, serverToolsOf, type SettingsReader } from "./settings-reader.ts";

/** The tools of Gemini CLI, and the tools here that do the same. */
const TOOLS: ReadonlyMap<string, readonly string[]> = new Map([["save_memory", []], ...toolsSameAs("gemini")]);
const CLASSES: Readonly<Record<string, string>> = {
  LSTool: "list_directory",
  ReadFileTool: "read_file",
  ReadManyFilesTool: "read_many_files",
  WriteFileTool: "write_file",
  EditTool: "replace",
  GlobTool: "glob",
  GrepTool: "search_file_content",
  RipGrepTool: "search_file_content",
  ShellTool: "run_shell_command",
  WebFetchTool: "web_fetch",
  WebSearchTool: "google_web_search",
  MemoryTool: "save_memory",
};

/** Tools that neither change nor reach anything. A list of Gemini's own tools does not mean them. */
const HARMLESS = ["group:data", "group:mcp", "group:plugins", "current_time", "sleep", "tool_search"];
const HARMLESS_FOR_AGENTS = ["skill", "cli_response", "stop_response"];

/** `settings.json` of Gemini CLI, without its MCP servers. Both forms of the file: with sections, and the older flat one. */
export function readGeminiSettings(reader: SettingsReader): void {
  for (const path of [["tools", "exclude"], ["excludeTools"]]) {
    for (const { text, at } of reader.texts(...path)) excludeTool(reader, text, at);
  }
  for (const path of [["tools", "core"], ["coreTools"]]) readCoreTools(reader, path);
  for (const path of [["tools", "allowed"], ["allowedTools"], ["autoAccept"], ["tools", "autoAccept"]]) {
    if (reader.get(...path) !== undefined) {
      reader.notApplied(
        path,
        "It would grant more. To run calls without approval, set permissions.allow in Haft's configuration.",
      );
    }
  }
  for (const path of [["mcp", "excluded"], ["excludeMCPServers"]]) {
    for (const { text, at } of reader.texts(...path)) {
      reader.excluded.push({ setting: path.join("."), name: text });
      reader.narrowed(at, "An MCP server of this name that another program configures is not started.");
    }
  }
  for (const path of [["mcp", "allowed"], ["allowMCPServers"]]) {
    if (reader.get(...path) === undefined) continue;
    reader.only = { setting: path.join("."), names: reader.texts(...path).map(({ text }) => text) };
    reader.narrowed(path, "Of the servers of Gemini only these are started.");
  }
  for (const path of [["tools", "sandbox"], ["sandbox"]]) {
    const value = reader.get(...path);
    if (value === undefined) continue;
    if (value === false) {
      reader.notApplied(path, "Commands are confined here if this machine can do it: see sandbox.mode.");
    } else {
      reader.confinesCommands = true;
      reader.narrowed(path, "Commands run confined, or do not run.");
    }
  }
  const mode = reader.get("general", "defaultApprovalMode");
  if (mode === "plan") {
    reader.makeReadOnly(["general", "defaultApprovalMode"]);
    reader.narrowed(["general", "defaultApprovalMode"], READ_ONLY);
  } else if (mode !== undefined) {
    reader.notApplied(["general", "defaultApprovalMode"], "The mode of Haft is permissions.defaultMode.");
  }
  for (const path of [
    ["security", "disableYoloMode"],
    ["security", "disableAlwaysAllow"],
  ]) {
    if (reader.get(...path) === true) reader.applied(path, "Gemini's settings never let a call run without approval.");
  }
  for (const path of [["context", "includeDirectories"], ["includeDirectories"]]) {
    if (reader.get(...path) !== undefined) reader.notApplied(path, "It would grant more. Set workspace.allowedPaths.");
  }
}

function excludeTool(reader: SettingsReader, text: string, at: ConfigPath): void {
  const { name, spec } = splitTool(text);
  const tools = toolsOf(name);
  if (spec !== undefined && name === "run_shell_command") {
    reader.addRule("deny", `Bash(${spec}:*)`, at);
    reader.narrowed(at, "Commands with this prefix (whole words) are denied.");
  } else if (tools === undefined) {
    const rules = rulesOfServerTool(name);
    for (const rule of rules) reader.addRule("deny", rule, at);
    reader.narrowed(at, `Denied here by ${rules.join(", ")}.`);
  } else if (tools.length === 0) {
    reader.applied(at, "Haft has no such tool.");
  } else {
    reader.denyTools(tools);
    reader.narrowed(at, `These do not exist here: ${tools.join(", ")}.`);
  }
}

function readCoreTools(reader: SettingsReader, path: string[]): void {
  if (reader.get(...path) === undefined) return;
  const allowed = [...HARMLESS, ...HARMLESS_FOR_AGENTS];
  const left: string[] = [];
  for (const { text } of reader.texts(...path)) {
    const { name, spec } = splitTool(text);
    // Haft cannot limit commands to a list, so the tool is left out.
    if (spec === undefined) allowed.push(...(toolsOf(name) ?? [text]));
    else left.push(text);
  }
  reader.allowOnlyTools([...new Set(allowed)]);
  const without = left.length === 0 ? "" : ` Without ${left.join(", ")}: Haft has no list of the only commands.`;
  reader.narrowed(path, `Of the built-in tools only those that do the same exist here.${without}`);
}

function splitTool(text: string): { name: string; spec?: string } {
  const [, written = text, spec] = /^([^(]+)\((.*)\)$/s.exec(text.trim()) ?? [];
  const name = written.trim();
  return { name: Object.hasOwn(CLASSES, name) ? CLASSES[name]! : name, spec: spec?.trim() || undefined };
}

function toolsOf(name: string): readonly string[] | undefined {
  return TOOLS.get(name);
}

/** Gemini writes `mcp_server_tool`, `server__tool`, or only the name of the tool, which may be of any server. */
function rulesOfServerTool(written: string): string[] {
  const name = written.replaceAll(".", "_");
  if (name.startsWith("mcp__")) return [name];
  const ofTool = [written, `mcp__*__${name}`];
  if (name.startsWith("mcp_")) return [...serverToolsOf(name.slice("mcp_".length)), ...ofTool];
  return name.includes("__") ? [`mcp__${name}`, ...ofTool] : ofTool;
}
