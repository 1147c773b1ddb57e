import type { CallAuthority, Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { firstLine, text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { declarationOf } from "../../core/definition.ts";
import type { TokenCounter } from "../../core/token-counter.ts";
import type { AnyTool } from "../../core/tool.ts";
import { compactDeclaration, createDefinitionCost } from "./definition-cost.ts";

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

/** The tools that exist for one call: what policy and permission leave its caller, before anything is ranked. */
interface SearchedTools {
  search(query: string, limit: number): readonly AnyTool[];
  get(name: string): AnyTool | undefined;
  /** Names that a wrong one may have meant. */
  nearest(name: string): readonly string[];
}

export interface ToolSearchDependencies {
  toolsFor(authority: CallAuthority): SearchedTools;
  /** Shows these to the caller's conversation from now on. */
  load(authority: CallAuthority, names: readonly string[]): void;
}

const SELECT = "select:";
const MAX_FOUND = 20;
const USUALLY_FOUND = 5;

/** Finds tools among those that are not shown, and loads them for this conversation. */
function createToolSearchTool({ toolsFor, load }: ToolSearchDependencies) {
  return createTool({
    name: TOOL_SEARCH,
    title: "Search tools",
    description: {
      short: "Finds tools that you are not shown, and loads them: they can be called from your next step on.",
      long:
        "You see only some of the tools that exist. Search before you say that something cannot be done. Use words for what " +
        "the tool does, to what, and in which service; or `select:name,other_name` where you know the names.",
      examples: [
        { input: { query: "create an issue in the bug tracker" } },
        { input: { query: "select:calendar_list_events,calendar_create_event" }, description: "by name" },
      ],
    },
    // No schema library: the front door of the package imports this.
    parameters: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: 1000, description: "Words, or select:name,…" },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_FOUND,
          description: `How many to load at most; ${USUALLY_FOUND} unless said`,
        },
        response: {
          enum: ["concise", "detailed"],
          description: "concise: a line each (unless said); detailed: with their parameters",
        },
      },
      required: ["query"],
      additionalProperties: false,
    } as const,
    kind: "readonly",
    permission: "auto",
    category: ToolCategory.AGENT,
    tags: ["tools", "discovery", "load"],
    origin: { type: "builtin" },
    run({ query, limit = USUALLY_FOUND, response = "concise" }, { authority }) {
      const tools = toolsFor(authority);
      const isSelection = query.trimStart().toLowerCase().startsWith(SELECT);
      const { found, missing } = isSelection
        ? select(query.trimStart().slice(SELECT.length), tools)
        : { found: searchOthers(query, limit, tools), missing: [] };
      const names = found.map(({ name }) => name);
      if (names.length > 0) load(authority, names);
      return {
        content: [text([...showFound(found, response), ...missing].join("\n"))],
        display: names.length === 0 ? "Found no tool" : firstLine(`Loaded ${names.join(", ")}`),
        details: { tools: found.map((tool) => ({ name: tool.name, description: firstLine(tool.description.short) })) },
        // What whoever shows tools to the model goes by; they listen to built-in tools alone.
        metadata: { loadedTools: names },
      };
    },
  });
}

function searchOthers(query: string, limit: number, tools: SearchedTools): AnyTool[] {
  const found = tools.search(query, limit + 1).filter(({ name }) => name !== TOOL_SEARCH);
  return found.slice(0, limit);
}

function select(list: string, tools: SearchedTools): { found: AnyTool[]; missing: string[] } {
  const found = new Set<AnyTool>();
  const missing: string[] = [];
  const names = list.split(",").map((name) => name.trim());
  for (const name of names.filter((each) => each !== "").slice(0, MAX_FOUND)) {
    const tool = tools.get(name);
    if (tool) found.add(tool);
    else missing.push(notThere(name, tools.nearest(name)));
  }
  return { found: [...found], missing };
}

function notThere(name: string, near: readonly string[]): string {
  const instead = near.length > 0 ? `Did you mean ${near.join(", ")}?` : "Search with words for what it does.";
  return `There is no tool ${JSON.stringify(firstLine(name))}. ${instead}`;
}

function showFound(found: readonly AnyTool[], response: "concise" | "detailed"): string[] {
  if (found.length === 0) {
    return ["No tool was found. Try other words: what it does, to what, and in which service. It may also not exist."];
  }
  const many =
    found.length === 1
      ? "1 tool was loaded; call it by its name:"
      : `${found.length} tools were loaded; call them by name:`;
  return [many, ...found.map((tool) => (response === "detailed" ? showWhole(tool) : showLine(tool)))];
}

function showLine(tool: AnyTool): string {
  return `- ${tool.name}: ${compactDeclaration(tool).description}`;
}

function showWhole(tool: AnyTool): string {
  const { name, description, parameters } = declarationOf(tool);
  return `- ${name}: ${description}\n  parameters: ${JSON.stringify(parameters)}`;
}

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

const MAX_CONVERSATIONS = 1000;
const MAX_NAMES = 100;

/** What conversations have loaded, in memory: forgotten, it is found again. */
class LoadedTools {
  readonly #names = new Map<string, readonly string[]>();

  /** The newest last. */
  of(caller: Partial<Caller>): readonly string[] {
    return this.#names.get(keyOf(caller)) ?? [];
  }

  add(caller: Partial<Caller>, names: readonly string[]): void {
    const key = keyOf(caller);
    const older = this.of(caller).filter((name) => !names.includes(name));
    // Put in anew, so that the conversation that is idle the longest is the first to go.
    this.#names.delete(key);
    this.#names.set(key, [...older, ...new Set(names)].slice(-MAX_NAMES));
    if (this.#names.size > MAX_CONVERSATIONS) this.#names.delete(this.#names.keys().next().value!);
  }
}

/** A session is one conversation; without one, all calls of the same caller are. */
function keyOf({ session, user, agent, task }: Partial<Caller>): string {
  return JSON.stringify(session === undefined ? [user, agent, task] : session);
}
