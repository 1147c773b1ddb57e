import type { Caller } from "../../core/call.ts";

/** Whose processes a caller sees: those of its conversation, else of its agent, else what nobody else claims. */
export function processOwner({ session, agent }: Caller): string {
  // The prefixes keep a session that is called like an agent apart from it.
  if (session !== undefined) return `session:${session}`;
  return agent === undefined ? "default" : `agent:${agent}`;
}
