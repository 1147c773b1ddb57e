import { BoundedMap } from "../../core/bounded-map.ts";
import type { Caller } from "../../core/call.ts";
import type { AnyTool } from "../../core/tool.ts";

export const TOOL_SEARCH = "tool_search";

const SELECT = "select:";

/** Whether a query of tool_search names tools. */
export function isSelection(query: string): boolean {
  return query.trimStart().toLowerCase().startsWith(SELECT);
}

/** The names in such a query. */
export function selectedNames(query: string): string[] {
  const names = query.trimStart().slice(SELECT.length).split(",");
  return names.map((name) => name.trim()).filter((name) => name !== "");
}

/** The tools shown to a model, and those it can find. */
export interface ShownSet {
  /** In a stable order, newly loaded tools last, so providers can cache the prefix. */
  tools: readonly AnyTool[];
  deferred: readonly AnyTool[];
}

export interface DeferOptions {
  /** Max tokens for all definitions. */
  budget: number;
  isCore(tool: AnyTool): boolean;
  /** Names that the conversation has loaded, the newest last. */
  loaded: Iterable<string>;
  /** Chooses the likeliest of these tools, within this number of tokens. Default: none. */
  chooseLikely?(tools: readonly AnyTool[], room: number): readonly AnyTool[];
  cost: DefinitionCost;
}

export interface DefinitionCost {
  of(tool: AnyTool): number;
  fits(tools: readonly AnyTool[], budget: number): boolean;
}

const CORE_SHARE = 0.5;
/** The part of the budget that is left for tools that a search finds. */
const FOUND_SHARE = 0.2;
/** Enough for one search, unless the budget is very small. */
const MIN_FOUND_TOKENS = 1_000;

/**
 * All tools if they fit. Otherwise the core tools, the likeliest others, tool_search and the loaded tools, newest first while
 * they fit. This is about context size, not about permissions: a tool that is not shown can still be called by name.
 */
export function deferTools(tools: readonly AnyTool[], options: DeferOptions): ShownSet {
  const { budget, isCore, loaded, chooseLikely, cost } = options;
  const search = tools.find(({ name }) => name === TOOL_SEARCH);
  // Without tool_search the other tools could not be found.
  if (!search) return { tools, deferred: [] };
  const others = tools.filter((tool) => tool !== search);
  if (cost.fits(others, budget)) return { tools: others, deferred: [] };
  const core = takeWithinBudget(others.filter(isCore), budget * CORE_SHARE, cost);
  const inCore = new Set(core);
  const used = sum(core, cost) + cost.of(search);
  const rest = others.filter((tool) => !inCore.has(tool));
  const forFound = Math.max(budget * FOUND_SHARE, Math.min(budget * 0.5, MIN_FOUND_TOKENS));
  const likely = chooseLikely?.(rest, budget - forFound - used) ?? [];
  const fixed = new Set([...core, ...likely]);
  const room = budget - used - sum(likely, cost);
  const byName = new Map(others.map((tool) => [tool.name, tool]));
  const loadedTools = [...loaded].flatMap((name) => byName.get(name) ?? []).filter((tool) => !fixed.has(tool));
  const newestFirst = [...new Set(loadedTools.toReversed())];
  // The last found tool is always shown; otherwise the model would search again and again.
  const [newest = [], ...older] = newestFirst.map((tool) => [tool]);
  const left = room - sum(newest, cost);
  const found = [...newest, ...takeWithinBudget(older.flat(), left, cost)].toReversed();
  const shown = [...fixed, search, ...found];
  const isShown = new Set<AnyTool>(shown);
  return { tools: shown, deferred: others.filter((tool) => !isShown.has(tool)) };
}

/** Counting the tokens of thousands of tools takes long, and a budget that many in a row exceed is used up. */
const MAX_MISSES = 20;

