import type { PolicyConfig } from "../policy/policy-layers.ts";
import type { HaftConfig } from "./config-schema.ts";

/** Which tools exist, as one source says it; undefined where it says nothing of that. */
export function policyOf({ tools = {}, agents, sandbox, subagents, profiles }: HaftConfig): PolicyConfig | undefined {
  const { profile, allow, alsoAllow, deny, byProvider } = tools;
  const policy: PolicyConfig = {
    ...(profile === undefined ? {} : { profile }),
    ...(allow ? { allow } : {}),
    ...(alsoAllow ? { alsoAllow } : {}),
    ...(deny ? { deny } : {}),
    ...(byProvider ? { byProvider } : {}),
    ...(agents
      ? { agents: Object.fromEntries(Object.entries(agents).map(([name, { tools: own = {} }]) => [name, own])) }
      : {}),
    ...(sandbox?.tools ? { sandbox: sandbox.tools } : {}),
    ...(subagents
      ? { subagents: { ...subagents.tools, ...(subagents.byDepth ? { byDepth: subagents.byDepth } : {}) } }
      : {}),
  };
  if (Object.keys(policy).length === 0) return undefined;
  return profiles ? { ...policy, profiles } : policy;
}
