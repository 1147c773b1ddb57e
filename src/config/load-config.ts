import { realpath } from "node:fs/promises";
import { checkSource, type CheckedSource } from "./check-source.ts";
import { ConfigError, type ConfigProblem } from "./config-problem.ts";
import type { HaftConfig } from "./config-schema.ts";
import type { ConfigSource, RawSource } from "./config-source.ts";
import { environmentConfig } from "./environment-config.ts";
import type { TrustItem } from "./list-trust-items.ts";
import type { McpServerConfig } from "./mcp-server-config.ts";
import { type ConfigOrigin, mergeConfig, type MergedConfig, originsOf } from "./merge-config.ts";
import { listPlugins, type PluginReference } from "./plugin-reference.ts";
import { readSources } from "./read-sources.ts";
import { openTrustStore } from "./trust-store.ts";
import { type UserOptions, userPaths } from "./user-folder.ts";

export interface LoadConfigOptions extends UserOptions {
  /** The workspace; the working directory where absent. */
  folder?: string;
  /** What a caller says, over every file. */
  overrides?: HaftConfig;
}

export interface LoadedConfig {
  folder: string;
  value: MergedConfig;
  /** Every value with the file and line that gave it. */
  origins: ConfigOrigin[];
  /** What each source says for itself, lowest first: rules, hooks, and which tools exist. */
  sources: ConfigSource[];
  /** Of several with one name the last counts. */
  mcpServers: McpServerConfig[];
  plugins: PluginReference[];
  warnings: ConfigProblem[];
  /** What was left out because nobody has agreed to it yet. */
  untrusted: TrustItem[];
}

/** Reads, expands, checks and merges all that is configured for a folder. Throws a `ConfigError` with all that is wrong. */
export async function loadConfig({
  folder = process.cwd(),
  overrides,
  ...options
}: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const user = userPaths(options);
  const real = await realpath(folder);
  const { sources: files, problems, warnings } = await readSources(real, user);
  const trusted = await readTrusted(real, user.folder, warnings);
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
  return {
    folder: real,
    value: mergeConfig(sources, warnings),
    origins: originsOf(checked),
    sources,
    mcpServers: [...new Map(checked.flatMap(({ servers }) => servers).map((server) => [server.name, server])).values()],
    plugins: listPlugins(sources),
    warnings,
    untrusted: checked.flatMap(({ untrusted }) => untrusted),
  };
}

/** What cannot be read vouches for nothing, but what needs no trust still counts. */
async function readTrusted(
  folder: string,
  userFolder: string,
  warnings: ConfigProblem[],
): Promise<ReadonlySet<string>> {
  try {
    return await openTrustStore({ folder: userFolder }).read(folder);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    warnings.push(...error.problems);
    return new Set();
  }
}

function unfiled(origin: RawSource["origin"], folder: string, value: unknown): RawSource | undefined {
  if (value === undefined) return undefined;
  return { origin, kind: "haft", folder, value, isFinal: origin === "call", positionOf: () => undefined };
}

/** A profile may be used in every later source; one's own of the same name comes first, so that none is redefined. */
function shareProfiles(sources: readonly ConfigSource[]): ConfigSource[] {
  let earlier: NonNullable<HaftConfig["profiles"]> = {};
  return sources.map((source) => {
    const profiles = { ...earlier, ...source.value.profiles };
    earlier = { ...source.value.profiles, ...earlier };
    const { policy } = source;
    return policy && Object.keys(profiles).length > 0 ? { ...source, policy: { ...policy, profiles } } : source;
  });
}
