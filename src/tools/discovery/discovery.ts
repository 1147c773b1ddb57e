import type { CallAuthority, Caller } from "../../core/call.ts";
import type { TokenCounter } from "../../core/token-counter.ts";
import type { AnyTool } from "../../core/tool.ts";
import { createDefinitionCost } from "./definition-cost.ts";
import { type DefinitionCost, deferTools, type ShownSet } from "./defer-tools.ts";
import { LoadedTools } from "./loaded-tools.ts";
import { createToolSearchTool, type SearchedTools } from "./tool-search.ts";

export interface ToolSearchOptions {
  /** Tokens that the definitions shown to a model may take; where all fit, all are shown. */
  budget?: number;
  /** Names, groups and patterns of the tools that are always shown, as far as half of the budget goes. */
  core?: readonly string[];
}

export interface DiscoveryDependencies extends ToolSearchOptions {
  counter: TokenCounter;
  /** Whether a list of names, groups and patterns holds the tool. */
  isListed(tool: AnyTool, list: readonly string[]): boolean;
  toolsFor(authority: CallAuthority): SearchedTools;
}

/** To whom tools are shown, and how many of them. */
export interface Shown {
  mode?: string | undefined;
  /** Of these tools alone, in place of all that exist for the caller. */
  among?: readonly AnyTool[] | undefined;
  caller?: Partial<Caller> | undefined;
  /** In place of what the caller's calls have loaded: for who keeps the conversation itself. */
  loaded?: Iterable<string> | undefined;
  /** In place of the configured one. */
  budget?: number | undefined;
}

export interface Discovery {
  readonly tool: AnyTool;
  readonly cost: DefinitionCost;
  /** Which of these tools a model is shown now. */
  choose(tools: readonly AnyTool[], shown: Omit<Shown, "mode" | "among">): ShownSet;
}

/** A tenth of a context of 200,000 tokens. */
const DEFAULT_BUDGET = 20_000;

/** What nearly every task needs, besides tools of one's own. */
const DEFAULT_CORE = ["group:fs", "exec", "process", "run_code", "web_search", "web_fetch", "group:agents"];

/** Many tools in a small context: which are shown, and how the others are found. */
export function createDiscovery(parts: DiscoveryDependencies): Discovery {
  const { counter, budget = DEFAULT_BUDGET, core, isListed, toolsFor } = parts;
  // Asked of every tool at every step of a model, and always answered alike.
  const known = new WeakMap<AnyTool, boolean>();
  const isCore = (tool: AnyTool): boolean => {
    let answer = known.get(tool);
    if (answer === undefined) {
      answer = (core === undefined && tool.origin.type === "own") || isListed(tool, core ?? DEFAULT_CORE);
      known.set(tool, answer);
    }
    return answer;
  };
  const loadedTools = new LoadedTools();
  const cost = createDefinitionCost(counter);
  return {
    cost,
    tool: createToolSearchTool({
      toolsFor,
      load: ({ caller }, names) => loadedTools.add(caller, names),
    }),
    choose: (tools, { caller = {}, loaded = loadedTools.of(caller), budget: own = budget }) =>
      deferTools(tools, { budget: own, isCore, loaded, cost }),
  };
}
