import { isDeepStrictEqual } from "node:util";
import { isObject } from "../schema/json-schema.ts";
import type { HaftConfig } from "./config-schema.ts";
import type { LoadedConfig } from "./load-config.ts";

/** When a changed setting takes effect in a running process: within two seconds, or after a restart. */
export type SettingBinding = "live" | "restart";

/** A row for each setting of a section, or one for the whole section. */
type Rows<Section> = {
  readonly [Key in keyof Section]-?: SettingBinding | Rows<NonNullable<Section[Key]>>;
};

/** A setting without a row does not compile. `live-settings.test.ts` changes each of them in a running server. */
const BINDINGS: Rows<Omit<HaftConfig, "toolSearch">> & { toolSearch: Rows<ToolSearch> } = {
  $schema: "live",
  tools: {
    timeout: "live",
    maxConcurrent: "live",
    allowedPaths: "live",
    webSearch: "restart",
    mcpServers: "live",
    profile: "live",
    allow: "live",
    alsoAllow: "live",
    deny: "live",
    byProvider: "live",
  },
  profiles: "live",
  agent: "live",
  agents: "live",
  sandbox: "live",
  subagents: "live",
  permissions: "live",
  hooks: "live",
  mcpServers: "live",
  servers: "live",
  inputs: "live",
  plugins: "restart",
  workspace: {
    allowedPaths: "live",
    readOnlyPaths: "live",
    denyGlobs: "live",
    permitGlobs: "live",
    unrestricted: "live",
    requireReadBeforeEdit: "live",
    maxReadBytes: "live",
    diagnostics: "restart",
    folderInstructions: "restart",
  },
  languageServers: "restart",
  limits: "live",
  mcp: "live",
  toolSearch: { enabled: "restart", budget: "live", core: "live", mcp: "restart", learnFrom: "restart" },
  // Commands follow `network.exceptions` at once. The tools that fetch keep the connections that they were opened with.
  network: "restart",
  browser: "restart",
  store: { url: "restart", retention: "live" },
  jobs: "restart",
  server: {
    host: "restart",
    port: "restart",
    grace: "live",
    token: "restart",
    allowedHosts: "restart",
    allowedOrigins: "restart",
    limits: "restart",
  },
  approvals: "live",
  provenance: "live",
  sessions: "live",
  artifacts: "restart",
  audit: "restart",
  message: "restart",
  import: "live",
};

type ToolSearch = Exclude<NonNullable<HaftConfig["toolSearch"]>, boolean>;

/** By the path of the setting: `limits.grace`. Undefined if the table has no row. */
export function bindingOf(path: string): SettingBinding | undefined {
  let row: unknown = BINDINGS;
  for (const part of path.split(/[.[]/)) {
    if (typeof row === "string") break;
    row = isObject(row) && Object.hasOwn(row, part) ? row[part] : undefined;
  }
  return row === "live" || row === "restart" ? row : undefined;
}

/** The settings that have another value than at the start, and need a restart to take effect. */
export function restartNeeded(started: LoadedConfig, now: LoadedConfig): string[] {
  const changed: string[] = [];
  const visit = (row: unknown, path: string, values: readonly [unknown, unknown]): void => {
    if (isObject(row)) {
      for (const [key, below] of Object.entries(row)) {
        const parts = values.map((value) => (isObject(value) ? value[key] : undefined));
        visit(below, path ? `${path}.${key}` : key, [parts[0], parts[1]]);
      }
    } else if (row === "restart" && !isDeepStrictEqual(...values)) changed.push(...differences(path, values));
  };
  visit(BINDINGS, "", [comparable(started), comparable(now)]);
  return changed;
}

function comparable({ value, plugins }: LoadedConfig): unknown {
  return { ...value, plugins };
}

/** Names the settings of a section that differ, not the section. */
function differences(path: string, [before, after]: readonly [unknown, unknown]): string[] {
  if (path === "plugins" || path === "languageServers" || !(isObject(before) || isObject(after))) return [path];
  const [old, next] = [before, after].map((value) => (isObject(value) ? value : {}));
  const keys = new Set([...Object.keys(old ?? {}), ...Object.keys(next ?? {})]);
  return [...keys].filter((key) => !isDeepStrictEqual(old?.[key], next?.[key])).map((key) => `${path}.${key}`);
}
