import { adoptInputFirst, type ForeignTool, type Registrable } from "../core/adopt/adopt.ts";
import type { CallOptions } from "../core/call.ts";
import { ToolCategory } from "../core/category.ts";
import { attributeTool } from "../core/create-tool.ts";
import { declarationOf, type FunctionDeclaration } from "../core/definition.ts";
import { failureText } from "../core/error.ts";
import type { EventOf, Listener, ToolEvent, ToolEventType } from "../core/events.ts";
import { bindGate, findGate } from "../core/gate.ts";
import { ToolRegistry as Registry, type ToolFilter, type ToolStatistics, type ToolStats } from "../core/registry.ts";
import { type AnyTool, type DialectName, isTool } from "../core/tool.ts";
import { AgentToolkit as Toolkit } from "../core/toolkit.ts";
import { type ResultView, viewResult } from "./results.ts";
import { BaseTool, type ITool, type Tool, toCompatTool, type ViewedTool, viewTool } from "./tools.ts";

/** Which tools are declared to a model, and under which names. */
export interface DeclarationOptions {
  /** The family of names. */
  dialect?: DialectName;
  /** `"plan"`: read-only tools alone. */
  mode?: string;
}

/** A toolkit with the documents' names. */
export class AgentToolkit extends Toolkit {
  /** As `add`. */
  addTool(tool: AnyTool | BaseTool): void {
    this.add(tool instanceof BaseTool ? BaseTool.toTool(tool) : tool);
  }

  /** Adds several tools. */
  addTools(tools: Iterable<AnyTool | BaseTool>): void {
    for (const tool of tools) this.addTool(tool);
  }

  /** As `get`. */
  getTool(name: string): AnyTool | undefined {
    return this.get(name);
  }

  /** As `list`. */
  listTools(): AnyTool[] {
    return this.list();
  }

  /** As `execute`, with a view of the result. */
  async executeTool(name: string, params?: unknown, options?: CallOptions): Promise<ResultView> {
    return viewResult(await this.execute(name, params, options));
  }

  /** The definitions of its tools for a model. */
  toLLMTools(options?: DeclarationOptions): FunctionDeclaration[] {
    return declare(this.list(), options);
  }

  /** Its tools by name. */
  get tools(): Record<string, AnyTool> {
    return byName(this.list());
  }

  /** As `agentName`. */
  get agent_name(): string {
    return this.agentName;
  }

  /** As `addTool`. */
  add_tool(tool: AnyTool | BaseTool): void {
    this.addTool(tool);
  }

  /** As `addTools`. */
  add_tools(tools: Iterable<AnyTool | BaseTool>): void {
    this.addTools(tools);
  }

  /** As `get`. */
  get_tool(name: string): AnyTool | undefined {
    return this.get(name);
  }

  /** As `list`. */
  list_tools(): AnyTool[] {
    return this.list();
  }

  /** As `executeTool`. */
  execute_tool(name: string, params?: unknown, options?: CallOptions): Promise<ResultView> {
    return this.executeTool(name, params, options);
  }
}

/** What `toolRegistered` and `toolUnregistered` report. */
export interface RegistryEvent {
  /** `builtin` for all that no server, plugin or client brought. */
  type: string;
  /** The tool itself. */
  tool: AnyTool;
}

/** The events in capitals, and what each reports. */
export interface CallEvents {
  /** A call has begun. */
  TOOL_CALL_REQUESTED: { callId: string; toolName: string; params: unknown };
  /** A call has succeeded. */
  TOOL_CALL_COMPLETED: { callId: string; toolName: string; result: unknown; durationMs: number };
  /** A call has failed. */
  TOOL_CALL_FAILED: { callId: string; toolName: string; error: string; durationMs: number };
  /** A call has succeeded or failed. */
  TOOL_COMPLETE: ResultView;
  /** A call waits for a person. */
  PERMISSION_REQUEST: { callId: string; toolName: string; approvalId: string; reason: string };
}

type Reported = { [Name in keyof CallEvents]: (event: ToolEvent) => CallEvents[Name] | undefined };

