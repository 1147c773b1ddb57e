import type { Environment } from "./expand-variables.ts";

/** Variables of this process that are settings, and the keys that they stand for. */
const SETTINGS: readonly (readonly [variable: string, section: string, key: string])[] = [
  ["HAFT_PROFILE", "tools", "profile"],
  ["HAFT_TIMEOUT", "tools", "timeout"],
  ["HAFT_MAX_CONCURRENT", "tools", "maxConcurrent"],
  ["HAFT_MODE", "permissions", "defaultMode"],
  ["HAFT_STORE_URL", "store", "url"],
  ["HAFT_REDIS_URL", "jobs", "redisUrl"],
  ["HAFT_HOST", "server", "host"],
  ["HAFT_PORT", "server", "port"],
  // Not HAFT_TOKEN: that is what a client presents, and would open everything here.
  ["HAFT_SERVER_TOKEN", "server", "token"],
];

/** What the environment says, in the words of a file: every value is a variable, so that it is read and checked as one. */
export function environmentConfig(env: Environment): Record<string, Record<string, string>> | undefined {
  const config: Record<string, Record<string, string>> = {};
  for (const [variable, section, key] of SETTINGS) {
    if (env[variable]) (config[section] ??= {})[key] = `\${${variable}}`;
  }
  return Object.keys(config).length > 0 ? config : undefined;
}
