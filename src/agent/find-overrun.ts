import { failureOf, type ToolFailure } from "../core/error.ts";
import type { AgentLimits, AgentUsage } from "./agent.ts";

export interface RunUsage extends AgentUsage {
  steps: number;
}

/** Enough for long tasks, and an end for those that have none. */
const DEFAULT_STEPS = 100;

/** Which limit a run has reached, if any; asked before each step. */
export function findExceededLimit(
  { steps, inputTokens, outputTokens, costUsd }: RunUsage,
  { steps: maxSteps = DEFAULT_STEPS, tokens, costUsd: maxCost }: AgentLimits,
): ToolFailure | undefined {
  if (steps >= maxSteps) return reached(`${maxSteps} steps`, "steps");
  if (tokens !== undefined && inputTokens + outputTokens >= tokens) return reached(`${tokens} tokens`, "tokens");
  if (maxCost === undefined) return undefined;
  if (costUsd === undefined) {
    return failureOf("invalid_input", "The cost is limited, but the model's prices are not known: say `prices`.");
  }
  return costUsd >= maxCost ? reached(`${maxCost} US dollars`, "costUsd") : undefined;
}

function reached(what: string, key: keyof AgentLimits): ToolFailure {
  return failureOf("too_large", `The run was ended at its limit of ${what}. To go on, run again, or raise ${key}.`);
}