const CALL_EVENTS: Reported = {
  TOOL_CALL_REQUESTED(event) {
    if (event.type !== "tool_call_requested") return undefined;
    return { callId: event.callId, toolName: event.toolName, params: event.input };
  },
  TOOL_CALL_COMPLETED(event) {
    if (event.type !== "tool_call_completed") return undefined;
    const { callId, toolName, result, durationMs } = event;
    return { callId, toolName, result: result.details, durationMs };
  },
  TOOL_CALL_FAILED(event) {
    if (event.type !== "tool_call_failed") return undefined;
    const { callId, toolName, error, durationMs } = event;
    return { callId, toolName, error: failureText(error), durationMs };
  },
  TOOL_COMPLETE(event) {
    const isEnd = event.type === "tool_call_completed" || event.type === "tool_call_failed";
    return isEnd ? viewResult(event.result) : undefined;
  },
  PERMISSION_REQUEST(event) {
    if (event.type !== "permission_requested") return undefined;
    return { callId: event.callId, toolName: event.toolName, approvalId: event.approvalId, reason: event.reason };
  },
};

type RegistryEventName = "toolRegistered" | "toolUnregistered" | keyof CallEvents | ToolEventType;

/** A registry with the documents' names. Pass it to `createHaft({ registry })` or `new ToolExecutor(registry)`. */
export class ToolRegistry extends Registry {
  readonly #toolkits = new Map<string, AgentToolkit>();
  /** Tools of servers behind tools of the same name. */
  readonly #hidden = new Map<string, ViewedTool>();
  /** By event and by the function that was given. */
  readonly #listeners = new Map<string, Map<unknown, { call: Listener<never>; stop: () => void }>>();
  readonly #ownStats = new Map<string, { count: number; failures: number; totalMs: number }>();

  /**
   * Adds a tool. A plain object gets its input first, as the documents' `Tool` does, unless its code takes the id of the call. A tool
   * that is no tool of Haft yet is viewed: its code gets a plain context, and its `execute` returns views.
   */
  override register(candidate: AnyCandidate): ViewedTool {
    const tool = toTool(candidate);
    const before = this.#ofServer(tool.name);
    super.register(tool);
    // The tool of the server stays known behind it.
    if (before && tool.origin.type !== "mcp") this.#hidden.set(tool.name, before);
    return viewTool(tool);
  }

