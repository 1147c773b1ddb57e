import { propertiesOf } from "../schema/schema-properties.ts";
import type { ToolScope } from "./call.ts";
import { adopt, type ForeignTool, type Registrable } from "./adopt/adopt.ts";
import { toCategory, ToolCategory } from "./category.ts";
import { descriptionText } from "./definition.ts";
import { EventEmitter, type EventOf, type Listener } from "./events.ts";
import { bindGate, type Gate, unbindGate } from "./gate.ts";
import type { LearnedWords } from "./search/learned-words.ts";
import { createSearchIndex, type SearchFields, type SearchIndex } from "./search/tool-index.ts";
import { ChangeCounter } from "./stage.ts";
import { originKey, ToolCatalogue } from "./tool-catalog.ts";
import type { AnyTool } from "./tool.ts";

/** Counts of a registry. */
export interface ToolStats {
  /** How many tools there are. */
  total: number;
  /** How many of each category; also those that have none. */
  byCategory: Record<ToolCategory, number> & Record<string, number>;
  /** By tool. */
  callStats: Record<string, ToolStatistics>;
}

/** Which tools `list` returns. */
export interface ToolFilter {
  /** Its key, or a label in any language that `toCategory` knows. */
  category?: string;
  tag?: string;
  /** `true`: only read-only tools. `false`: only tools that may change something. */
  isReadOnly?: boolean;
}

export interface SearchOptions {
  limit?: number;
  /** Applied before ranking: hidden tools take no place in the list. */
  filter?: (tool: AnyTool) => boolean;
  /** Words of the questions that led this caller to tools. */
  learned?: LearnedWords;
}

/** Something outside that has not registered its tools yet, such as an MCP server. */
export interface AwaitedSource {
  name: string;
  /** How the names of its tools begin. */
  prefix: string;
  /** Its tools are expected soon. */
  isConnecting: boolean;
  /** Its tools do not come before a person acts. */
  needsPerson: boolean;
  /** For a model that calls one of its tools. */
  sentence: string;
}

let attach: (registry: ToolRegistry, gate: Gate, statistics: CallStatistics) => void;

/** Called by the gate that runs this registry's tools. */
export function attachGate(registry: ToolRegistry, gate: Gate, statistics: CallStatistics): void {
  attach(registry, gate, statistics);
}

/** All known tools. Policy decides which of them a caller may see or run. */
export class ToolRegistry implements ToolScope {
  /** Emits registrations, removals and the events of calls. */
  readonly events: EventEmitter;
  /** Counts every change. */
  readonly changes = new ChangeCounter();
  readonly #catalogue = new ToolCatalogue();
  /** Created at the first search; updated from then on. */
  #index: SearchIndex | undefined;
  readonly #awaited: (() => readonly AwaitedSource[])[] = [];
  #gate: Gate | undefined;
  #statistics: CallStatistics | undefined;

  constructor(options: { events?: EventEmitter } = {}) {
    this.events = options.events ?? new EventEmitter();
  }

