import type { LoadedConfig } from "../config/load-config.ts";
import { createPolicyLayers, type PolicyLayer } from "../gate/permit/policy-layers.ts";
import type { CallMode } from "../core/call.ts";
import { MODES_WITHOUT_TRUST } from "../config/trust-items.ts";
import { isAtLeastAsStrict, RuleSet } from "../gate/permit/rules/rule-set.ts";
import type { HaftOptions } from "../runtime.ts";

/** What configuration files say, as the options of a runtime. */
export function configuredOptions({ value, sources }: LoadedConfig) {
  const { tools, limits, approvals, toolSearch } = value;
  const layers = sources.flatMap(({ policy }) => (policy ? [createPolicyLayers(policy)] : []));
  const policy = (caller: Parameters<(typeof layers)[number]>[0] extends infer R ? NonNullable<R> : never) =>
    layers.flatMap((layersOf): readonly PolicyLayer[] => layersOf(caller));
  return {
    policy: layers.length === 0 ? undefined : (caller) => policy({ caller }),
    hooks: sources
      .filter(({ hooks }) => Object.keys(hooks).length > 0)
      .map(({ hooks, file, origin }) => ({ settings: hooks, origin: file ?? origin })),
    timeouts: {
      ...given("defaultMs", tools.timeout),
      ...given("networkMs", limits.networkTimeout),
      ...given("maxMs", limits.maxTimeout),
    },
    concurrency: {
      ...given("maxConcurrent", tools.maxConcurrent),
      ...given("byKind", limits.maxConcurrentByKind),
      ...given("maxWaiting", limits.maxWaiting),
      ...given("maxWaitMs", limits.maxWait),
    },
    ...given("maxResultBytes", limits.maxResultBytes),
    ...given("maxResultTokens", limits.maxResultTokens),
    ...given("response", limits.response),
    ...(toolSearch.enabled === false
      ? {}
      : { toolSearch: { ...given("budget", toolSearch.budget), ...given("core", toolSearch.core) } }),
    ...given("approvalWaitMs", approvals.waitMs),
  } satisfies HaftOptions;
}

/** Rules of every file, the most general first; each keeps the file that it stands in. */
export function configuredRules({ value, sources }: LoadedConfig): RuleSet {
  const mayBypass = value.permissions.disableBypassPermissionsMode !== "disable";
  const defaultMode = configuredMode(sources, mayBypass);
  return new RuleSet([
    ...sources.map(({ file, origin, folder, permissions }) => ({ origin: file ?? origin, folder, ...permissions })),
    { origin: "configuration", ...given("defaultMode", defaultMode), ...(mayBypass ? {} : { mayBypass }) },
  ]);
}

/** The last one said; but a folder's own, which counts without being trusted, only where it loosens nothing. */
function configuredMode(sources: LoadedConfig["sources"], mayBypass: boolean): CallMode | undefined {
  let mode: CallMode | undefined;
  for (const { origin, value } of sources) {
    const configured = value.permissions?.defaultMode;
    if (configured === undefined || (configured === "bypassPermissions" && !mayBypass)) continue;
    const isFolders = origin === "project" || origin === "local";
    const loosens = mode !== undefined && !isAtLeastAsStrict(configured, mode);
    if (isFolders && loosens && MODES_WITHOUT_TRUST.has(configured)) continue;
    mode = configured;
  }
  return mode;
}

function given<K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: T });
}
