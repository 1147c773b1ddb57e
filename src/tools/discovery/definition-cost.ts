import { declarationOf } from "../../core/definition.ts";
import { estimatedTokens, type TokenCounter } from "../../core/token-counter.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { DefinitionCost } from "./defer-tools.ts";

/** An estimate this far from the budget is not wrong about which side of it the tools are on. */
const SAFETY_MARGIN = 1.6;

/** What definitions cost, each counted once, and only where an estimate does not settle it. */
export function createDefinitionCost(counter: TokenCounter): DefinitionCost {
  const exact = remembered((tool) => counter.count(definitionText(tool)));
  const estimated = remembered((tool) => estimatedTokens.count(definitionText(tool)));
  return {
    of: exact,
    fits(tools, budget) {
      const likely = sumUpTo(tools, estimated, budget * SAFETY_MARGIN);
      if (likely * SAFETY_MARGIN <= budget) return true;
      if (likely > budget * SAFETY_MARGIN) return false;
      return sumUpTo(tools, exact, budget) <= budget;
    },
  };
}

/** As providers are sent it, give or take their own punctuation. */
export function definitionText(tool: AnyTool): string {
  const { name, description, parameters } = declarationOf(tool);
  return JSON.stringify({ name, description, parameters });
}

/** Stops where it is clear that it is more. */
function sumUpTo(tools: readonly AnyTool[], costOf: (tool: AnyTool) => number, max: number): number {
  let total = 0;
  for (const tool of tools) {
    total += costOf(tool);
    if (total > max) break;
  }
  return total;
}

function remembered(count: (tool: AnyTool) => number): (tool: AnyTool) => number {
  const known = new WeakMap<AnyTool, number>();
  return (tool) => {
    let tokens = known.get(tool);
    if (tokens === undefined) known.set(tool, (tokens = count(tool)));
    return tokens;
  };
}
