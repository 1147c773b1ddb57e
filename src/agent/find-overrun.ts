import { failureOf, type ToolFailure } from "../core/error.ts";
import type { AgentLimits, AgentUsage } from "./agent.ts";

export interface Spent extends AgentUsage {
  steps: number;
}

/** Enough for long tasks, and an end for those that have none. */
const DEFAULT_STEPS = 100;

/** Which limit a run has reached, if any; asked before each step. */
export function findOverrun(
  { steps, inputTokens, outputTokens, costUsd }: Spent,
  { steps: mostSteps = DEFAULT_STEPS, tokens, costUsd: mostCost }: AgentLimits,
): ToolFailure | undefined {
  if (steps >= mostSteps) return reached(`${mostSteps} steps`, "steps");
  if (tokens !== undefined && inputTokens + outputTokens >= tokens) return reached(`${tokens} tokens`, "tokens");
  if (mostCost === undefined) return undefined;
  if (costUsd === undefined) {
    return failureOf("invalid_input", "The cost is limited, but the model's prices are not known: say `prices`.");
  }
  return costUsd >= mostCost ? reached(`${mostCost} US dollars`, "costUsd") : undefined;
}

function reached(what: string, key: keyof AgentLimits): ToolFailure {
  return failureOf("too_large", `The run was ended at its limit of ${what}. To go on, run again, or raise ${key}.`);
}
