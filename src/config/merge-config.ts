import type { ConfigPath, ConfigProblem } from "./config-problem.ts";
import { showPath } from "./config-problem.ts";
import type { HaftConfig } from "./config-schema.ts";
import type { ConfigOriginName, ConfigSource } from "./config-source.ts";
import { isObject } from "./read-mcp-servers.ts";
import type { CheckedSource } from "./check-source.ts";

type Section<Key extends keyof HaftConfig> = NonNullable<HaftConfig[Key]>;

/**
 * The settings of which one value counts. What every source keeps for itself stands in its `ConfigSource`: rules, hooks,
 * and which tools exist. Absent values are the defaults of the part that uses them.
 */
export interface MergedConfig {
  tools: Pick<Section<"tools">, "timeout" | "maxConcurrent" | "webSearch">;
  permissions: Pick<Section<"permissions">, "defaultMode" | "disableBypassPermissionsMode">;
  workspace: Section<"workspace">;
  limits: Section<"limits">;
  toolSearch: Section<"toolSearch">;
  network: Section<"network">;
  browser: Section<"browser">;
  /** Without its tools, which are policy. */
  sandbox: Omit<Section<"sandbox">, "tools">;
  store: Section<"store">;
  jobs: Section<"jobs">;
  sessions: Section<"sessions">;
  server: Section<"server">;
  agent: Section<"agent">;
  /** Without their tools, which are policy. */
  agents: Record<string, Omit<Section<"agents">[string], "tools">>;
  approvals: Section<"approvals">;
  artifacts: Section<"artifacts">;
  audit: Section<"audit">;
  message: Section<"message">;
}

/** One value of one source, as it is written there. */
export interface ConfigOrigin {
  path: string;
  value: unknown;
  origin: ConfigOriginName;
  file?: string;
  line?: number;
  column?: number;
  /** A later source says it differently. */
  isOverridden: boolean;
}

/** Lists of which every source's entries count, because they narrow, or are the same said twice. */
const JOINED = new Set(["workspace.denyGlobs", "workspace.readOnlyPaths", "workspace.permitGlobs", "audit.redact"]);

export function mergeConfig(sources: readonly ConfigSource[], warnings: ConfigProblem[]): MergedConfig {
  const userDenies = sources.some(({ origin, value }) => origin === "user" && value.workspace?.denyGlobs?.length);
  let merged: unknown = {};
  for (const { origin, file, value } of sources) {
    const settings = settingsOf(value);
    const isFolders = origin === "project" || origin === "local";
    if (isFolders && userDenies && settings.workspace.permitGlobs?.length) {
      const message = "Left out: the user's workspace.denyGlobs could be lifted by it. Say it in the user's file.";
      warnings.push({ file, path: "workspace.permitGlobs", message });
      delete settings.workspace.permitGlobs;
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
  const { defaultMode, disableBypassPermissionsMode } = value.permissions ?? {};
  return {
    tools: { timeout, maxConcurrent, webSearch },
    permissions: { defaultMode, disableBypassPermissionsMode },
    workspace: { ...(allowedPaths ? { allowedPaths } : {}), ...value.workspace },
    limits: { ...value.limits },
    toolSearch: { ...value.toolSearch },
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
  if (Array.isArray(base) && Array.isArray(next) && JOINED.has(path)) return [...new Set([...base, ...next])];
  if (!isObject(next)) return next;
  const result: Record<string, unknown> = isObject(base) ? { ...base } : {};
  for (const [key, value] of Object.entries(next)) {
    const joined = merge(result[key], value, path ? `${path}.${key}` : key);
    if (joined !== undefined) result[key] = joined;
  }
  return result;
}

/** Of each of these one value counts; of everything else all of them do. */
const SINGLE =
  /^(tools\.(timeout|maxConcurrent|webSearch|allowedPaths)|permissions\.defaultMode|workspace|limits|toolSearch|network|browser|sandbox\.(?!tools)\w+|store|jobs|sessions|server|agent|agents\.[^.]+\.(?!tools)\w+|approvals|artifacts|audit|message)\b/;

/** Every value that a source gives, in the order in which they count. */
export function originsOf(checked: readonly CheckedSource[]): ConfigOrigin[] {
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
      if (SINGLE.test(shown) && !JOINED.has(key)) {
        for (const earlier of earlierOnes) {
          const isSame = earlier.path === shown || (shown !== key && earlier.path.startsWith(`${key}[`));
          if (isSame) earlier.isOverridden = true;
        }
      }
      origins.push({ path: shown, value, origin, ...(file ? { file } : {}), ...positionOf(path), isOverridden: false });
    };
    visit(written, []);
  }
  return origins;
}
