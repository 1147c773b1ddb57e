import type { CallAuthority, Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { firstLine, text, type TokenCounter } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { declarationOf } from "../../core/definition.ts";
import { checkKeys, keysOf } from "../../core/options.ts";
import type { AnyTool } from "../../core/tool.ts";
import { type MaybePromise, type Stage } from "../../core/stage.ts";
import { MemoryToolUse, type ToolUseStore } from "../../core/search/tool-use.ts";
import { type LearnedWords } from "../../core/search/learned-words.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";
import { BUILT_IN_TOOLS } from "../built-in-tools.ts";
import { compactDeclaration, createDefinitionCost } from "./definition-cost.ts";
import { type LearnFrom, learnFromCalls, type LearnOptions, userOf } from "./learn-from-calls.ts";
import {
  conversationKey,
  deferTools,
  type DefinitionCost,
  isSelection,
  LikelyTools,
  LoadedTools,
  selectedNames,
  type ShownSet,
  TOOL_SEARCH,
} from "./shown-tools.ts";
import { ToolUses, type ToolUsesOptions } from "./use-by-user.ts";

export interface ToolSearchOptions {
  /** `false`: there is no `tool_search`, and a model gets all definitions. Default: true. */
  enabled?: boolean;
  /** Max tokens for the definitions shown to a model. If all fit, all are shown. */
  budget?: number;
  /** Names, groups and patterns of tools that are always shown, within half of the budget. */
  core?: readonly string[];
  /**
   * What ranks tools higher in later searches of the same user, once the call succeeded: the query that found them
   * ("searches"), also the user's message ("messages", which stores people's text), or "nothing". Default: "messages" if
   * the store is on this machine, otherwise "searches".
   */
  learnFrom?: LearnFrom;
  /** Where the use of tools is kept. Default: in memory. */
  store?: ToolUseStore;
}

const SEARCH_KEYS = keysOf<ToolSearchOptions>({
  enabled: true,
  budget: true,
  core: true,
  learnFrom: true,
  store: true,
});
const LEARN_FROM = keysOf<Record<LearnFrom, unknown>>({
  searches: true,
  messages: true,
  nothing: true,
});

export function checkToolSearch(toolSearch: boolean | ToolSearchOptions | undefined): void {
  if (toolSearch === undefined || typeof toolSearch === "boolean") return;
  checkKeys("`toolSearch` of createHaft", toolSearch, SEARCH_KEYS);
  const { enabled, learnFrom } = toolSearch;
  if (enabled !== undefined && typeof enabled !== "boolean") {
    throw new TypeError("`toolSearch.enabled` of createHaft must be true or false.");
  }
  if (learnFrom !== undefined && !LEARN_FROM.has(learnFrom)) {
    const known = [...LEARN_FROM].map((name) => JSON.stringify(name)).join(", ");
    throw new TypeError(`\`toolSearch.learnFrom\` of createHaft must be one of ${known}.`);
  }
}

export interface DiscoveryDependencies
  extends ToolSearchOptions, Pick<LearnOptions, "find" | "hasReadUntrusted">, Pick<ToolUsesOptions, "clock" | "warn"> {
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
  /** How the conversation began, such as the user's first message: tools that match it are shown first. */
  about?: string;
}

export interface Discovery {
  readonly tool: AnyTool;
  readonly cost: DefinitionCost;
  /** Learns from calls. */
  readonly stage: Stage;
  readonly uses: ToolUses;
  /** The words that this caller's questions add to a search. */
  learnedBy(caller: Partial<Caller>): LearnedWords | undefined;
  /** Chooses which of these tools are shown to a model now. */
  choose(tools: readonly AnyTool[], shown: Omit<Shown, "among">): ShownSet;
  /** Reads what was learned from this caller, unless it is known. */
  prepare(caller: Partial<Caller>): MaybePromise<void>;
  /** Removes what this user has taught, about one tool or all. */
  forget(user: string, tool?: string): Promise<number>;
}

/** A tenth of a context of 200,000 tokens. */
const DEFAULT_BUDGET = 20_000;

/** What nearly every task needs, besides the user's own tools. */
const DEFAULT_CORE = BUILT_IN_TOOLS.flatMap(({ name, isCore }) => (isCore ? [name] : []));

/** Decides which tools are shown if not all fit, and how the others are found. */
export function createDiscovery(parts: DiscoveryDependencies): Discovery {
  // `budget` and `core` are read when they are used: a host may change them.
  const { counter, isListed, toolsFor } = parts;
  // Cached: it is needed for every tool at every step of a model.
  let known = new WeakMap<AnyTool, boolean>();
  let knownFor = parts.core;
  const isCore = (tool: AnyTool): boolean => {
    const { core } = parts;
    if (core !== knownFor) known = new WeakMap();
    knownFor = core;
    let result = known.get(tool);
    if (result === undefined) {
      result = (core === undefined && tool.origin.type === "own") || isListed(tool, core ?? DEFAULT_CORE);
      known.set(tool, result);
    }
    return result;
  };
  const { store = new MemoryToolUse(), find, hasReadUntrusted, clock, warn } = parts;
  const { learnFrom = store.isLocal ? "messages" : "searches" } = parts;
  const loadedTools = new LoadedTools();
  const likelyTools = new LikelyTools();
  const uses = new ToolUses({ store, clock, warn });
  const cost = createDefinitionCost(counter);
  const matchesOf = (about: string | undefined, caller: Partial<Caller>): string[] => {
    if (about === undefined) return [];
    return toolsFor({ caller: { depth: 0, ...caller } })
      .search(about, MAX_MATCHES)
      .map(({ name }) => name);
  };
  const learning = learnFromCalls({ uses, from: learnFrom, find, hasReadUntrusted });
  return {
    cost,
    uses,
    stage: learning.stage,
    prepare(caller) {
      const user = userOf(caller);
      return uses.isReady(user) ? undefined : uses.ready(user);
    },
    forget(user, tool) {
      learning.forget(user, tool);
      return uses.forget(user, tool);
    },
    learnedBy: (caller) => uses.wordsOf(userOf(caller)),
    tool: createToolSearchTool({
      toolsFor,
      prepare: ({ caller }) => uses.ready(userOf(caller)),
      load: ({ caller }, names) => loadedTools.add(caller, names),
    }),
    choose(tools, { caller = {}, mode, loaded = loadedTools.of(caller), budget: given, about }) {
      const user = userOf(caller);
      const own = given ?? parts.budget ?? DEFAULT_BUDGET;
      // Agents of one session may have different tools.
      const key = JSON.stringify([user, conversationKey(caller), caller.agent, mode, own, about]);
      const likelihood = () => ({ uses: uses.likelihoods(user), matches: matchesOf(about, caller) });
      const chooseLikely = (others: readonly AnyTool[], room: number): readonly AnyTool[] =>
        likelyTools.choose(key, others, { room, cost, likelihood });
      return deferTools(tools, { budget: own, isCore, loaded, chooseLikely, cost });
    },
  };
}

/** The best matches of a conversation's beginning; further ones are hardly better than the most used tools. */
const MAX_MATCHES = 10;

/** The tools that policy and permissions allow for a call. */
interface SearchedTools {
  search(query: string, limit: number): readonly AnyTool[];
  get(name: string): AnyTool | undefined;
  /** Similar names. */
  nearest(name: string): readonly string[];
}

interface ToolSearchDependencies {
  toolsFor(authority: CallAuthority): SearchedTools;
  /** Reads what was learned from this caller. */
  prepare(authority: CallAuthority): MaybePromise<void>;
  /** Shows these tools in the caller's conversation from now on. */
  load(authority: CallAuthority, names: readonly string[]): void;
}

const MAX_FOUND = 20;
const DEFAULT_FOUND = 5;

/** Finds tools that are not shown and loads them for this conversation. */
function createToolSearchTool({ toolsFor, prepare, load }: ToolSearchDependencies) {
  return createTool({
    name: "tool_search",
    title: "Search tools",
    description: {
      short: "Finds tools that are not shown to you and loads them: you can call them from your next step on.",
      long:
        "You see only some of the tools that exist. Search before you say that something cannot be done. Search once for each " +
        "step of your task, not once for the whole task. Describe what the tool does, to what, and in which service; or use " +
        "`select:name,other_name` if you know the names.",
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
    builtIn: {
      zh: { title: "搜索工具", short: "查找没有显示的工具并加载：从下一步起就可以调用。" },
      isCore: true,
      usesOtherTools: true,
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      tools: field.list(field.object({ name: field.text(), description: field.text() }), "Loaded"),
    }),
    async run({ query, limit = DEFAULT_FOUND, response = "concise" }, { authority }) {
      await prepare(authority);
      const tools = toolsFor(authority);
      const { found, missing } = isSelection(query)
        ? select(selectedNames(query), tools)
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

function select(names: readonly string[], tools: SearchedTools): { found: AnyTool[]; missing: string[] } {
  const found = new Set<AnyTool>();
  const missing: string[] = [];
  for (const name of names.slice(0, MAX_FOUND)) {
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
