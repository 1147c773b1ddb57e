import { serverKey } from "../../core/tool-catalog.ts";
import { isObject } from "../../schema/json-schema.ts";
import { FIXED_VARIABLES, READ_ONLY, type SettingsReader } from "./settings-reader.ts";

/** `config.toml` of Codex, without its MCP servers. */
export function readCodexSettings(reader: SettingsReader): void {
  readLimits(reader, []);
  for (const { key, value, at: path } of reader.entries("sandbox_workspace_write")) {
    if (key === "network_access") {
      if (value === false) reader.applied(path, "Confined commands have no network.");
      else reader.notApplied(path, "It would grant more. To let commands reach hosts, set sandbox.allowedHosts.");
    } else if (key === "writable_roots") {
      reader.notApplied(path, "It would grant more. To let tools reach these folders, set workspace.allowedPaths.");
    } else if (key === "exclude_slash_tmp" || key === "exclude_tmpdir_env_var") {
      reader.applied(path, "Confined commands have temporary folders of their own.");
    }
  }
  for (const { at: path } of reader.entries("projects")) {
    reader.notApplied(path, "Haft keeps its own list of trusted folders: haft trust.");
  }
  readProfiles(reader);
  readServerApprovals(reader);
  for (const { key, at: path } of reader.entries("shell_environment_policy")) {
    reader.notApplied(path, environmentReason(key));
  }
  for (const key of ["model", "model_provider", "model_providers"]) {
    if (reader.get(key) !== undefined) reader.notApplied([key], "The model of Haft's agent is agent.model.");
  }
}

/** The settings at the top of the file, or of the profile that it selects. */
function readLimits(reader: SettingsReader, base: string[]): void {
  readSandbox(reader, [...base, "sandbox_mode"]);
  readApprovals(reader, [...base, "approval_policy"]);
  readWebSearch(reader, [...base, "web_search"]);
  readWebSearch(reader, [...base, "tools", "web_search"]);
}

function readSandbox(reader: SettingsReader, at: string[]): void {
  const mode = reader.get(...at);
  if (mode === "read-only") {
    reader.makeReadOnly(at);
    reader.narrowed(at, READ_ONLY);
  } else if (mode === "workspace-write") {
    reader.confinesCommands = true;
    reader.narrowed(at, "Commands run confined to the workspace, without network, or do not run.");
  } else if (mode === "danger-full-access") {
    reader.notApplied(
      at,
      "It would grant more. To run commands unconfined, set sandbox.mode: off in your own configuration.",
    );
  } else if (mode !== undefined) {
    reader.makeReadOnly(at);
    reader.narrowed(at, "The value is not known, so it is taken as read-only.");
  }
}

function readApprovals(reader: SettingsReader, at: string[]): void {
  const policy = reader.get(...at);
  if (policy === undefined) return;
  if (policy === "never") {
    const instead = "To refuse calls instead of asking, set permissions.defaultMode: dontAsk.";
    reader.notApplied(at, `It would grant more: calls that need approval still wait for it. ${instead}`);
  } else if (policy === "on-request" || policy === "on-failure") {
    reader.applied(at, "Haft's rules decide which calls need approval.");
  } else {
    reader.addRule("ask", "Edit", at);
    reader.addRule("ask", "kind:execute", at);
    const reason =
      policy === "untrusted"
        ? "File changes and commands always need approval, even if a rule or a mode allows them."
        : "The value is not known, so file changes and commands always need approval.";
    reader.narrowed(at, reason);
  }
}

function readWebSearch(reader: SettingsReader, at: string[]): void {
  const search = reader.get(...at);
  if (search === undefined) return;
  if (search === true || search === "live" || search === "cached" || isObject(search)) {
    return reader.notApplied(at, "web_search has its own setting: tools.webSearch.");
  }
  reader.denyTools(["web_search"]);
  const isKnown = search === false || search === "disabled";
  reader.narrowed(at, `${isKnown ? "" : "The value is not known. "}There is no web_search here.`);
}

/** The settings of the profile that the file selects are as narrow as those at its top. */
function readProfiles(reader: SettingsReader): void {
  const selected = reader.get("profile");
  for (const { key, at } of reader.entries("profiles")) {
    if (key === selected) readLimits(reader, at);
    else reader.notApplied(at, "Haft has no profiles of this kind, and the file does not select it.");
  }
  if (selected !== undefined)
    reader.notApplied(["profile"], "Of this profile, only settings that grant less are applied.");
}

/** `prompt` for all tools of a server, or for one. */
function readServerApprovals(reader: SettingsReader): void {
  const ask = (at: string[], rule: string): void => {
    if (reader.get(...at) !== "prompt") return;
    reader.addRule("ask", rule, at);
    reader.narrowed(at, `Needs approval here, by ${rule}.`);
  };
  for (const { key, at } of reader.entries("mcp_servers")) {
    const server = `mcp__${serverKey(key)}`;
    ask([...at, "default_tools_approval_mode"], server);
    for (const { key: tool, at: path } of reader.entries(...at, "tools")) {
      ask([...path, "approval_mode"], `${server}__${tool.replaceAll(".", "_")}`);
    }
  }
}

function environmentReason(key: string): string {
  if (key === "set") return "It adds variables. In a session, the tool set_env does that.";
  return `${FIXED_VARIABLES} Those cannot be reduced further.`;
}
