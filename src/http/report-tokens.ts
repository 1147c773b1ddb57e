import { setImmediate } from "node:timers/promises";
import type { Caller } from "../core/call.ts";
import { estimatedTokens } from "../core/token-counter.ts";
import type { AnyTool } from "../core/tool.ts";
import type { Haft } from "../runtime.ts";
import { compactDeclaration, definitionText } from "../tools/discovery/definition-cost.ts";
import type { StatisticsInfo, TokenReport } from "./wire.ts";

/** So many are counted at once before others have their turn. */
const SLICE = 50;
/** What was returned is remembered in bytes only. */
const BYTES_PER_TOKEN = 1000 / estimatedTokens.count("x".repeat(1000));

interface Cost {
  definitionTokens: number;
  compactTokens: number;
}

/** What each tool costs a model's context: by being shown, and by what it returned. */
export function createTokenReport(haft: Haft) {
  const known = new WeakMap<AnyTool, Cost>();
  const costOf = (tool: AnyTool): Cost => {
    let cost = known.get(tool);
    if (!cost) {
      const { name, description, parameters } = compactDeclaration(tool);
      cost = {
        definitionTokens: haft.tokens.count(definitionText(tool)),
        compactTokens: haft.tokens.count(JSON.stringify({ name, description, parameters })),
      };
      known.set(tool, cost);
    }
    return cost;
  };

  return async (numbers: StatisticsInfo, caller: Partial<Caller>): Promise<TokenReport> => {
    const { tools: shown, deferred } = haft.shownTools({ caller });
    const calls = new Map(numbers.tools.map((tool) => [tool.tool, tool]));
    const tools: TokenReport["tools"] = [];
    for (const [at, tool] of [...shown, ...deferred].entries()) {
      if (at % SLICE === SLICE - 1) await setImmediate();
      const { count = 0, bytes = 0 } = calls.get(tool.name) ?? {};
      const resultTokens = Math.round(bytes / BYTES_PER_TOKEN);
      tools.push({ tool: tool.name, ...costOf(tool), isShown: at < shown.length, calls: count, resultTokens });
    }
    const total = (of: (tool: (typeof tools)[number]) => number): number =>
      tools.reduce((sum, tool) => sum + of(tool), 0);
    return {
      from: numbers.from,
      to: numbers.to,
      counter: haft.tokens.name,
      allTokens: total(({ definitionTokens }) => definitionTokens),
      shownTokens: total(({ isShown, definitionTokens }) => (isShown ? definitionTokens : 0)),
      resultTokens: total(({ resultTokens }) => resultTokens),
      tools: tools.toSorted((a, b) => weight(b) - weight(a)),
    };
  };
}

function weight({ isShown, definitionTokens, resultTokens }: TokenReport["tools"][number]): number {
  return (isShown ? definitionTokens : 0) + resultTokens;
}
