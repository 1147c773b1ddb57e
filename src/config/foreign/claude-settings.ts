import { isObject } from "../../schema/json-schema.ts";
import type { ConfigPath } from "../problems.ts";
import type { ServerLimit } from "./server-limits.ts";
import { FIXED_VARIABLES, type SettingsReader } from "./settings-reader.ts";

const EVENTS = ["PreToolUse", "PermissionRequest", "PostToolUse"];
const MODES = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"];
const LISTS = ["allow", "ask", "deny"];
const HOOK_KEYS: Readonly<Record<string, readonly string[]>> = {
  command: ["type", "command", "args", "timeout", "onFailure", "statusMessage"],
  http: ["type", "url", "headers", "allowedEnvVars", "timeout", "onFailure", "statusMessage"],
};

/**
 * `settings.json` and `settings.local.json` of Claude Code. Permissions and hooks are a configuration of Haft as they are, except
 * for the paths that are returned.
 */
export function readClaudeSettings(reader: SettingsReader): ConfigPath[] {
  const leftOut: ConfigPath[] = Object.keys(reader.value)
    .filter((key) => key !== "permissions" && key !== "hooks")
    .map((key) => [key]);
  leftOut.push(...readPermissions(reader), ...readHooks(reader));
  readServerLists(reader);
  readSandbox(reader);
  for (const { at } of reader.entries("env")) reader.notApplied(at, FIXED_VARIABLES);
  if (reader.get("disableAllHooks") !== undefined) {
    reader.notApplied(["disableAllHooks"], "Hooks of a folder run only if they are trusted: leave them untrusted.");
  }
  if (reader.get("model") !== undefined) reader.notApplied(["model"], "The model of Haft's agent is agent.model.");
  if (reader.get("enabledPlugins") !== undefined) {
    reader.notApplied(["enabledPlugins"], "Plugins of Claude Code are not loaded. Those of Haft are named in plugins.");
  }
  return leftOut;
}

function readPermissions(reader: SettingsReader): ConfigPath[] {
  const leftOut: ConfigPath[] = [];
  const leave = (at: ConfigPath, reason: string): void => {
    leftOut.push(at);
    reader.notApplied(at, reason);
  };
  for (const { key, value, at } of reader.entries("permissions")) {
    if (LISTS.includes(key)) {
      for (const [index, rule] of (Array.isArray(value) ? (value as unknown[]) : []).entries()) {
        if (key === "allow") reader.applied([...at, index], `Allows ${String(rule)} without asking.`);
        else reader.narrowed([...at, index], `${key === "deny" ? "Denies" : "Asks for"} ${String(rule)}.`);
      }
    } else if (key === "additionalDirectories") {
      leave(at, "It would grant more. To let tools reach these folders, set workspace.allowedPaths.");
    } else if (key === "defaultMode") {
      if (!MODES.includes(String(value))) leave(at, `The mode ${JSON.stringify(value)} is not known; default is used.`);
      else reader.applied(at, `The mode is ${String(value)}, if no later file sets another.`);
    } else if (key === "disableBypassPermissionsMode") {
      reader.narrowed(at, "No call can use bypassPermissions.");
    } else if (key === "disableAutoMode") {
      leftOut.push(at);
      reader.applied(at, "Haft has no such mode.");
    } else {
      leftOut.push(at);
      reader.unknownKey(at, LISTS, "Haft has no such key.");
    }
  }
  return leftOut;
}