  /** Adds a tool. A name that is taken is refused; another version from the same origin is added (`read@2`). */
  register(candidate: Registrable): AnyTool;
  /** Adds a tool of another system, as `adopt` converts it. */
  register(candidate: ForeignTool): AnyTool;
  register(candidate: Registrable | ForeignTool): AnyTool {
    const tool = adopt(candidate);
    this.changes.count++;
    // A later tool replaces an MCP tool of the same name; never the other way round.
    this.#forget(this.#catalogue.add(tool).displaced);
    if (this.#gate) bindGate(tool, this.#gate);
    if (this.#catalogue.get(tool.name) === tool) this.#index?.add(tool.name, searchFieldsOf(tool));
    this.#announce("tool_registered", tool);
    return tool;
  }

  /** Registers each in turn. */
  registerMany(candidates: Iterable<Registrable | ForeignTool>): AnyTool[] {
    return Array.from(candidates, (candidate) => this.register(adopt(candidate)));
  }

  /** Removes all versions of a tool, or with `name@version` only that one. */
  unregister(name: string): boolean {
    this.changes.count++;
    return this.#forget(this.#catalogue.remove(name));
  }

  /** By name, alias, `name@version`, or a spelling that differs in case or `-` and matches only one tool. */
  get(name: string): AnyTool | undefined {
    return this.#catalogue.get(name);
  }

  /** As `get`; throws for an unknown name and suggests the nearest ones. */
  require(name: string): AnyTool {
    return this.#catalogue.require(name);
  }

  /** Whether `get` finds a tool. */
  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** The preferred version of each tool; with a filter, only matching tools. */
  list({ category, tag, isReadOnly }: ToolFilter = {}): AnyTool[] {
    const key = category === undefined ? undefined : toCategory(category);
    return [...this.#catalogue.preferred()].filter(
      (tool) =>
        (key === undefined || tool.category === key) &&
        (tag === undefined || tool.tags.includes(tag)) &&
        (isReadOnly === undefined || tool.isReadOnly === isReadOnly),
    );
  }

  /** Every name, without aliases. */
  names(): string[] {
    return this.#catalogue.names();
  }

  /** Names and aliases that are similar to a wrong one, best first. */
  nearest(name: string, filter?: (tool: AnyTool) => boolean): string[] {
    return this.#catalogue.nearest(name, filter);
  }

  /** The message for a model that calls an unknown name. */
  refusal(name: string): string {
    return `Tool "${name}" not found`;
  }

  /** Adds a list of sources that may register tools later: a call of an unknown name is told about them. */
  addAwaited(list: () => readonly AwaitedSource[]): void {
    this.#awaited.push(list);
  }

  /** The sources that have not registered their tools yet. */
  awaited(): AwaitedSource[] {
    return this.#awaited.flatMap((list) => list());
  }

  /** Every version of a tool. */
  versions(name: string): readonly AnyTool[] {
    return this.#catalogue.versions(name);
  }

  /** Sets the version of a plain name: `preferVersion("read@2")`. */
  preferVersion(versionedName: string): AnyTool {
    const tool = this.#catalogue.prefer(versionedName);
    this.changes.count++;
    this.#index?.add(tool.name, searchFieldsOf(tool));
    return tool;
  }

  /** Splits the calls of a plain name between versions by weight: `split("search", { "1": 9, "2": 1 })`. */
  split(name: string, weights: Readonly<Record<string, number>>): void {
    this.#catalogue.split(name, weights);
    this.changes.count++;
  }

  /** Ends a split: the preferred version gets all calls again. */
  endSplit(name: string): void {
    this.#catalogue.endSplit(name);
    this.changes.count++;
  }

  /** Whether calls of this tool's plain name are split between versions. */
  isSplit(tool: AnyTool): boolean {
    return this.#catalogue.isSplit(tool);
  }

  /** The arm of the split for a call of this tool, if its calls are split. */
  armOf(tool: AnyTool, key: string): { arm: string; tool: AnyTool } | undefined {
    return this.#catalogue.armOf(tool, key);
  }

  /** Ranked, best first. */
  search(query: string, options: SearchOptions = {}): AnyTool[] {
    const { limit = 10, filter, learned } = options;
    const hits = this.#searchIndex().search(query, {
      limit,
      learned,
      filter: filter ? (name: string) => filter(this.#catalogue.require(name)) : undefined,
    });
    return hits.map(({ id }) => this.#catalogue.require(id));
  }

  /** Counts of tools and statistics of their calls. */
  getStats(): ToolStats {
    const counts = new Map<string, number>(Object.values(ToolCategory).map((category) => [category, 0]));
    for (const { category } of this.#catalogue.preferred()) counts.set(category, (counts.get(category) ?? 0) + 1);
    return {
      total: this.#catalogue.size,
      byCategory: Object.fromEntries(counts) as ToolStats["byCategory"],
      callStats: this.#statistics?.byTool() ?? {},
    };
  }

  /** Calls `listener` when a tool is registered or removed; returns the function that stops it. */
  on<T extends "tool_registered" | "tool_unregistered">(type: T, listener: Listener<EventOf<T>>): () => void {
    return this.events.on(type, listener);
  }

  static {
    attach = (registry, gate, statistics) => {
      registry.#gate = gate;
      registry.#statistics = statistics;
      bindGate(registry, gate);
      for (const name of registry.names()) for (const tool of registry.versions(name)) bindGate(tool, gate);
    };
  }

  #forget(removed: readonly AnyTool[]): boolean {
    for (const tool of removed) {
      if (this.#gate) unbindGate(tool, this.#gate);
      const left = this.get(tool.name);
      if (left?.name === tool.name) this.#index?.add(tool.name, searchFieldsOf(left));
      else this.#index?.remove(tool.name);
      this.#announce("tool_unregistered", tool);
    }
    return removed.length > 0;
  }

  #announce(type: "tool_registered" | "tool_unregistered", tool: AnyTool): void {
    if (this.events.hasListeners(type)) {
      this.events.emit({ type, at: Date.now(), toolName: tool.name, source: originKey(tool) });
    }
  }

  #searchIndex(): SearchIndex {
    if (!this.#index) {
      this.#index = createSearchIndex();
      for (const tool of this.#catalogue.preferred()) this.#index.add(tool.name, searchFieldsOf(tool));
    }
    return this.#index;
  }
}

/** The searched fields of a tool. */
function searchFieldsOf(tool: AnyTool): SearchFields {
  const schema = tool.parameters.jsonSchema;
  const properties = propertiesOf(schema, schema);
  return {
    name: tool.name,
    aliases: [...tool.aliases],
    // Most tools have no own title, and the name must not count twice.
    title: tool.title === tool.name ? undefined : tool.title,
    description: descriptionText(tool.description),
    tags: [...tool.tags],
    category: tool.category,
    parameters: [...properties.keys()],
    parameterText: Array.from(properties.values(), ({ description }) =>
      typeof description === "string" ? description : "",
    ).join(" "),
  };
}

/** Statistics of a tool's calls. Durations in milliseconds. */
export interface ToolStatistics {
  count: number;
  failures: number;
  avgDuration: number;
  p50: number;
  p95: number;
  /** Bytes of content for the model. */
  bytes: number;
  /** Results that arrived after a timeout or an abort. */
  late: number;
  byArm?: Record<string, { count: number; failures: number; avgDuration: number }>;
}

export interface CallStatistics {
  byTool(): Record<string, ToolStatistics>;
}
