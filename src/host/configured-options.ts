import type { LoadedConfig } from "../config/load-config.ts";
import { createPolicyLayers, type PolicyLayer } from "../policy/policy-layers.ts";
import { RuleBook } from "../policy/rules/rule-book.ts";
import type { HaftOptions } from "../runtime.ts";

/** What configuration files say, as the options of a runtime. */
export function configuredOptions({ value, sources }: LoadedConfig) {
  const { tools, limits, approvals } = value;
  const layers = sources.flatMap(({ policy }) => (policy ? [createPolicyLayers(policy)] : []));
  const policy = (caller: Parameters<(typeof layers)[number]>[0] extends infer R ? NonNullable<R> : never) =>
    layers.flatMap((layersOf): readonly PolicyLayer[] => layersOf(caller));
  return {
    ...(layers.length === 0 ? {} : { policy: (caller) => policy({ caller }) }),
    hooks: sources
      .filter(({ hooks }) => Object.keys(hooks).length > 0)
      .map(({ hooks, file, origin }) => ({ settings: hooks, origin: file ?? origin })),
    timeouts: {
      ...given("defaultMs", tools.timeout),
      ...given("networkMs", limits.networkTimeout),
      ...given("mostMs", limits.maxTimeout),
    },
    concurrency: {
      ...given("maxConcurrent", tools.maxConcurrent),
      ...given("byKind", limits.maxConcurrentByKind),
      ...given("maxWaiting", limits.maxWaiting),
      ...given("maxWaitMs", limits.maxWait),
    },
    ...given("maxOutputBytes", limits.maxOutputBytes),
    ...given("approvalWaitMs", approvals.waitMs),
  } satisfies HaftOptions;
}

/** Rules of every file, the most general first; each keeps the file that it stands in. */
export function configuredRules({ value, sources }: LoadedConfig): RuleBook {
  const { defaultMode, disableBypassPermissionsMode } = value.permissions;
  const mayBypass = disableBypassPermissionsMode !== "disable";
  return new RuleBook([
    ...sources.map(({ file, origin, folder, permissions }) => ({ origin: file ?? origin, folder, ...permissions })),
    ...(defaultMode === undefined || (defaultMode === "bypassPermissions" && !mayBypass)
      ? []
      : [{ origin: "configuration", defaultMode }]),
  ]);
}

function given<K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: T });
}
