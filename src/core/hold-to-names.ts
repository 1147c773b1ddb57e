import type { CallPolicy } from "./call.ts";

/** A list of names as the policy that leaves nothing else. Hazard: an empty allow list would leave everything. */
export function allowOnlyTools(names: readonly string[]): CallPolicy {
  return names.length === 0 ? { deny: ["*"] } : { allow: [...names] };
}
