import type { CallAuthority, Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { firstLine, text, type TokenCounter } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { declarationOf } from "../../core/definition.ts";
import type { AnyTool } from "../../core/tool.ts";
import { compactDeclaration, createDefinitionCost } from "./definition-cost.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export interface ToolSearchOptions {
  /** Max tokens for the definitions shown to a model. If all fit, all are shown. */
  budget?: number;
  /** Names, groups and patterns of tools that are always shown, within half of the budget. */
  core?: readonly string[];
}

export interface DiscoveryDependencies extends ToolSearchOptions {
  counter: TokenCounter;
  /** Whether a list of names, groups and patterns includes the tool. */
  isListed(tool: AnyTool, list: readonly string[]): boolean;
  toolsFor(authority: CallAuthority): SearchedTools;
}

/** For whom tools are shown, and with which budget. */
export interface Shown {
  mode?: string;
  /** Default: all tools of the caller. */
  among?: readonly AnyTool[];
  caller?: Partial<Caller>;
  /** Names of loaded tools, if the caller manages the conversation. Default: what its calls have loaded. */
  loaded?: Iterable<string>;
  /** Default: the configured budget. */
  budget?: number;
}

export interface Discovery {
  readonly tool: AnyTool;
  readonly cost: DefinitionCost;
  /** Chooses which of these tools are shown to a model now. */
  choose(tools: readonly AnyTool[], shown: Omit<Shown, "mode" | "among">): ShownSet;
}

/** A tenth of a context of 200,000 tokens. */
const DEFAULT_BUDGET = 20_000;

/** What nearly every task needs, besides the user's own tools. */
const DEFAULT_CORE = ["group:fs", "exec", "process", "run_code", "web_search", "web_fetch", "group:agents"];

/** Decides which tools are shown if not all fit, and how the others are found. */
export function createDiscovery(parts: DiscoveryDependencies): Discovery {
  const { counter, budget = DEFAULT_BUDGET, core, isListed, toolsFor } = parts;
  // Cached: it is needed for every tool at every step of a model.
  const known = new WeakMap<AnyTool, boolean>();
  const isCore = (tool: AnyTool): boolean => {
    let result = known.get(tool);
    if (result === undefined) {
      result = (core === undefined && tool.origin.type === "own") || isListed(tool, core ?? DEFAULT_CORE);
      known.set(tool, result);
    }
    return result;
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

/** The tools that policy and permissions allow for a call. */
interface SearchedTools {
  search(query: string, limit: number): readonly AnyTool[];
  get(name: string): AnyTool | undefined;
  /** Similar names. */
  nearest(name: string): readonly string[];
}

interface ToolSearchDependencies {
  toolsFor(authority: CallAuthority): SearchedTools;
  /** Shows these tools in the caller's conversation from now on. */
  load(authority: CallAuthority, names: readonly string[]): void;
}

const SELECT = "select:";
const MAX_FOUND = 20;
const DEFAULT_FOUND = 5;

/** Finds tools that are not shown and loads them for this conversation. */
function createToolSearchTool({ toolsFor, load }: ToolSearchDependencies) {
  return createTool({
    name: TOOL_SEARCH,
    title: "Search tools",
    description: {
      short: "Finds tools that are not shown to you and loads them: you can call them from your next step on.",
      long:
        "You see only some of the tools that exist. Search before you say that something cannot be done. Describe what the " +
        "tool does, to what, and in which service; or use `select:name,other_name` if you know the names.",
      examples: [
        { input: { query: "create an issue in the bug tracker" } },
        { input: { query: "select:calendar_list_events,calendar_create_event" }, description: "by name" },
      ],
    },
    // No schema library, because the main entry of the package imports this.
    parameters: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: 1000, description: "Words, or select:name,…" },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_FOUND,
          description: `Max tools to load. Default: ${DEFAULT_FOUND}`,
        },
        response: {
          enum: ["concise", "detailed"],
          description: "concise: one line each (default); detailed: with parameters",
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
    output: describeOutput({
      tools: field.list(field.object({ name: field.text(), description: field.text() }), "Loaded"),
    }),
    run({ query, limit = DEFAULT_FOUND, response = "concise" }, { authority }) {
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
        // The agent loop shows these tools to the model; it reads this only from built-in tools.
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
  const instead = near.length > 0 ? `Did you mean ${near.join(", ")}?` : "Search by describing what it does.";
  return `There is no tool ${JSON.stringify(firstLine(name))}. ${instead}`;
}

function showFound(found: readonly AnyTool[], response: "concise" | "detailed"): string[] {
  if (found.length === 0) {
    return [
      "No tool was found. Try other words: what it does, to what, and in which service. Perhaps it does not exist.",
    ];
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
  cost: DefinitionCost;
}

export interface DefinitionCost {
  of(tool: AnyTool): number;
  fits(tools: readonly AnyTool[], budget: number): boolean;
}

/** The rest is for loaded tools. */
const CORE_SHARE = 0.5;

/**
 * All tools if they fit. Otherwise the core tools, tool_search and the loaded tools, newest first while they fit. This
 * is about context size, not about permissions: a tool that is not shown can still be called by name.
 */
export function deferTools(tools: readonly AnyTool[], { budget, isCore, loaded, cost }: DeferOptions): ShownSet {
  const search = tools.find(({ name }) => name === TOOL_SEARCH);
  // Without tool_search the other tools could not be found.
  if (!search) return { tools, deferred: [] };
  const others = tools.filter((tool) => tool !== search);
  if (cost.fits(others, budget)) return { tools: others, deferred: [] };
  const core = takeWithinBudget(others.filter(isCore), budget * CORE_SHARE, cost);
  const room = budget - sum(core, cost) - cost.of(search);
  const byName = new Map(others.map((tool) => [tool.name, tool]));
  const inCore = new Set(core);
  const loadedTools = [...loaded].flatMap((name) => byName.get(name) ?? []).filter((tool) => !inCore.has(tool));
  const newestFirst = [...new Set(loadedTools.toReversed())];
  // The last found tool is always shown; otherwise the model would search again and again.
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
    // Stop counting when the budget is used up.
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

/** The loaded tools of conversations, in memory: a forgotten tool can be found again. */
class LoadedTools {
  readonly #names = new Map<string, readonly string[]>();

  /** The newest last. */
  of(caller: Partial<Caller>): readonly string[] {
    return this.#names.get(keyOf(caller)) ?? [];
  }

  add(caller: Partial<Caller>, names: readonly string[]): void {
    const key = keyOf(caller);
    const older = this.of(caller).filter((name) => !names.includes(name));
    // Re-inserted, so the least recently used conversation is dropped first.
    this.#names.delete(key);
    this.#names.set(key, [...older, ...new Set(names)].slice(-MAX_NAMES));
    const [oldest] = this.#names.keys();
    if (this.#names.size > MAX_CONVERSATIONS && oldest !== undefined) this.#names.delete(oldest);
  }
}

/** A session is a conversation; without one, all calls of a caller are. */
function keyOf({ session, user, agent, task }: Partial<Caller>): string {
  return JSON.stringify(session === undefined ? [user, agent, task] : session);
}
