import type { Caller, ToolScope } from "../../core/call.ts";
import { checkKeys, keysOf } from "../../core/options.ts";
import { isReadyProfile } from "./tool-groups.ts";
import { checkToolPolicy, type ToolPolicy } from "./tool-policy.ts";

/** One policy with its name in explanations, such as `agent "coder"`. */
export interface PolicyLayer {
  /** The name in explanations. */
  readonly name: string;
  /** The tools that the layer allows. */
  readonly policy: ToolPolicy;
  /** The tool must be in this set too: the toolkit of a parent. */
  readonly scope?: ToolScope;
}

/** A user's whole tool policy. Every part can only narrow the others. */
export interface PolicyConfig extends ToolPolicy {
  /** By `provider`, or by `provider/model`; if both exist, both apply. */
  byProvider?: Readonly<Record<string, ToolPolicy>>;
  /** By the name of the agent. */
  agents?: Readonly<Record<string, ToolPolicy>>;
  /** For callers inside a sandbox. */
  sandbox?: ToolPolicy;
  /** For subagents of every depth; those of `byDepth` from that depth on. */
  subagents?: ToolPolicy & { byDepth?: Readonly<Record<string, ToolPolicy>> };
}

const CONFIG_KEYS = keysOf<PolicyConfig>({
  profile: true,
  allow: true,
  alsoAllow: true,
  deny: true,
  profiles: true,
  byProvider: true,
  agents: true,
  sandbox: true,
  subagents: true,
});

export interface LayersRequest {
  caller?: Partial<Caller>;
  /** Instead of the caller's: `provider/model`, or the provider alone. */
  model?: string;
  sandbox?: boolean;
  /** The parent's own limits, if the caller does not name its parent. */
  parent?: readonly PolicyLayer[];
}

/** The chain of parents is cut at this depth. */
const MAX_PARENTS = 32;

/** The layers for one caller, in the order of explanations. The lists are not copied. */
export function createPolicyLayers(config: PolicyConfig): (request?: LayersRequest) => readonly PolicyLayer[] {
  const { profiles, profile, alsoAllow, allow, deny, byProvider = {}, agents = {}, sandbox, subagents } = config;
  checkKeys("A policy", config, CONFIG_KEYS);
  for (const name of Object.keys(profiles ?? {})) {
    if (isReadyProfile(name)) throw new TypeError(`The profile "${name}" is built in: choose another name.`);
  }
  const named = (name: string, policy: ToolPolicy | undefined): PolicyLayer[] => {
    checkToolPolicy(`The policy of ${name}`, policy);
    return policy === undefined ? [] : [{ name, policy: profiles ? { profiles, ...policy } : policy }];
  };
  const ofEverybody = [
    ...(profile === undefined ? [] : named("the profile layer", { profile, alsoAllow })),
    ...(allow || deny ? named("the global layer", { allow, deny }) : []),
  ];
  const providers = keyed(
    byProvider,
    (name) => name.toLowerCase(),
    (name, policy) => named(`provider "${name}"`, policy),
  );
  const ofAgents = keyed(
    agents,
    (name) => name,
    (name, policy) => named(`agent "${name}"`, policy),
  );
  const inSandbox = named("the sandbox layer", sandbox);
  const { byDepth = {}, ...ofSubagents } = subagents ?? {};
  const everySubagent =
    subagents && Object.keys(ofSubagents).length > 0 ? named("the subagent layer", ofSubagents) : [];
  const fromDepth = Object.entries(byDepth).map(([depth, policy]) => ({
    depth: depthOf(depth),
    layers: named(`the subagent layer from depth ${depth}`, policy),
  }));
  const isSame = providers.size + ofAgents.size + inSandbox.length + everySubagent.length + fromDepth.length === 0;

  return ({ caller = {}, model = caller.model, sandbox: isSandboxed = caller.sandboxed, parent = [] } = {}) => {
    if (isSame && parent.length === 0) return ofEverybody;
    const layers = new Set(ofEverybody);
    const add = (more: readonly PolicyLayer[] | undefined): void => more?.forEach((layer) => layers.add(layer));
    if (isSandboxed) add(inSandbox);
    const chain = familyOf(caller);
    const depth = Math.max(caller.depth ?? 0, chain.length - 1);
    addModel(model);
    for (const member of chain) {
      if (member.agent !== undefined) add(ofAgents.get(member.agent));
      if (member !== caller) addModel(member.model);
      if (member.sandboxed) add(inSandbox);
    }
    if (depth > 0) add(everySubagent);
    for (const { depth: from, layers: more } of fromDepth) if (depth >= from) add(more);
    for (const layer of parent) layers.add(layer);
    return [...layers];

    function addModel(name: string | undefined): void {
      if (name === undefined) return;
      const folded = name.toLowerCase();
      add(providers.get(folded.split("/", 1)[0]!));
      if (folded.includes("/")) add(providers.get(folded));
    }
  };
}

/** The caller and its parents, nearest first. */
export function familyOf(caller: Partial<Caller>): readonly Partial<Caller>[] {
  const family: Partial<Caller>[] = [];
  for (let one: Partial<Caller> | undefined = caller; one && family.length < MAX_PARENTS; one = one.parent) {
    family.push(one);
  }
  return family;
}

function keyed(
  record: Readonly<Record<string, ToolPolicy>>,
  keyOf: (name: string) => string,
  layersOf: (name: string, policy: ToolPolicy) => readonly PolicyLayer[],
): ReadonlyMap<string, readonly PolicyLayer[]> {
  return new Map(Object.entries(record).map(([name, policy]) => [keyOf(name), layersOf(name, policy)]));
}

function depthOf(key: string): number {
  const depth = Number(key);
  if (Number.isInteger(depth) && depth >= 1) return depth;
  throw new TypeError(
    `"${key}" under subagents.byDepth is not a depth: use 1 for subagents, 2 for their subagents, and so on.`,
  );
}