function readHooks(reader: SettingsReader): ConfigPath[] {
  const leftOut: ConfigPath[] = [];
  const leave = (at: ConfigPath, reason: string): void => {
    leftOut.push(at);
    reader.notApplied(at, reason);
  };
  for (const { key: event, value: groups, at } of reader.entries("hooks")) {
    if (!EVENTS.includes(event)) {
      leftOut.push(at);
      if (handlersIn(groups).every(isOwn)) reader.notApplied(at, OWN);
      else reader.unknownKey(at, EVENTS, `Haft has no hooks for ${event}, but for ${EVENTS.join(", ")}.`);
      continue;
    }
    for (const [index, group] of (Array.isArray(groups) ? (groups as unknown[]) : []).entries()) {
      const handlers: unknown = isObject(group) ? group["hooks"] : undefined;
      let runs = false;
      for (const [each, handler] of (Array.isArray(handlers) ? (handlers as unknown[]) : []).entries()) {
        if (!isObject(handler)) continue;
        const path = [...at, index, "hooks", each];
        const type = String(handler["type"]);
        const known = Object.hasOwn(HOOK_KEYS, type) ? HOOK_KEYS[type]! : undefined;
        if (!known) {
          leave(path, `Hooks of type "${type}" do not run here; command and http do.`);
          continue;
        }
        // It would ask about the call that Haft is asking about.
        if (isOwn(handler)) {
          leave(path, OWN);
          continue;
        }
        runs = true;
        reader.applied(path, `Runs for ${event}.`);
        for (const key of Object.keys(handler)) {
          if (!known.includes(key)) leave([...path, key], "Haft's hooks have no such key.");
        }
      }
      if (isObject(group) && group["matcher"] !== undefined) {
        const matcher = [...at, index, "matcher"];
        if (runs) reader.applied(matcher, "Selects the calls that these hooks run for.");
        else reader.notApplied(matcher, "None of these hooks runs here.");
      }
    }
  }
  return leftOut;
}

const OWN = "It is how Claude Code asks Haft. The calls of Haft's own tools are judged without it.";

/** A command line that `haft hook install` has written, and nothing more. */
const OWN_COMMAND = /^[^;&|]*(?:haft|\.[cm]?[jt]s)'? hook [a-z]+ --limit \d+s[^;&|]* \|\| (?:exit 2|true)$/;

function isOwn(handler: unknown): boolean {
  return isObject(handler) && OWN_COMMAND.test(String(handler["command"]));
}

function handlersIn(groups: unknown): unknown[] {
  return [groups].flat().flatMap((group) => (isObject(group) ? group["hooks"] : []));
}

function readServerLists(reader: SettingsReader): void {
  for (const { text, at } of reader.texts("disabledMcpjsonServers")) {
    reader.excluded.push({ setting: "disabledMcpjsonServers", name: text });
    reader.narrowed(at, "An MCP server of this name that another program configures is not started.");
  }
  if (reader.get("enabledMcpjsonServers") !== undefined) {
    const names = reader.texts("enabledMcpjsonServers").map(({ text }) => text);
    reader.only = { setting: "enabledMcpjsonServers", names };
    reader.narrowed(["enabledMcpjsonServers"], "Of the servers of .mcp.json only these are started, once trusted.");
  }
  const all = reader.get("enableAllProjectMcpServers");
  if (all === false) reader.applied(["enableAllProjectMcpServers"], "Servers are started after haft trust.");
  else if (all !== undefined) {
    reader.notApplied(["enableAllProjectMcpServers"], "It would grant more. Servers are started after haft trust.");
  }
  reader.excluded.push(...(readServerLimits(reader, "deniedMcpServers") ?? []));
  reader.allowed = readServerLimits(reader, "allowedMcpServers");
}

/** Undefined if the list does not exist. An empty list of allowed servers allows none. */
function readServerLimits(reader: SettingsReader, setting: string): ServerLimit[] | undefined {
  const given = reader.get(setting);
  if (given === undefined) return undefined;
  if (!Array.isArray(given)) return (reader.invalid([setting], "Must be a list of objects."), undefined);
  const isDenial = setting === "deniedMcpServers";
  if (given.length === 0 && !isDenial) reader.narrowed([setting], "No MCP server of another program is started.");
  return given.flatMap((entry: unknown, index) => {
    const limit = readServerLimit(entry, setting);
    if (!limit) reader.invalid([setting, index], "Must have serverName, serverCommand or serverUrl.");
    else if (isDenial) reader.narrowed([setting, index], "A server of another program that matches is not started.");
    else reader.narrowed([setting, index], "Of other programs' servers, only the listed ones are started.");
    return limit ?? [];
  });
}

