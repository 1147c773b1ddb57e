import type { SchemaSource } from "../schema/infer.ts";
import { propertiesOf } from "../schema/schema-properties.ts";
import type { ToolScope } from "./call.ts";
import { toCategory } from "./category.ts";
import { createTool, type ToolConfig } from "./create-tool.ts";
import { declarationOf, descriptionText, type FunctionDeclaration } from "./definition.ts";
import { EventEmitter, type EventOf, type Listener } from "./events.ts";
import { createSearchIndex, type SearchFields, type SearchIndex } from "./search/tool-index.ts";
import { originKey, ToolCatalogue } from "./tool-catalog.ts";
import { type AnyTool, bindGate, type DialectName, isTool, type ToolGate, unbindGate } from "./tool.ts";
import { AgentToolkit } from "./toolkit.ts";

/** What can be registered: a tool, or the configuration of one. */
export type Registrable = AnyTool | ToolConfig<SchemaSource, SchemaSource, unknown>;

export interface ToolStats {
  total: number;
  byCategory: Record<string, number>;
  callStats: Record<string, ToolStatistics>;
}

export interface SearchOptions {
  limit?: number;
  /** Applied before ranking, so that what a caller may not see takes no place. */
  filter?: (tool: AnyTool) => boolean;
}

/** Which tools a model is told of, and in which words. */
export interface ShownTools {
  dialect?: DialectName;
  mode?: string;
  filter?: (tool: AnyTool) => boolean;
}

/** Everything known. Which of it a caller may see or run is policy's business. */
export class ToolRegistry implements ToolScope {
  readonly events: EventEmitter;
  readonly #catalogue = new ToolCatalogue();
  readonly #toolkits = new Map<string, AgentToolkit>();
  /** Made at the first search; kept up to date from then on. */
  #index: SearchIndex | undefined;
  #gate: ToolGate | undefined;
  #statistics: CallStatistics | undefined;

  constructor(options: { events?: EventEmitter } = {}) {
    this.events = options.events ?? new EventEmitter();
  }