function takeWithinBudget(tools: readonly AnyTool[], room: number, cost: DefinitionCost): AnyTool[] {
  const taken: AnyTool[] = [];
  let left = room;
  let misses = 0;
  for (const tool of tools) {
    if (left <= 0 || misses > MAX_MISSES) break;
    const tokens = cost.of(tool);
    if (tokens > left) {
      misses++;
      continue;
    }
    misses = 0;
    left -= tokens;
    taken.push(tool);
  }
  return taken;
}

function sum(tools: readonly AnyTool[], cost: DefinitionCost): number {
  return tools.reduce((total, tool) => total + cost.of(tool), 0);
}

const MAX_CONVERSATIONS = 1000;
const MAX_NAMES = 100;

/** The loaded tools of conversations, in memory: a forgotten tool can be found again. */
export class LoadedTools {
  readonly #names = new BoundedMap<string, readonly string[]>(MAX_CONVERSATIONS);

  /** The newest last. */
  of(caller: Partial<Caller>): readonly string[] {
    return this.#names.get(conversationKey(caller)) ?? [];
  }

  add(caller: Partial<Caller>, names: readonly string[]): void {
    const key = conversationKey(caller);
    const older = this.of(caller).filter((name) => !names.includes(name));
    // The best match is the newest: it is the last one to be dropped.
    this.#names.set(key, [...older, ...new Set(names.toReversed())].slice(-MAX_NAMES));
  }
}

/** A session of a user is a conversation; without one, all calls of a caller are. */
export function conversationKey({ session, user, agent, task }: Partial<Caller>): string {
  return JSON.stringify(session === undefined ? [user, agent, task] : [user, session]);
}

/** What decides which tools are likely. */
export interface Likelihood {
  /** Of the tools that the caller has used before, by name. */
  uses: ReadonlyMap<string, number>;
  /** Names of the tools that match the conversation, best first. */
  matches: readonly string[];
}

interface Choice {
  room: number;
  cost: DefinitionCost;
  likelihood(): Likelihood;
}

/** The likely tools, chosen once for each conversation: a change would undo the provider's cache. */
export class LikelyTools {
  readonly #chosen = new BoundedMap<string, readonly string[]>(MAX_CONVERSATIONS);

  /** In the order of `tools`. Without any use or match the first ones that fit. If chosen tools are gone, others follow last. */
  choose(key: string, tools: readonly AnyTool[], choice: Choice): readonly AnyTool[] {
    const names = this.#chosen.get(key);
    if (!names) return this.#keep(key, rank(tools, choice));
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const still = names.flatMap((name) => byName.get(name) ?? []);
    // A tool may have another definition now, and the budget may be another one.
    const fitting = takeWithinBudget(still, choice.room, choice.cost);
    if (still.length === names.length) return fitting;
    const isStill = new Set(still);
    const others = tools.filter((tool) => !isStill.has(tool));
    const room = choice.room - sum(fitting, choice.cost);
    return this.#keep(key, [...fitting, ...rank(others, { ...choice, room })]);
  }

  #keep(key: string, tools: readonly AnyTool[]): readonly AnyTool[] {
    this.#chosen.set(
      key,
      tools.map(({ name }) => name),
    );
    return tools;
  }
}

/** The likeliest tools that fit, in their order. */
function rank(tools: readonly AnyTool[], { room, cost, likelihood }: Choice): readonly AnyTool[] {
  const { matches, uses } = likelihood();
  const places = new Map(matches.map((name, at) => [name, matches.length - at]));
  const byUse = ({ name }: AnyTool): number => uses.get(name) ?? 0;
  const byMatch = ({ name }: AnyTool): number => places.get(name) ?? 0;
  // The sort is stable: equal tools stay in the order of registration.
  const ranked = tools.toSorted((a, b) => byMatch(b) - byMatch(a) || byUse(b) - byUse(a));
  const taken = new Set(takeWithinBudget(ranked, room, cost));
  return tools.filter((tool) => taken.has(tool));
}
