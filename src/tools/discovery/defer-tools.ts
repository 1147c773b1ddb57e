import type { AnyTool } from "../../core/tool.ts";

export const TOOL_SEARCH = "tool_search";

/** What a model is shown, and what it may find. */
export interface ShownSet {
  /** In an order that stays: what is loaded later comes last, so that providers can keep what came before. */
  tools: readonly AnyTool[];
  deferred: readonly AnyTool[];
}

export interface DeferOptions {
  /** Tokens that all definitions together may take. */
  budget: number;
  isCore(tool: AnyTool): boolean;
  /** Names that the conversation has loaded, the newest last. */
  loaded: Iterable<string>;
  cost: DefinitionCost;
}

export interface DefinitionCost {
  of(tool: AnyTool): number;
  fits(tools: readonly AnyTool[], budget: number): boolean;
}

/** The rest is for what is found. */
const CORE_SHARE = 0.5;

/**
 * All tools where they fit; else the core set, tool_search, and what was loaded, the newest first where not all of it fits.
 * This is about the context and never about rights: a tool that is not shown is called by its name like any other.
 */
export function deferTools(tools: readonly AnyTool[], { budget, isCore, loaded, cost }: DeferOptions): ShownSet {
  const search = tools.find(({ name }) => name === TOOL_SEARCH);
  // Without it nobody could find what is not shown.
  if (!search) return { tools, deferred: [] };
  const others = tools.filter((tool) => tool !== search);
  if (cost.fits(others, budget)) return { tools: others, deferred: [] };
  const core = takeWithinBudget(others.filter(isCore), budget * CORE_SHARE, cost);
  const room = budget - sum(core, cost) - cost.of(search);
  const byName = new Map(others.map((tool) => [tool.name, tool]));
  const inCore = new Set(core);
  const wanted = [...loaded].flatMap((name) => byName.get(name) ?? []).filter((tool) => !inCore.has(tool));
  const newestFirst = [...new Set(wanted.toReversed())];
  // What was found last is shown whatever it costs: to search and to be given nothing would never end.
  const [newest = [], ...older] = newestFirst.map((tool) => [tool]);
  const left = room - sum(newest, cost);
  const found = [...newest, ...takeWithinBudget(older.flat(), left, cost)].toReversed();
  const shown = [...core, search, ...found];
  const isShown = new Set<AnyTool>(shown);
  return { tools: shown, deferred: others.filter((tool) => !isShown.has(tool)) };
}

function takeWithinBudget(tools: readonly AnyTool[], room: number, cost: DefinitionCost): AnyTool[] {
  let left = room;
  return tools.filter((tool) => {
    // Of thousands of tools only as many are counted as may still fit.
    if (left <= 0) return false;
    const tokens = cost.of(tool);
    if (tokens > left) return false;
    left -= tokens;
    return true;
  });
}

function sum(tools: readonly AnyTool[], cost: DefinitionCost): number {
  return tools.reduce((total, tool) => total + cost.of(tool), 0);
}
