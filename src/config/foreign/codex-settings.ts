import { FIXED_VARIABLES, type SettingsReader } from "./settings-reader.ts";

/** `config.toml` of Codex, without its MCP servers. */
export function readCodexSettings(reader: SettingsReader): void {
  readSandbox(reader);
  readApprovals(reader);
  const search = reader.get("web_search") ?? reader.get("tools", "web_search");
  const at = reader.get("web_search") === undefined ? ["tools", "web_search"] : ["web_search"];
  if (search === false || search === "disabled") {
    reader.denyTools(["web_search"]);
    reader.narrowed(at, "There is no web_search here.");
  } else if (search !== undefined) {
    reader.notApplied(at, "web_search has its own setting: tools.webSearch.");
  }
  for (const { at: path } of reader.entries("projects")) {
    reader.notApplied(path, "Haft has its own trust of folders: haft trust.");
  }
  readProfiles(reader);
  for (const { key, at: path } of reader.entries("shell_environment_policy")) {
    reader.notApplied(path, environmentReason(key));
  }
  for (const key of ["model", "model_provider", "model_providers"]) {
    if (reader.get(key) !== undefined) reader.notApplied([key], "The model of Haft's agent is agent.model.");
  }
}

function readSandbox(reader: SettingsReader): void {
  const mode = reader.get("sandbox_mode");
  const at = ["sandbox_mode"];
  if (mode === "read-only") {
    reader.makeReadOnly(at);
    reader.narrowed(at, "No tool changes files here. Commands run confined and change none, or do not run.");
  } else if (mode === "workspace-write") {
    reader.confinesCommands = true;
    reader.narrowed(at, "Commands run confined to the workspace, without network, or do not run.");
  } else if (mode === "danger-full-access") {
    reader.notApplied(at, "It widens. To run commands unconfined, write sandbox.mode: off in your own configuration.");
  } else if (mode !== undefined) {
    reader.makeReadOnly(at);
    reader.narrowed(at, "The value is not known, so it is taken as read-only.");
  }
  for (const { key, value, at: path } of reader.entries("sandbox_workspace_write")) {
    if (key === "network_access") {
      if (value === false) reader.applied(path, "Confined commands have no network.");
      else reader.notApplied(path, "It widens. To let commands reach hosts, write sandbox.allowedHosts.");
    } else if (key === "writable_roots") {
      reader.notApplied(path, "It widens. To let tools reach these folders, write workspace.allowedPaths.");
    } else if (key === "exclude_slash_tmp" || key === "exclude_tmpdir_env_var") {
      reader.applied(path, "Confined commands have temporary folders of their own.");
    }
  }
}

function readApprovals(reader: SettingsReader): void {
  const policy = reader.get("approval_policy");
  const at = ["approval_policy"];
  if (policy === "untrusted") {
    reader.addRule("ask", "Edit", at);
    reader.addRule("ask", "kind:execute", at);
    reader.narrowed(at, "Changes of files and commands always ask, also if a rule or a mode allows them.");
  } else if (policy === "never") {
    const instead = "To refuse instead of asking, write permissions.defaultMode: dontAsk.";
    reader.notApplied(at, `It widens: calls that need a person still ask here. ${instead}`);
  } else if (policy === "on-request" || policy === "on-failure") {
    reader.applied(at, "Calls that need a person ask, by the rules of Haft.");
  } else if (policy !== undefined) {
    reader.addRule("ask", "Edit", at);
    reader.addRule("ask", "kind:execute", at);
    reader.narrowed(at, "The value is not known, so changes of files and commands always ask.");
  }
}

/** The settings of the profile that the file selects are as narrow as those at its top. */
function readProfiles(reader: SettingsReader): void {
  const selected = reader.get("profile");
  for (const { key, at } of reader.entries("profiles")) {
    if (key !== selected) {
      reader.notApplied(at, "Haft has no profiles of this kind, and the file does not select it.");
      continue;
    }
    const mode = reader.get("profiles", key, "sandbox_mode");
    if (mode === "read-only") {
      reader.makeReadOnly([...at, "sandbox_mode"]);
      reader.narrowed([...at, "sandbox_mode"], "The selected profile: no tool changes files here.");
    } else if (mode === "workspace-write") {
      reader.confinesCommands = true;
      reader.narrowed([...at, "sandbox_mode"], "The selected profile: commands run confined, or do not run.");
    }
    if (reader.get("profiles", key, "approval_policy") === "untrusted") {
      const path = [...at, "approval_policy"];
      reader.addRule("ask", "Edit", path);
      reader.addRule("ask", "kind:execute", path);
      reader.narrowed(path, "The selected profile: changes of files and commands always ask.");
    }
  }
  if (selected !== undefined) reader.notApplied(["profile"], "Only what the profile narrows has effect here.");
}

function environmentReason(key: string): string {
  if (key === "set") return "It adds variables. In a session, the tool set_env does that.";
  return `${FIXED_VARIABLES} Those cannot be reduced further.`;
}
