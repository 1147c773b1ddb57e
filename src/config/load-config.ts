import { realpath } from "node:fs/promises";
import { isObject } from "../schema/json-schema.ts";
import type { HaftConfig } from "./config-schema.ts";
import { type LimitedServer, limitOf } from "./foreign/server-limits.ts";
import type { ImportedSetting } from "./foreign/settings-reader.ts";
import { type McpServerConfig } from "./mcp-entries.ts";
import { listPlugins, type PluginReference } from "./plugins.ts";
import { ConfigError, type ConfigPath, type ConfigProblem, showPath } from "./problems.ts";
import { type ConfigOriginName, type ConfigSource, type RawSource, readSources } from "./sources.ts";
import { type UserOptions, userPaths } from "./user-paths.ts";
import type { TrustItem } from "./trust-items.ts";
import { openTrustStore } from "./trust.ts";
import { type CheckedSource, checkSource } from "./validate-config.ts";
import type { Environment } from "./variables.ts";

export interface LoadConfigOptions extends UserOptions {
  /** The workspace. Default: the working directory. */
  folder?: string;
  /** Overrides every file. */
  overrides?: HaftConfig;
  /** Whether a file of trust that cannot be read is an error. Default: false, then nothing is trusted. */
  requiresTrustFile?: boolean;
}

/** The configuration of a folder, merged from all its sources. */
export interface LoadedConfig {
  /** The folder that it is for. */
  folder: string;
  /** The merged values. */
  value: MergedConfig;
  /** Every value, with its file and line. */
  origins: ConfigOrigin[];
  /** The sources, lowest precedence first. Their rules, hooks and tool policies are not merged. */
  sources: ConfigSource[];
  /** If several have one name, the last one. */
  mcpServers: McpServerConfig[];
  /** The plugins to install. */
  plugins: PluginReference[];
  /** Problems that do not stop a start. */
  warnings: ConfigProblem[];
  /** What has no effect because it is not trusted yet. */
  untrusted: TrustItem[];
  /** What became of each setting in the files of other programs. */
  imported: ImportedSetting[];
  /** MCP servers that are not started because a setting of another program says so. */
  excludedServers: { name: string; reason: string }[];
  /** The file of another program that wants commands to run confined, or not at all. */
  commandsConfinedBy?: string;
  /** Files outside the folder that its instructions import and a person has trusted. */
  trustedInstructions: string[];
  /** Whether the files of Claude Code in the home folder and in the folder are read. */
  importsClaude: { home: boolean; folder: boolean };
}