function readServerLimit(entry: unknown, setting: string): ServerLimit | undefined {
  if (!isObject(entry)) return undefined;
  const { serverName: name, serverCommand: command, serverUrl: url } = entry;
  if (typeof name === "string") return { setting, name };
  if (typeof url === "string") return { setting, url };
  return Array.isArray(command) ? { setting, command: command.map(String) } : undefined;
}

function readSandbox(reader: SettingsReader): void {
  const isEnabled = reader.get("sandbox", "enabled") === true;
  for (const path of [["sandbox"], ["sandbox", "filesystem"], ["sandbox", "network"]]) {
    const value = reader.get(...path);
    if (value !== undefined && !isObject(value)) reader.invalid(path, "Must be an object.");
  }
  for (const key of ["enabled", "failIfUnavailable", "allowUnsandboxedCommands"]) {
    const value = reader.get("sandbox", key);
    if (value !== undefined && typeof value !== "boolean") reader.invalid(["sandbox", key], "Must be true or false.");
  }
  for (const { key, value, at } of reader.entries("sandbox")) {
    if (key === "enabled") {
      if (isEnabled) {
        reader.confinesCommands = true;
        reader.narrowed(at, "Commands run confined, or do not run.");
      } else reader.notApplied(at, "Commands are confined here if this machine can do it: see sandbox.mode.");
    } else if (key === "autoAllowBashIfSandboxed") {
      if (value === false) reader.applied(at, "Confined commands need approval unless sandbox.autoAllow is set.");
      else reader.notApplied(at, "It would grant more. Set sandbox.autoAllow: true.");
    } else if (key === "excludedCommands") {
      reader.notApplied(at, "It would grant more. No command runs unconfined if a sandbox works.");
    } else if (key === "allowUnsandboxedCommands" || key === "failIfUnavailable") {
      if (value === (key === "failIfUnavailable")) {
        reader.confinesCommands = true;
        reader.narrowed(at, "Commands run confined, or do not run.");
      } else reader.notApplied(at, "It would grant more. Commands that cannot be confined need approval.");
    } else if (key === "filesystem") readFileSystem(reader);
    else if (key === "network") readNetwork(reader);
    else if (key.startsWith("enableWeaker") || key === "ignoreViolations") {
      reader.notApplied(at, "It would grant more. Haft has no weaker sandbox.");
    }
  }
}

function readFileSystem(reader: SettingsReader): void {
  for (const [key, rule] of [
    ["denyRead", "Read"],
    ["denyWrite", "Edit"],
  ] as const) {
    for (const { text, at } of reader.texts("sandbox", "filesystem", key)) {
      // In these lists an absolute path is one; in rules it begins with two slashes.
      const path = text.startsWith("/") && !text.startsWith("//") ? `/${text}` : text;
      reader.addRule("deny", `${rule}(${path})`, at);
      reader.narrowed(at, `Denied here by the rule ${rule}(${path}).`);
    }
  }
  for (const key of ["allowWrite", "allowRead"]) {
    if (reader.get("sandbox", "filesystem", key) === undefined) continue;
    reader.notApplied(
      ["sandbox", "filesystem", key],
      "It would grant more. Set workspace.allowedPaths or readOnlyPaths.",
    );
  }
}

function readNetwork(reader: SettingsReader): void {
  for (const { text, at } of reader.texts("sandbox", "network", "deniedDomains")) {
    reader.addRule("deny", `WebFetch(domain:${text})`, at);
    reader.narrowed(at, "Denied for the tools that fetch. Commands reach only sandbox.allowedHosts.");
  }
  for (const { key, at } of reader.entries("sandbox", "network")) {
    if (key === "deniedDomains") continue;
    const instead = key === "allowedDomains" ? "Set sandbox.allowedHosts." : "Confined commands cannot reach it.";
    reader.notApplied(at, `It would grant more. ${instead}`);
  }
}
