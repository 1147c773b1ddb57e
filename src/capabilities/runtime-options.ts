import type { LoadedConfig } from "../config/load-config.ts";
import { ConfigError, type ConfigProblem } from "../config/problems.ts";
import { createPolicyLayers, type PolicyLayer } from "../gate/permit/policy-layers.ts";
import type { CallMode } from "../core/call.ts";
import { errorMessage } from "../core/error.ts";
import { MODES_WITHOUT_TRUST } from "../config/trust-items.ts";
import { isAtLeastAsStrict, RuleSet } from "../gate/permit/rules/rule-set.ts";
import { compileLimit } from "../gate/permit/limits.ts";
import type { Limit, RuleList, RuleSource } from "../gate/permit/rules/rule.ts";
import type { RuntimeOptions } from "../runtime.ts";

/** The settings of the configuration files as options of a runtime. */
export function configuredOptions({ value, sources }: LoadedConfig) {
  const { tools, limits, approvals, toolSearch, provenance } = value;
  const layers = sources.flatMap(({ policy }) => (policy ? [createPolicyLayers(policy)] : []));
  return {
    policy:
      layers.length === 0
        ? undefined
        : (caller) => layers.flatMap((layersOf): readonly PolicyLayer[] => layersOf({ caller })),
    hooks: sources
      .filter(({ hooks }) => Object.keys(hooks).length > 0)
      .map(({ hooks, file, origin }) => ({ settings: hooks, origin: file ?? origin })),
    timeouts: {
      ...given("defaultMs", tools.timeout),
      ...given("networkMs", limits.networkTimeout),
      ...given("maxMs", limits.maxTimeout),
      ...given("graceMs", limits.grace),
    },
    concurrency: {
      ...given("maxConcurrent", tools.maxConcurrent),
      ...given("byKind", limits.maxConcurrentByKind),
      ...given("maxWaiting", limits.maxWaiting),
      ...given("maxWaitMs", limits.maxWait),
    },
    maxResultBytes: limits.maxResultBytes,
    maxResultTokens: limits.maxResultTokens,
    response: limits.response,
    toolSearch: {
      enabled: toolSearch.enabled,
      budget: toolSearch.budget,
      core: toolSearch.core,
      learnFrom: toolSearch.learnFrom,
    },
    approvalWaitMs: approvals.waitMs,
    provenance,
  } satisfies RuntimeOptions;
}

/**
 * The rules of every file, the most general first. Each rule keeps the name of its file. Throws a ConfigError for a
 * rule that cannot be understood: it would silently have no effect.
 */
export function configuredRules(config: LoadedConfig): RuleSet {
  return new RuleSet(ruleSourcesOf(config));
}

/** The same as sources, for `RuleSet.load`. */
export function ruleSourcesOf({ value, sources }: LoadedConfig): RuleSource[] {
  const problems = sources.flatMap(({ file, rules }) =>
    rules.flatMap(({ list, rule, line, column }): ConfigProblem[] => {
      const message = ruleProblem(rule, list);
      return message === undefined ? [] : [{ file, line, column, path: `permissions.${list}`, message }];
    }),
  );
  for (const { file, origin, permissions } of sources) {
    for (const limit of permissions.limits ?? []) {
      const message = limitProblem(limit, file ?? origin);
      if (message !== undefined) problems.push({ file, path: "permissions.limits", message });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const mayBypass = value.permissions.disableBypassPermissionsMode !== "disable";
  const defaultMode = configuredMode(sources, mayBypass);
  return [
    ...sources.map(({ file, origin, folder, permissions }) => ({ origin: file ?? origin, folder, ...permissions })),
    { origin: "configuration", defaultMode, mayBypass, defaultPermission: value.permissions.defaultPermission },
  ];
}

function limitProblem(limit: Limit, origin: string): string | undefined {
  try {
    compileLimit(limit, origin);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Why a text is not a rule of this list; undefined if it is one. */
export function ruleProblem(text: string, list: RuleList): string | undefined {
  try {
    new RuleSet().add(text, list, "configuration");
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** The last mode wins. A folder may set one without being trusted, but only a mode that is not less strict. */
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