/** Reads, expands, checks and merges the configuration of a workspace. Throws a `ConfigError` with all problems. */
export async function loadConfig({
  folder = process.cwd(),
  overrides,
  requiresTrustFile = false,
  ...options
}: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const user = userPaths(options);
  const real = await realpath(folder);
  const warnings: ConfigProblem[] = [];
  const trusted = await readTrusted(real, user.folder, requiresTrustFile ? undefined : warnings);
  const { sources: found, problems, imported, importsClaude } = await readSources(real, user, trusted);
  const files = dropShadowedAgents(found);
  const given = [unfiled("environment", real, environmentConfig(user.env)), unfiled("call", real, overrides)].filter(
    (source) => source !== undefined,
  );

  const checked: CheckedSource[] = [];
  for (const raw of [...files, ...given]) {
    try {
      checked.push(await checkSource(raw, { folder: real, home: user.home, env: user.env, trusted }));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const sources = shareProfiles(checked.flatMap(({ source }) => source ?? []));
  warnings.push(...checked.flatMap((each) => each.warnings));
  const untrusted = checked.flatMap((each) => each.untrusted);
  const lines = [
    ...imported.map(({ at: _at, isMisspelled: _isMisspelled, ...line }) => line),
    ...checked.flatMap((each) => each.imported),
  ];
  const excluded = excludeServers(checked, files);
  return {
    folder: real,
    value: mergeConfig(sources, warnings),
    origins: originsOf(checked),
    sources,
    mcpServers: excluded.servers,
    plugins: listPlugins(sources),
    warnings,
    untrusted,
    imported: lines.map((line) => excluded.lines.get(lineKey(line)) ?? line),
    excludedServers: excluded.names,
    commandsConfinedBy: files.find(({ confinesCommands }) => confinesCommands)?.file,
    trustedInstructions: trustedInstructions(files, untrusted),
    importsClaude,
  };
}

/** For people: how many settings have no effect, which of them changed, and what to do. */
export function untrustedNotice({ untrusted: items, folder }: Pick<LoadedConfig, "untrusted" | "folder">): string {
  const many = items.length === 1 ? "1 setting of this folder is" : `${items.length} settings of this folder are`;
  const changed = items.filter(({ isChanged }) => isChanged).map(describeItem);
  const why = items.length === 1 ? "it is not trusted" : "they are not trusted";
  const since = `${changed.join(", ")} changed since you trusted ${changed.length === 1 ? "it" : "them"}`;
  const reasons = [changed.length < items.length ? why : [], changed.length > 0 ? since : []].flat();
  const again = changed.length === items.length ? " again" : "";
  return `${many} not used, because ${reasons.join(", and ")} (${folder}). Review and trust${again}: haft trust`;
}

function describeItem({ kind, name, what, path, file }: TrustItem): string {
  if (kind === "plugin") return what.replace(/^load /, "");
  if (kind === "mcp_server") return `the MCP server "${name}"`;
  return path === "" ? file : path;
}

/** Agents of other programs replace none of Haft's own or later files; those of a folder none of the user. */
function dropShadowedAgents(sources: readonly RawSource[]): RawSource[] {
  return sources.map((source, at) => {
    const agents = source.kind === "foreign" && isObject(source.value) ? source.value["agents"] : undefined;
    const [name] = isObject(agents) ? Object.keys(agents) : [];
    if (name === undefined) return source;
    const isUsers = source.origin === "user";
    const other = sources.find(({ kind, origin, value }, index) => {
      const own = isObject(value) && isObject(value["agents"]) ? value["agents"] : {};
      if (!Object.hasOwn(own, name) || (isUsers && origin !== "user")) return false;
      return kind === "haft" || index > at || (!isUsers && origin === "user");
    });
    if (!other) return source;
    const reason = `${other.file} has an agent "${name}" too, which is used.`;
    const { file = "" } = source;
    return { ...source, value: {}, imported: [{ file, setting: "", outcome: "not_applied", reason, at: [] }] };
  });
}

interface ExcludedServers {
  servers: McpServerConfig[];
  names: LoadedConfig["excludedServers"];
  /** The lines of the servers that are not started, by their file and setting. */
  lines: Map<string, ImportedSetting>;
}

/** Settings of other programs say which of their servers are not started. Servers of Haft's own files are not theirs. */
function excludeServers(checked: readonly CheckedSource[], files: readonly RawSource[]): ExcludedServers {
  const limits = files.flatMap((file) => file.limits ?? []);
  const servers = new Map<string, McpServerConfig>();
  const excluded: ExcludedServers = { servers: [], names: [], lines: new Map() };
  for (const { source, servers: own, untrusted, imported } of checked) {
    const isForeign = source?.kind === "mcp";
    const exclude = (server: LimitedServer): boolean => {
      const by = isForeign ? limitOf(server, limits) : undefined;
      if (by === undefined) return false;
      const reason = `Not started: ${by}.`;
      excluded.names.push({ name: server.name, reason });
      const line = imported.find(({ setting }) => setting.endsWith(showPath(["x", server.name]).slice(1)));
      if (line) excluded.lines.set(lineKey(line), { ...line, outcome: "narrowed", reason });
      return true;
    };
    for (const server of own) if (!exclude(server)) servers.set(server.name, server);
    for (const { name, file } of untrusted) if (name !== undefined) exclude({ name, file });
  }
  excluded.servers = [...servers.values()];
  return excluded;
}

function lineKey({ file, setting }: ImportedSetting): string {
  return `${file}\0${setting}`;
}

function trustedInstructions(files: readonly RawSource[], untrusted: readonly TrustItem[]): string[] {
  const source = files.find(({ kind }) => kind === "instructions");
  const paths = isObject(source?.value) ? source.value["imports"] : undefined;
  if (!Array.isArray(paths)) return [];
  const open = new Set(untrusted.filter(({ file }) => file === source?.file).map(({ path }) => path));
  return paths.filter((path, index) => typeof path === "string" && !open.has(showPath(["imports", index]))) as string[];
}

/** If the file cannot be read, nothing is trusted. Settings that need no trust still have effect. Throws without `warnings`. */
async function readTrusted(
  folder: string,
  userFolder: string,
  warnings: ConfigProblem[] | undefined,
): Promise<ReadonlySet<string>> {
  try {
    return await openTrustStore({ folder: userFolder }).read(folder);
  } catch (error) {
    if (!(error instanceof ConfigError) || !warnings) throw error;
    warnings.push(...error.problems);
    return new Set();
  }
}

function unfiled(origin: RawSource["origin"], folder: string, value: unknown): RawSource | undefined {
  if (value === undefined) return undefined;
  return { origin, kind: "haft", folder, value, isFinal: origin === "call", positionOf: () => undefined };
}

/** A source can use the profiles of earlier ones. Its own profile of the same name takes precedence for itself only. */
function shareProfiles(sources: readonly ConfigSource[]): ConfigSource[] {
  let earlier: NonNullable<HaftConfig["profiles"]> = {};
  return sources.map((source) => {
    const profiles = { ...earlier, ...source.value.profiles };
    earlier = { ...source.value.profiles, ...earlier };
    const { policy } = source;
    return policy && Object.keys(profiles).length > 0 ? { ...source, policy: { ...policy, profiles } } : source;
  });
}

type Section<Key extends keyof HaftConfig> = NonNullable<HaftConfig[Key]>;

/** The settings with one value. Rules, hooks and tool policies stay in their `ConfigSource`. */
interface MergedConfig {
  tools: Pick<Section<"tools">, "timeout" | "maxConcurrent" | "webSearch">;
  permissions: Pick<Section<"permissions">, "defaultMode" | "defaultPermission" | "disableBypassPermissionsMode">;
  workspace: Section<"workspace">;
  languageServers: Section<"languageServers">;
  limits: Section<"limits">;
  mcp: Section<"mcp">;
  toolSearch: Exclude<Section<"toolSearch">, boolean>;
  network: Section<"network">;
  browser: Section<"browser">;
  /** Without `tools`, which is policy. */
  sandbox: Omit<Section<"sandbox">, "tools">;
  store: Section<"store">;
  jobs: Section<"jobs">;
  sessions: Section<"sessions">;
  server: Section<"server">;
  agent: Section<"agent">;
  /** Without `tools`, which is policy. */
  agents: Record<string, Omit<Section<"agents">[string], "tools">>;
  approvals: Section<"approvals">;
  provenance: Section<"provenance">;
  artifacts: Section<"artifacts">;
  audit: Section<"audit">;
  message: Section<"message">;
}

/** One value of one source, as written there. */
interface ConfigOrigin {
  path: string;
  value: unknown;
  origin: ConfigOriginName;
  file?: string;
  line?: number;
  column?: number;
  /** A later source has another value. */
  isOverridden: boolean;
}

/** Lists to which every source adds. */
const JOINED = /^(?:workspace\.(?:denyGlobs|readOnlyPaths|permitGlobs)|audit\.redact|provenance\.tools[.[].+\.labels)$/;

function mergeConfig(sources: readonly ConfigSource[], warnings: ConfigProblem[]): MergedConfig {
  const limitedAgents = new Set(
    sources.flatMap(({ origin, value }) =>
      Object.entries(origin === "user" ? (value.agents ?? {}) : {}).flatMap(([name, { toolkit }]) =>
        toolkit ? [name] : [],
      ),
    ),
  );
  const userDenies = sources.some(({ origin, value }) => origin === "user" && value.workspace?.denyGlobs?.length);
  let merged: unknown = {};
  for (const { origin, file, value } of sources) {
    const settings = settingsOf(value);
    const isFolders = origin === "project" || origin === "local";
    if (isFolders && userDenies && settings.workspace.permitGlobs?.length) {
      const message = "Ignored: it could lift the user's workspace.denyGlobs. Set it in the user's file.";
      warnings.push({ file, path: "workspace.permitGlobs", message });
      delete settings.workspace.permitGlobs;
    }
    for (const [name, agent] of Object.entries(isFolders ? settings.agents : {})) {
      if (!agent.toolkit || !limitedAgents.has(name)) continue;
      const message = "Ignored: it could widen the toolkit of the user's agent. Use another name, or tools.deny.";
      warnings.push({ file, path: showPath(["agents", name, "toolkit"]), message });
      delete agent.toolkit;
    }
    merged = merge(merged, settings, "");
  }
  const result = { ...settingsOf({}), ...(merged as Partial<MergedConfig>) };
  const { defaultMode, disableBypassPermissionsMode } = result.permissions;
  if (disableBypassPermissionsMode && defaultMode === "bypassPermissions") {
    warnings.push({
      path: "permissions.defaultMode",
      message: "bypassPermissions is disabled; the default mode is used.",
    });
    result.permissions.defaultMode = "default";
  }
  return result;
}

function settingsOf(value: HaftConfig): MergedConfig {
  const { timeout, maxConcurrent, webSearch, allowedPaths } = value.tools ?? {};
  const { defaultMode, defaultPermission, disableBypassPermissionsMode } = value.permissions ?? {};
  return {
    tools: { timeout, maxConcurrent, webSearch },
    permissions: { defaultMode, defaultPermission, disableBypassPermissionsMode },
    workspace: { allowedPaths: allowedPaths || undefined, ...value.workspace },
    languageServers: { ...value.languageServers },
    limits: { ...value.limits },
    mcp: { ...value.mcp },
    toolSearch: typeof value.toolSearch === "boolean" ? { enabled: value.toolSearch } : { ...value.toolSearch },
    network: { ...value.network },
    browser: { ...value.browser },
    sandbox: sandboxOf(value.sandbox),
    store: { ...value.store },
    jobs: { ...value.jobs },
    sessions: { ...value.sessions },
    server: { ...value.server },
    agent: { ...value.agent },
    agents: Object.fromEntries(
      Object.entries(value.agents ?? {}).map(([name, { tools: _tools, ...agent }]) => [name, agent]),
    ),
    approvals: { ...value.approvals },
    provenance: { ...value.provenance },
    artifacts: { ...value.artifacts },
    audit: { ...value.audit },
    message: { ...value.message },
  };
}

function sandboxOf({ tools: _tools, ...settings }: Section<"sandbox"> = {}): MergedConfig["sandbox"] {
  return settings;
}

function merge(base: unknown, next: unknown, path: string): unknown {
  if (next === undefined) return base;
  if (Array.isArray(base) && Array.isArray(next) && JOINED.test(path)) return [...new Set([...base, ...next])];
  if (!isObject(next)) return next;
  const result: Record<string, unknown> = isObject(base) ? { ...base } : {};
  for (const [key, value] of Object.entries(next)) {
    const joined = merge(result[key], value, path ? `${path}.${key}` : key);
    if (joined !== undefined) result[key] = joined;
  }
  return result;
}

/** Keys that have one value. Others have the values of all sources. */
const SINGLE =
  /^(tools\.(timeout|maxConcurrent|webSearch|allowedPaths)|permissions\.default(Mode|Permission)|workspace|languageServers|limits|mcp|toolSearch|network|browser|sandbox\.(?!tools)\w+|store|jobs|sessions|server|agent|agents\.[^.]+\.(?!tools)\w+|approvals|provenance|artifacts|audit|message)\b/;

/** Every value of every source, lowest precedence first. */
function originsOf(checked: readonly CheckedSource[]): ConfigOrigin[] {
  const origins: ConfigOrigin[] = [];
  for (const { source, written, positionOf, untrusted } of checked) {
    if (!source) continue;
    const earlierOnes = origins.slice();
    const leftOut = new Set(untrusted.map(({ path }) => path));
    const { origin, file } = source;
    const visit = (value: unknown, path: ConfigPath): void => {
      const shown = showPath(path);
      if (leftOut.has(shown)) return;
      if (Array.isArray(value)) return value.forEach((item, index) => visit(item, [...path, index]));
      if (isObject(value)) return Object.entries(value).forEach(([key, field]) => visit(field, [...path, key]));
      const key = shown.replace(/\[\d+\].*$/, "");
      if (SINGLE.test(shown) && !JOINED.test(key)) {
        for (const earlier of earlierOnes) {
          const isSame = earlier.path === shown || (shown !== key && earlier.path.startsWith(`${key}[`));
          if (isSame) earlier.isOverridden = true;
        }
      }
      origins.push({ path: shown, value, origin, file: file || undefined, ...positionOf(path), isOverridden: false });
    };
    visit(written, []);
  }
  return origins;
}

/** Environment variables that are settings, with their keys. */
const SETTINGS: readonly (readonly [variable: string, section: string, key: string])[] = [
  ["HAFT_PROFILE", "tools", "profile"],
  ["HAFT_TIMEOUT", "tools", "timeout"],
  ["HAFT_MAX_CONCURRENT", "tools", "maxConcurrent"],
  ["HAFT_MODE", "permissions", "defaultMode"],
  ["HAFT_TOOL_SEARCH", "toolSearch", "enabled"],
  ["HAFT_STORE_URL", "store", "url"],
  ["HAFT_REDIS_URL", "jobs", "redisUrl"],
  ["HAFT_HOST", "server", "host"],
  ["HAFT_PORT", "server", "port"],
  // Not HAFT_TOKEN: a client sends that one, and here it would grant everything.
  ["HAFT_SERVER_TOKEN", "server", "token"],
];

/** The environment as a configuration. Every value is a variable, so it is converted and checked like one in a file. */
function environmentConfig(env: Environment): Record<string, Record<string, string>> | undefined {
  const config: Record<string, Record<string, string>> = {};
  for (const [variable, section, key] of SETTINGS) {
    if (env[variable]) (config[section] ??= {})[key] = `\${${variable}}`;
  }
  return Object.keys(config).length > 0 ? config : undefined;
}