  /** A taken name is refused; another version of a tool of the same origin stands beside it (`read@2`). */
  register(candidate: Registrable): AnyTool {
    const tool = isTool(candidate) ? candidate : createTool(candidate);
    // A tool that comes later takes its names back from an MCP server; never the other way.
    this.#forget(this.#catalogue.add(tool).displaced);
    if (this.#gate) bindGate(tool, this.#gate);
    if (this.#catalogue.get(tool.name) === tool) this.#index?.add(tool.name, searchFieldsOf(tool));
    this.#announce("tool_registered", tool);
    return tool;
  }

  registerMany(candidates: Iterable<Registrable>): AnyTool[] {
    return Array.from(candidates, (candidate) => this.register(candidate));
  }

  /** As `register`, for a tool that a server brought. */
  registerMcpTool(candidate: Registrable): AnyTool {
    const tool = isTool(candidate)
      ? candidate
      : createTool({ category: "mcp", origin: { type: "mcp", server: "unnamed" }, ...candidate });
    if (tool.origin.type !== "mcp") {
      throw new TypeError(`"${tool.name}" is no MCP tool: give it origin { type: "mcp", server }, or use register().`);
    }
    return this.register(tool);
  }

  /** All versions of a tool, or with `name@version` that one. */
  unregister(name: string): boolean {
    return this.#forget(this.#catalogue.remove(name));
  }

  unregisterMcpTool(name: string): boolean {
    return this.get(name)?.origin.type === "mcp" && this.unregister(name);
  }

  /** By name, alias, `name@version`, or a spelling that differs in case or `-` and fits one tool only. */
  get(name: string): AnyTool | undefined {
    return this.#catalogue.get(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** One tool a name: the preferred version of each. */
  list(): AnyTool[] {
    return [...this.#catalogue.preferred()];
  }

  getAll(): AnyTool[] {
    return this.list();
  }

  names(): string[] {
    return this.#catalogue.names();
  }

  /** Names and aliases that a wrong one may have meant, best first. */
  nearest(name: string, filter?: (tool: AnyTool) => boolean): string[] {
    return this.#catalogue.nearest(name, filter);
  }

  refusal(name: string): string {
    return `Tool "${name}" not found`;
  }

  versions(name: string): readonly AnyTool[] {
    return this.#catalogue.versions(name);
  }

  /** What a plain name means from now on: `preferVersion("read@2")`. */
  preferVersion(versionedName: string): AnyTool {
    const tool = this.#catalogue.prefer(versionedName);
    this.#index?.add(tool.name, searchFieldsOf(tool));
    return tool;
  }

  /** Shares the calls of a plain name between versions by weight: `split("search", { "1": 9, "2": 1 })`. */
  split(name: string, weights: Readonly<Record<string, number>>): void {
    this.#catalogue.split(name, weights);
  }

  endSplit(name: string): void {
    this.#catalogue.endSplit(name);
  }

  /** The arm that a call of this tool takes, where its calls are split. */
  armOf(tool: AnyTool, key: string): { arm: string; tool: AnyTool } | undefined {
    return this.#catalogue.armOf(tool, key);
  }

  listByCategory(category: string): AnyTool[] {
    const key = toCategory(category);
    return this.list().filter((tool) => tool.category === key);
  }

  getByCategory(category: string): AnyTool[] {
    return this.listByCategory(category);
  }

  getByTag(tag: string): AnyTool[] {
    return this.list().filter((tool) => tool.tags.includes(tag));
  }

  getReadOnlyTools(): AnyTool[] {
    return this.list().filter((tool) => tool.isReadOnly);
  }

  /** Tools that change something: those of kind `write` and of kind `execute`. */
  getWriteTools(): AnyTool[] {
    return this.list().filter((tool) => !tool.isReadOnly);
  }

  /** Ranked, best first. */
  search(query: string, options: SearchOptions = {}): AnyTool[] {
    const { limit = 10, filter } = options;
    const hits = this.#searchIndex().search(query, {
      limit,
      filter: filter ? (name: string) => filter(this.#catalogue.require(name)) : undefined,
    });
    return hits.map(({ id }) => this.#catalogue.require(id));
  }

  getFunctionDeclarationsByMode(mode?: string): FunctionDeclaration[] {
    return this.toLLMTools(mode === undefined ? {} : { mode });
  }

  /** What a model is told. In plan mode: of read-only tools only. */
  toLLMTools({ dialect, mode, filter }: ShownTools = {}): FunctionDeclaration[] {
    const declarations: FunctionDeclaration[] = [];
    for (const tool of this.#catalogue.preferred()) {
      if (mode === "plan" && !tool.isReadOnly) continue;
      if (!filter || filter(tool)) declarations.push(declarationOf(tool, dialect));
    }
    return declarations;
  }

  getStats(): ToolStats {
    const counts = new Map<string, number>();
    for (const { category } of this.#catalogue.preferred()) counts.set(category, (counts.get(category) ?? 0) + 1);
    return {
      total: this.#catalogue.size,
      byCategory: Object.fromEntries(counts),
      callStats: this.#statistics?.byTool() ?? {},
    };
  }

  /** Hears of registrations; `toolRegistered` and `toolUnregistered` are the seed's names and give the tool itself. */
  on(type: "toolRegistered" | "toolUnregistered", listener: Listener<{ type: string; tool: AnyTool }>): () => void;
  on<T extends "tool_registered" | "tool_unregistered">(type: T, listener: Listener<EventOf<T>>): () => void;
  on(type: string, listener: Listener<never>): () => void {
    if (type === "tool_registered" || type === "tool_unregistered") {
      return this.events.on(type, listener);
    }
    const listeners = type === "toolUnregistered" ? this.#unregisteredListeners : this.#registeredListeners;
    listeners.add(listener as RegistryListener);
    return () => void listeners.delete(listener as RegistryListener);
  }
  readonly #registeredListeners = new Set<RegistryListener>();
  readonly #unregisteredListeners = new Set<RegistryListener>();

  /** The seed's name of `register`. */
  registerToolToLibrary(tool: Registrable): AnyTool {
    return this.register(tool);
  }

  /** An agent's own set of tools. An unknown name is an error, not a smaller set. */
  createAgentToolkit(agentName: string, toolNames: readonly string[] = []): AgentToolkit {
    const toolkit = new AgentToolkit(agentName, this.#gate);
    for (const name of toolNames) toolkit.addTool(this.#catalogue.require(name));
    this.#toolkits.set(agentName, toolkit);
    return toolkit;
  }

  getAgentToolkit(agentName: string): AgentToolkit | undefined {
    return this.#toolkits.get(agentName);
  }

  /** Said by the executor that runs this registry's tools. */
  attach(gate: ToolGate, statistics: CallStatistics): void {
    this.#gate = gate;
    this.#statistics = statistics;
    for (const name of this.#catalogue.names()) for (const tool of this.versions(name)) bindGate(tool, gate);
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
    const listeners = type === "tool_registered" ? this.#registeredListeners : this.#unregisteredListeners;
    for (const listener of listeners) {
      try {
        listener({ type: tool.origin.type === "own" ? "builtin" : tool.origin.type, tool });
      } catch {
        // A listener harms nobody: registering has succeeded already.
      }
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

type RegistryListener = Listener<{ type: string; tool: AnyTool }>;

/** What a search looks at in a tool. */
function searchFieldsOf(tool: AnyTool): SearchFields {
  const schema = tool.parameters.jsonSchema;
  const properties = propertiesOf(schema, schema);
  return {
    name: tool.name,
    aliases: [...tool.aliases],
    // Most tools have no title of their own, and their name is not to be read twice.
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

/** What is known of a tool's calls. Durations in milliseconds. */
export interface ToolStatistics {
  count: number;
  failures: number;
  avgDuration: number;
  p50: number;
  p95: number;
  /** Of content given to the model. */
  bytes: number;
  /** Answers that came after the caller had been told of a timeout or an abort. */
  late: number;
  byArm?: Record<string, { count: number; failures: number; avgDuration: number }>;
}

export interface CallStatistics {
  byTool(): Record<string, ToolStatistics>;
}