  #ofServer(name: string): ViewedTool | undefined {
    const tool = this.get(name);
    return tool?.name === name && tool.origin.type === "mcp" ? tool : undefined;
  }

  /** Registers each in turn. */
  override registerMany(candidates: Iterable<AnyCandidate>): ViewedTool[] {
    return Array.from(candidates, (candidate) => this.register(candidate));
  }

  /** As `get` of the registry of "haft". The tool is viewed. */
  override get(name: string): ViewedTool | undefined {
    const tool = super.get(name);
    return tool && viewTool(tool);
  }

  /** As `list` of the registry of "haft". The tools are viewed. */
  override list(filter?: ToolFilter): ViewedTool[] {
    return super.list(filter).map(viewTool);
  }

  /** Counts a call that was made elsewhere. The gate counts its own calls. */
  updateCallStats(toolName: string, durationMs: number, success: boolean): void {
    const stats = this.#ownStats.get(toolName) ?? { count: 0, failures: 0, totalMs: 0 };
    stats.count += 1;
    stats.failures += success ? 0 : 1;
    stats.totalMs += durationMs;
    this.#ownStats.set(toolName, stats);
  }

  /** Counts of tools and statistics of their calls, with those of `updateCallStats`. */
  override getStats(): ToolStats {
    const stats = super.getStats();
    for (const [name, { count, failures, totalMs }] of this.#ownStats) {
      const none: ToolStatistics = { count: 0, failures: 0, avgDuration: 0, p50: 0, p95: 0, bytes: 0, late: 0 };
      const known = stats.callStats[name] ?? none;
      const all = known.count + count;
      const avgDuration = (known.avgDuration * known.count + totalMs) / all;
      stats.callStats[name] = { ...known, count: all, failures: known.failures + failures, avgDuration };
    }
    return stats;
  }

  /** The tools of these names and those that they depend on, each after its dependencies. Throws for a cycle. */
  executionOrder(names: Iterable<string>): AnyTool[] {
    const ordered = new Set<AnyTool>();
    const visit = (name: string, path: readonly string[]): void => {
      if (path.includes(name)) throw new TypeError(`Tools depend on each other: ${[...path, name].join(" → ")}.`);
      const tool = this.require(name);
      if (ordered.has(tool)) return;
      for (const needed of tool.dependsOn) visit(needed, [...path, name]);
      ordered.add(tool);
    };
    for (const name of names) visit(name, []);
    return [...ordered];
  }

  /** As `list`, with the tools of servers that others of the same name hide. */
  getAll(): ViewedTool[] {
    return [...this.list(), ...this.#hidden.values()];
  }

  /** As `list({ category })`. */
  listByCategory(category: string): ViewedTool[] {
    return this.list({ category });
  }

  /** As `list({ category })`. */
  getByCategory(category: string): ViewedTool[] {
    return this.list({ category });
  }

  /** As `list({ tag })`. */
  getByTag(tag: string): ViewedTool[] {
    return this.list({ tag });
  }

  /** As `list({ isReadOnly: true })`. */
  getReadOnlyTools(): ViewedTool[] {
    return this.list({ isReadOnly: true });
  }

  /** As `list({ isReadOnly: false })`. */
  getWriteTools(): ViewedTool[] {
    return this.list({ isReadOnly: false });
  }

  /** As `register`. */
  registerToolToLibrary(tool: AnyCandidate): ViewedTool {
    return this.register(tool);
  }

  /** As `register`, for a tool that a server brought. Behind a tool of the same name it is known, but not called. */
  registerMcpTool(candidate: AnyCandidate): ViewedTool {
    const own = toTool(candidate);
    const category = own.category === ToolCategory.CUSTOM ? ToolCategory.MCP : own.category;
    const isOfServer = own.origin.type === "mcp";
    const tool = isOfServer ? own : attributeTool(own, { origin: { type: "mcp", server: "unnamed" }, category });
    const hiding = this.get(tool.name);
    if (hiding?.name !== tool.name || hiding.origin.type === "mcp") return this.register(tool);
    this.#hidden.set(tool.name, viewTool(tool));
    this.emit("toolRegistered", toolEvent(tool));
    return viewTool(tool);
  }

  /** As `unregister`, for a tool that a server brought; leaves others alone. */
  unregisterMcpTool(name: string): boolean {
    const hidden = this.#hidden.get(name);
    if (!hidden) return this.#ofServer(name) !== undefined && this.unregister(name);
    this.#hidden.delete(name);
    this.emit("toolUnregistered", toolEvent(hidden));
    return true;
  }

  /** As `unregister` of the registry; `toolUnregistered` reports each version. A tool of a server that it hid is back. */
  override unregister(name: string): boolean {
    const versions = name.includes("@") ? [this.get(name)] : this.versions(name);
    const isRemoved = super.unregister(name);
    for (const tool of isRemoved ? versions : []) if (tool) this.emit("toolUnregistered", toolEvent(tool));
    const hidden = this.#hidden.get(name);
    if (hidden && !this.has(name)) {
      this.#hidden.delete(name);
      super.register(hidden);
    }
    return isRemoved;
  }

  /**
   * Calls the listener with each event: `toolRegistered` and `toolUnregistered` give the tool itself, names in capitals report
   * calls as `CallEvents` says, and Haft's own names work too. Returns the function that stops it.
   */
  override on<T extends ToolEventType>(type: T, listener: Listener<EventOf<T>>): () => void;
  override on(type: "toolRegistered" | "toolUnregistered", listener: Listener<RegistryEvent>): () => void;
  override on<Name extends keyof CallEvents>(type: Name, listener: Listener<CallEvents[Name]>): () => void;
  override on(type: RegistryEventName, listener: Listener<never>): () => void {
    return this.#listen(type, listener, listener);
  }

  /** As `on`, for the next event only. */
  once<T extends ToolEventType>(type: T, listener: Listener<EventOf<T>>): () => void;
  once(type: "toolRegistered" | "toolUnregistered", listener: Listener<RegistryEvent>): () => void;
  once<Name extends keyof CallEvents>(type: Name, listener: Listener<CallEvents[Name]>): () => void;
  once(type: RegistryEventName, listener: Listener<never>): () => void {
    return this.#listen(type, listener, (event: never) => {
      this.off(type, listener);
      listener(event);
    });
  }

  /** Stops a listener of `on` or `once`. */
  off(type: RegistryEventName, listener: Listener<never>): void {
    const listeners = this.#listeners.get(type);
    listeners?.get(listener)?.stop();
    listeners?.delete(listener);
  }

  /** As `on`, in a chain of calls: the name of Node. */
  addListener(type: RegistryEventName, listener: Listener<never>): this {
    this.#listen(type, listener, listener);
    return this;
  }

  /** As `off`, in a chain of calls: the name of Node. */
  removeListener(type: RegistryEventName, listener: Listener<never>): this {
    this.off(type, listener);
    return this;
  }

  /** Calls the listeners of this registry for an event of the documents. Returns whether there is one. */
  emit<Name extends keyof CallEvents | "toolRegistered" | "toolUnregistered">(
    type: Name,
    event: Name extends keyof CallEvents ? CallEvents[Name] : RegistryEvent,
  ): boolean {
    const listeners = [...(this.#listeners.get(type)?.values() ?? [])];
    for (const { call } of listeners) notify(call as Listener<unknown>, event);
    return listeners.length > 0;
  }

  /** How many listeners `on` and `once` have added for this event. */
  listenerCount(type: RegistryEventName): number {
    return this.#listeners.get(type)?.size ?? 0;
  }

  #listen(type: RegistryEventName, listener: Listener<never>, call: Listener<never>): () => void {
    const stop = this.#subscribe(type, call);
    this.off(type, listener);
    let listeners = this.#listeners.get(type);
    if (!listeners) this.#listeners.set(type, (listeners = new Map()));
    listeners.set(listener, { call, stop });
    return () => this.off(type, listener);
  }

  #subscribe(type: RegistryEventName, call: Listener<never>): () => void {
    if (type === "toolRegistered") {
      return super.on("tool_registered", ({ toolName }) => {
        notify(call as Listener<unknown>, toolEvent(this.require(toolName)));
      });
    }
    // `unregister` reports it, while the tool is still known.
    if (type === "toolUnregistered") return () => undefined;
    // Also refuses a name that does not exist.
    if (!isCallEvent(type)) return this.events.on(type, call);
    return this.events.on("*", (event) => {
      const reported = CALL_EVENTS[type](event);
      if (reported) (call as Listener<unknown>)(reported);
    });
  }

  /** The definitions of its tools for a model; `haft.tools.definitions` also applies policy. */
  toLLMTools(options?: DeclarationOptions): FunctionDeclaration[] {
    return declare(this.list(), options);
  }

  /** As `toLLMTools({ mode })`. */
  getFunctionDeclarationsByMode(mode?: string): FunctionDeclaration[] {
    return this.toLLMTools({ mode });
  }

  /** As `haft.tools.toolkit`. A name that is not in the library is skipped. */
  createAgentToolkit(agentName: string, toolNames: readonly string[] = []): AgentToolkit {
    const toolkit = new AgentToolkit(agentName);
    const gate = findGate(this);
    if (gate) bindGate(toolkit, gate);
    for (const tool of toolNames.map((name) => this.get(name))) if (tool) toolkit.add(tool);
    this.#toolkits.set(agentName, toolkit);
    return toolkit;
  }

  /** The toolkit that `createAgentToolkit` made last for this agent. */
  getAgentToolkit(agentName: string): AgentToolkit | undefined {
    return this.#toolkits.get(agentName);
  }

  /** Its tools by name. */
  get toolLibrary(): Record<string, ViewedTool> {
    return byName(this.list());
  }

  /** The toolkits that `createAgentToolkit` made, by agent. */
  get agentToolkits(): Record<string, AgentToolkit> {
    return Object.fromEntries(this.#toolkits);
  }

  /** As `toolLibrary`. */
  get tool_library(): Record<string, ViewedTool> {
    return this.toolLibrary;
  }

  /** As `agentToolkits`. */
  get agent_toolkits(): Record<string, AgentToolkit> {
    return this.agentToolkits;
  }

  /** As `register`. */
  register_tool_to_library(tool: AnyCandidate): ViewedTool {
    return this.register(tool);
  }

  /** As `createAgentToolkit`. */
  create_agent_toolkit(agentName: string, toolNames?: readonly string[]): AgentToolkit {
    return this.createAgentToolkit(agentName, toolNames);
  }

  /** As `getAgentToolkit`. */
  get_agent_toolkit(agentName: string): AgentToolkit | undefined {
    return this.getAgentToolkit(agentName);
  }
}

type AnyCandidate = Registrable | ForeignTool | Tool | ITool | BaseTool;

function toTool(candidate: AnyCandidate): AnyTool {
  if (candidate instanceof BaseTool) return BaseTool.toTool(candidate);
  return isTool(candidate) ? candidate : toCompatTool(adoptInputFirst(candidate as Registrable));
}

function byName<T extends AnyTool>(tools: readonly T[]): Record<string, T> {
  return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
}

function isCallEvent(type: string): type is keyof CallEvents {
  return Object.hasOwn(CALL_EVENTS, type);
}

function declare(tools: readonly AnyTool[], { dialect, mode }: DeclarationOptions = {}): FunctionDeclaration[] {
  return tools.filter((tool) => mode !== "plan" || tool.isReadOnly).map((tool) => declarationOf(tool, dialect));
}

function toolEvent(tool: AnyTool): RegistryEvent {
  return { type: tool.origin.type === "own" ? "builtin" : tool.origin.type, tool };
}

function notify(listener: Listener<unknown>, event: unknown): void {
  try {
    listener(event);
  } catch {
    // A listener must not undo what has happened already.
  }
}
