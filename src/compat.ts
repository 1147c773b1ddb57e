/**
 * Names of the five design documents that Haft itself does not use: `import { ToolExecutor } from "haft/compat"`. Each only
 * calls what "haft" offers under its own name.
 *
 * @example
 * import { createHaft, createTool } from "haft";
 * import { ToolExecutor, ToolRegistry } from "haft/compat";
 *
 * const search = createTool({
 *   name: "search",
 *   description: "Finds documents.",
 *   kind: "readonly",
 *   parameters: [{ name: "query", type: "string", required: true }],
 *   run: ({ query }) => `Nothing about ${query}`,
 * });
 * const registry = new ToolRegistry();
 * registry.registerToolToLibrary(search);
 * const executor = new ToolExecutor(createHaft({ registry }));
 * const result = await executor.execute("search", { query: "haft" });
 *
 * @module
 */
import { z } from "zod";
import type { BatchCall, CallOptions } from "./core/call.ts";
import { adopt, type ForeignTool, type Registrable } from "./core/adopt/adopt.ts";
import { ToolCategory } from "./core/category.ts";
import { type Content, textOf } from "./core/content.ts";
import { attributeTool, createTool as makeTool, type ToolConfig, type ToolOf, viewedTool } from "./core/create-tool.ts";
import { declarationOf, type FunctionDeclaration } from "./core/definition.ts";
import { failureText, type ToolFailure } from "./core/error.ts";
import type { EventOf, Listener, ToolEvent, ToolEventType } from "./core/events.ts";
import { bindGate, findGate } from "./core/gate.ts";
import { checkKeys, keysOf } from "./core/options.ts";
import { ToolRegistry as Registry, type ToolStatistics, type ToolStats } from "./core/registry.ts";
import type { PendingResult, ResultMetadata, ToolOutput, ToolResult as Result } from "./core/result.ts";
import {
  type AnyTool,
  type DialectName,
  isTool,
  saysNothing,
  neverAsks,
  type ToolContext as CoreContext,
  type ToolInvocation,
  ToolPermission,
} from "./core/tool.ts";
import { AgentToolkit as Toolkit } from "./core/toolkit.ts";
import type { MCPTool } from "./mcp/client/mcp-client.ts";
import { type ToolCaller, wrapMCPTool as wrapServerTool } from "./mcp/client/mcp-tool.ts";
import { createHaft, type Haft } from "./runtime.ts";
import type { SchemaSource } from "./schema/infer.ts";
import { isObject, type JsonSchema } from "./schema/json-schema.ts";

export { toCategory, ToolCategory } from "./core/category.ts";
export { ToolNotFoundError, ToolPermissionError, ToolTimeoutError, ToolValidationError } from "./core/error.ts";
export { jsonResult } from "./core/result.ts";
export type { ToolStats } from "./core/registry.ts";
export type { FunctionDeclaration, ToolCallDefinition } from "./core/definition.ts";
export { ToolKind, ToolPermission } from "./core/tool.ts";
export type { ToolDescription } from "./core/tool.ts";
export { expandToolGroups, normalizeToolName, TOOL_GROUPS } from "./gate/permit/tool-groups.ts";
export { isToolAllowedByPolicy } from "./gate/permit/tool-policy.ts";
export { isPathAllowed } from "./io/files/path-name.ts";
export { MCPClient } from "./mcp/client/mcp-client.ts";
export { toClientToolDefinitions, toToolDefinitions } from "./models/frameworks/tool-definitions.ts";
export type { ClientToolDefinition, ToolDefinition } from "./models/frameworks/tool-definitions.ts";
export { XMLToolCallParser } from "./models/text/tool-call-parser.ts";
export type { XMLToolCall } from "./models/text/tool-call-parser.ts";
export {
  ToolPromptGenerator,
  writeToolInstructions as generateToolInstruction,
} from "./models/text/tool-instructions.ts";

/** A result as the documents write and read it. Each of them has some of the fields. */
export interface ToolResult {
  /** Whether the tool did its work. */
  success: boolean;
  /** Of the tool. */
  toolName?: string;
  /** For a program. */
  result?: unknown;
  /** For a program. */
  data?: unknown;
  /** For a model. */
  llmContent?: string;
  /** For a person. */
  displayContent?: string;
  /** Why it failed. */
  error?: string;
  /** Further facts. */
  metadata?: Record<string, unknown>;
  /** Unix milliseconds. */
  startedAt?: number;
  /** Unix milliseconds. */
  completedAt?: number;
  /** From start to end. */
  durationMs?: number;
}

/** A result of the gate with the documents' fields beside its own. Plain JSON. */
export interface ResultView extends ToolResult {
  /** Of the call. */
  callId: string;
  /** The canonical name of the tool. */
  toolName: string;
  /** Whether it succeeded, failed, or comes later. */
  status: Result["status"];
  /** The text of `content`. */
  llmContent: string;
  /** As `display`. */
  displayContent: string;
  /** For the model. */
  content: Content[];
  /** For a person. */
  display: string;
  /** For a program. `result` and `data` are the same. */
  details?: unknown;
  /** What `error` is the message of. */
  failure?: ToolFailure;
  /** What a pending call waits for. */
  pending?: PendingResult["pending"];
  /** Repairs, warnings and further facts. */
  metadata: ResultMetadata;
  /** Unix milliseconds. */
  startedAt: number;
}

/**
 * A result with the documents' fields: `result`, `data`, `llmContent`, `displayContent`, and `error` as text.
 *
 * @example
 * const { llmContent, error } = viewResult(await haft.execute("read", { path: "README.md" }));
 */
export function viewResult(result: Result): ResultView {
  const { content, display, details } = result;
  const view: ResultView = {
    ...result,
    success: result.status === "completed",
    error: undefined,
    llmContent: textOf(content),
    displayContent: display,
  };
  if (details !== undefined) view.result = view.data = details;
  if (result.status === "failed") {
    view.error = failureText(result.error);
    view.failure = result.error;
  }
  return view;
}

/** The context of a tool as the documents write it, with the fields of ours. */
export interface ToolContext extends Partial<Omit<CoreContext, "allowedPaths">> {
  /** Of the task; "" if the call has none. */
  taskId: string;
  /** Of the person. */
  userId?: string;
  /** The paths that the call may use. */
  allowedPaths?: string[];
}

/** Its fields are its own, so a copy by `{ ...context }` has them; each is read only when it is used. */
function viewContext(context: CoreContext): CoreContext {
  const { caller, allowedPaths, callId, workspace, waitForEnd } = context;
  const view: ToolContext = {
    taskId: caller.task ?? "",
    userId: caller.user,
    allowedPaths: allowedPaths && [...allowedPaths],
    callId,
    caller,
    workspace,
    waitForEnd,
    get signal() {
      return context.signal;
    },
    get authority() {
      return context.authority;
    },
    get update() {
      return context.update;
    },
    get pauseTimeLimit() {
      return context.pauseTimeLimit;
    },
    get call() {
      return context.call;
    },
  };
  return view as CoreContext;
}

/** A tool as a program writes it: a name, a schema and `execute(params, context)`. */
export interface Tool {
  /** Of the tool. */
  name: string;
  /** What it does; models choose by it. */
  description: string;
  /** How it is grouped. */
  category?: string;
  /** Any schema. */
  parameters: SchemaSource;
  /** Its code. Returns a `ToolResult` or any other value. */
  execute: (params: unknown, context: ToolContext) => unknown;
}

/** A tool whose `execute` returns views of results. */
export type ViewedTool<T extends AnyTool = AnyTool> = {
  /** As `title`. */
  readonly displayName: string;
  /** Runs it through the gate. The context is that of the call: task, user and paths. */
  execute(params: Parameters<T["execute"]>[0], context?: CallOptions): Promise<ResultView>;
  /** A validated call that has not run. Throws ToolValidationError. */
  build(params: Parameters<T["build"]>[0]): ViewedInvocation<ReturnType<T["build"]>>;
} & T;

/** A built call whose `execute` returns a view of the result. */
type ViewedInvocation<I = ToolInvocation> = Omit<I, "execute"> & {
  /** Runs it through the gate. */
  execute(context?: CallOptions): Promise<ResultView>;
};

const asView = (result: Result): Result => viewResult(result) as unknown as Result;

/** The same tool, whose `execute` returns views of results. For tools that Haft made, such as those of a workspace. */
export function viewTool(tool: AnyTool): ViewedTool {
  return viewedTool(tool, { view: asView, extra: { displayName: tool.title } }) as ViewedTool;
}

/** Makes a tool as `createTool` of "haft" does. Its code gets a plain context, and its `execute` returns views of results. */
export function createTool<const P extends SchemaSource, R, O extends SchemaSource = SchemaSource>(
  config: ToolConfig<P, O, R>,
): ViewedTool<ToolOf<P, O, R>> {
  return toCompatTool(makeTool(config)) as ViewedTool<ToolOf<P, O, R>>;
}

/** Four of the documents have no kinds: a tool that states none runs as printed there. */
function toCompatTool(tool: AnyTool): AnyTool {
  const permission = tool.permission === saysNothing ? neverAsks : tool.permission;
  return viewedTool(tool, { view: asView, contextOf: viewContext, extra: { displayName: tool.title, permission } });
}

/** What an `AgentTool` returns. */
export interface AgentToolResult<Details = unknown> {
  /** For the model. */
  content: Content[];
  /** For a program. */
  details?: Details;
}

/** Called with each partial result. */
export type AgentToolUpdateCallback<Details = unknown> = (partial: ToolOutput<Details>) => void;

/** A tool whose code takes the call's id, the input, a signal and a listener for updates. */
export interface AgentTool<Params = never, Details = unknown> extends Omit<
  ToolConfig<SchemaSource, SchemaSource, unknown>,
  "description" | "parameters" | "execute" | "run"
> {
  /** Of the tool. */
  name: string;
  /** What it does; models choose by it. */
  description: string;
  /** Any schema. */
  parameters: object;
  /** Its code. */
  execute(
    toolCallId: string,
    params: Params,
    signal?: AbortSignal,
    onUpdate?: AgentToolUpdateCallback<Details>,
  ): Promise<AgentToolResult<Details>>;
}

/** An `AgentTool` of any input. */
// A list holds tools of every input type.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyAgentTool = AgentTool<any, any>;

/** Makes a tool of an `AgentTool`. `haft.register` and `adopt` do so too, if they recognise it. */
export function fromAgentTool<Params, Details>(tool: AgentTool<Params, Details>): AnyTool {
  const adopted = adopt(tool as ForeignTool, { as: "agent-tool" });
  return adopted.permission === saysNothing
    ? adopt(tool as ForeignTool, { as: "agent-tool", needsApproval: false })
    : adopted;
}

/** One parameter of a `BaseTool`. */
export interface ToolParameter {
  /** Of the parameter. */
  name: string;
  /** `string`, `integer`, `number`, `boolean`, `array` or `object`. */
  type: string;
  /** For the model. */
  description: string;
  /** Default: true. */
  required?: boolean;
  /** Used if it is omitted. */
  default?: unknown;
}

/** What a `BaseTool` is made of. Further fields are kept as `config`. */
export interface BaseToolOptions {
  /** Of the tool. */
  name: string;
  /** What it does; models choose by it. */
  description: string;
  /** Whether its calls ask a person. Default: `auto`. */
  permission?: ToolPermission;
  [setting: string]: unknown;
}

/**
 * A tool as a class with a list of parameters. `haft.register(new Search())` takes it.
 *
 * @example
 * class Search extends BaseTool {
 *   constructor() {
 *     super({ name: "web_search", description: "Searches the web." });
 *   }
 *   getParameters() {
 *     return [{ name: "query", type: "string", description: "What to search for" }];
 *   }
 *   async execute({ query }: { query: string }) {
 *     return { success: true, data: await search(query) };
 *   }
 * }
 */
export abstract class BaseTool {
  /** Of the tool. */
  readonly name: string;
  /** What it does. */
  readonly description: string;
  /** Whether its calls ask a person. */
  readonly permission: ToolPermission;
  /** Further fields that the constructor got. */
  readonly config: Readonly<Record<string, unknown>>;
  #tool: AnyTool | undefined;

  constructor({ name, description, permission = ToolPermission.AUTO, ...config }: BaseToolOptions) {
    this.name = name;
    this.description = description;
    this.permission = permission;
    this.config = config;
  }

  /** The parameters. */
  abstract getParameters(): ToolParameter[];

  /** The tool's code. Only the gate should call it: `call` does. */
  // A subclass declares the input that its parameters describe.
  // oxlint-disable-next-line typescript/no-explicit-any
  abstract execute(params: any, context?: ToolContext): Promise<ToolResult> | ToolResult;

  /** Undefined if the parameters are valid, else the problem. By default: required and unknown ones. */
  validateParams(params: Readonly<Record<string, unknown>>): string | undefined {
    const known = this.getParameters();
    const missing = known.find(({ name, required = true }) => required && params[name] === undefined);
    if (missing) return `Missing required parameter: ${missing.name}`;
    const unknown = Object.keys(params).find((key) => !known.some(({ name }) => name === key));
    return unknown === undefined ? undefined : `Unknown parameter: ${unknown}`;
  }

  /** Validates and runs it, through the gate of the runtime that it is registered in, or of the default one. */
  async call(params: Readonly<Record<string, unknown>> = {}, options?: CallOptions): Promise<ResultView> {
    return viewResult(await BaseTool.toTool(this).execute(params, options));
  }

  /** The tool that is registered for it. */
  static toTool(tool: BaseTool): AnyTool {
    return (tool.#tool ??= adopt(tool));
  }
}

/** How a `ToolExecutor` runs the tools of a registry. */
export interface ToolExecutorOptions {
  /** How many calls may run at the same time. Default: 3. */
  maxConcurrentTools?: number;
  /** The time limit of a call, in milliseconds. Default: 30,000. */
  timeout?: number;
  /** The time limit of tools that use the network. Default: 60,000. */
  networkTimeout?: number;
}

const EXECUTOR_KEYS = keysOf<ToolExecutorOptions>({ maxConcurrentTools: true, timeout: true, networkTimeout: true });

/**
 * Runs calls of a runtime, or of a registry in a runtime of its own, and returns views of results.
 *
 * @example
 * const executor = new ToolExecutor(registry, { maxConcurrentTools: 3 });
 * const { success, result, error } = await executor.execute("search", { query: "haft" }, { taskId: "t1" });
 */
export class ToolExecutor {
  /** The runtime. */
  readonly haft: Haft;

  constructor(target: Haft | Registry, options: ToolExecutorOptions = {}) {
    checkKeys("ToolExecutor", options, EXECUTOR_KEYS);
    const { maxConcurrentTools, timeout, networkTimeout } = options;
    if (target instanceof Registry) {
      this.haft = createHaft({
        registry: target,
        concurrency: { maxConcurrent: maxConcurrentTools },
        timeouts: { defaultMs: timeout, networkMs: networkTimeout },
      });
      return;
    }
    if (Object.keys(options).length > 0) {
      throw new TypeError(
        "ToolExecutor of a runtime has no options: pass them to createHaft() as `concurrency` and `timeouts`.",
      );
    }
    this.haft = target;
  }

  /** As `haft.execute`, with a view of the result. */
  async execute(tool: AnyTool | string, params?: unknown, context?: CallOptions): Promise<ResultView> {
    return viewResult(await this.haft.execute(tool as string, params, context));
  }

  /** As `haft.executeMany`, with views of the results. */
  async executeMany(calls: readonly BatchCall[], options?: CallOptions): Promise<ResultView[]> {
    return (await this.haft.executeMany(calls, options)).map(viewResult);
  }
}

/** A Zod schema for a JSON Schema. */
export function jsonSchemaToZod(schema: JsonSchema): z.ZodType {
  return z.fromJSONSchema(schema);
}

/**
 * Makes a tool of a tool of an MCP server. The client may be any object that calls tools: without a `serverName` its tools are
 * named after the server "unnamed", and without `trusted` its annotations are not believed.
 */
export function wrapMCPTool(mcpTool: MCPTool, client: Pick<ToolCaller, "callTool"> & Partial<ToolCaller>): AnyTool;
export function wrapMCPTool(mcpTool: MCPTool, client: { callTool(name: string, args: unknown): unknown }): AnyTool;
export function wrapMCPTool(
  mcpTool: MCPTool,
  client: Partial<Omit<ToolCaller, "callTool">> & { callTool(...args: Parameters<ToolCaller["callTool"]>): unknown },
): AnyTool {
  return wrapServerTool(mcpTool, {
    serverName: client.serverName ?? "unnamed",
    trusted: client.trusted ?? false,
    running: client.running,
    explainRefusal: client.explainRefusal && ((text) => client.explainRefusal?.(text)),
    async callTool(...args) {
      const answer = await client.callTool(...args);
      if (isObject(answer) && Array.isArray(answer["content"]))
        return answer as Awaited<ReturnType<ToolCaller["callTool"]>>;
      const shown = typeof answer === "string" ? answer : (JSON.stringify(answer) ?? "");
      return { content: [{ type: "text", text: shown }], structuredContent: isObject(answer) ? answer : undefined };
    },
  });
}

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
  readonly #onRemoved = new Set<Listener<RegistryEvent>>();
  /** The functions that stop each listener. */
  readonly #stops = new Map<string, Map<unknown, () => void>>();
  readonly #ownStats = new Map<string, { count: number; failures: number; totalMs: number }>();

  /** Adds a tool. The code of one that is not yet a tool of Haft gets a plain context, and its `execute` returns views. */
  override register(candidate: Registrable | ForeignTool | Tool | BaseTool): AnyTool {
    if (candidate instanceof BaseTool) return super.register(BaseTool.toTool(candidate));
    return super.register(isTool(candidate) ? candidate : toCompatTool(adopt(candidate as Registrable)));
  }

  /** Registers each in turn. */
  override registerMany(candidates: Iterable<Registrable | ForeignTool | Tool | BaseTool>): AnyTool[] {
    return Array.from(candidates, (candidate) => this.register(candidate));
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

  /** As `list`. */
  getAll(): AnyTool[] {
    return this.list();
  }

  /** As `list({ category })`. */
  listByCategory(category: string): AnyTool[] {
    return this.list({ category });
  }

  /** As `list({ category })`. */
  getByCategory(category: string): AnyTool[] {
    return this.list({ category });
  }

  /** As `list({ tag })`. */
  getByTag(tag: string): AnyTool[] {
    return this.list({ tag });
  }

  /** As `list({ isReadOnly: true })`. */
  getReadOnlyTools(): AnyTool[] {
    return this.list({ isReadOnly: true });
  }

  /** As `list({ isReadOnly: false })`. */
  getWriteTools(): AnyTool[] {
    return this.list({ isReadOnly: false });
  }

  /** As `register`. */
  registerToolToLibrary(tool: Registrable | ForeignTool | Tool | BaseTool): AnyTool {
    return this.register(tool);
  }

  /** As `register`, for a tool that a server brought. */
  registerMcpTool(candidate: Registrable | ForeignTool): AnyTool {
    const tool = isTool(candidate) ? candidate : toCompatTool(adopt(candidate));
    if (tool.origin.type === "mcp") return this.register(tool);
    const category = tool.category === ToolCategory.CUSTOM ? ToolCategory.MCP : tool.category;
    return this.register(attributeTool(tool, { origin: { type: "mcp", server: "unnamed" }, category }));
  }

  /** As `unregister`, for a tool that a server brought; leaves others alone. */
  unregisterMcpTool(name: string): boolean {
    return this.get(name)?.origin.type === "mcp" && this.unregister(name);
  }

  /** As `unregister` of the registry; `toolUnregistered` reports each version. */
  override unregister(name: string): boolean {
    const versions = name.includes("@") ? [this.get(name)] : this.versions(name);
    const isRemoved = super.unregister(name);
    for (const tool of isRemoved ? versions : []) {
      for (const listener of this.#onRemoved) if (tool) notify(listener, tool);
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
    const stop = this.#listen(type, listener);
    this.#stopsOf(type).get(listener)?.();
    this.#stopsOf(type).set(listener, stop);
    return () => this.off(type, listener);
  }

  /** As `on`, for the next event only. */
  once<T extends ToolEventType>(type: T, listener: Listener<EventOf<T>>): () => void;
  once(type: "toolRegistered" | "toolUnregistered", listener: Listener<RegistryEvent>): () => void;
  once<Name extends keyof CallEvents>(type: Name, listener: Listener<CallEvents[Name]>): () => void;
  once(type: RegistryEventName, listener: Listener<never>): () => void {
    const stop = this.#listen(type, (event: never) => {
      this.off(type, listener);
      listener(event);
    });
    this.#stopsOf(type).get(listener)?.();
    this.#stopsOf(type).set(listener, stop);
    return () => this.off(type, listener);
  }

  /** Stops a listener of `on` or `once`. */
  off(type: RegistryEventName, listener: Listener<never>): void {
    const stops = this.#stopsOf(type);
    stops.get(listener)?.();
    stops.delete(listener);
  }

  #stopsOf(type: string): Map<unknown, () => void> {
    let stops = this.#stops.get(type);
    if (!stops) this.#stops.set(type, (stops = new Map()));
    return stops;
  }

  #listen(type: RegistryEventName, listener: Listener<never>): () => void {
    const listenToTools = listener as Listener<RegistryEvent>;
    if (type === "toolRegistered") {
      return super.on("tool_registered", ({ toolName }) => notify(listenToTools, this.require(toolName)));
    }
    if (type === "toolUnregistered") {
      this.#onRemoved.add(listenToTools);
      return () => void this.#onRemoved.delete(listenToTools);
    }
    // Also refuses a name that does not exist.
    if (!isCallEvent(type)) return this.events.on(type, listener);
    return this.events.on("*", (event) => {
      const reported = CALL_EVENTS[type](event);
      if (reported) (listener as Listener<unknown>)(reported);
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

  /** As `haft.tools.toolkit`. An unknown name is an error. */
  createAgentToolkit(agentName: string, toolNames: readonly string[] = []): AgentToolkit {
    const toolkit = new AgentToolkit(agentName);
    const gate = findGate(this);
    if (gate) bindGate(toolkit, gate);
    for (const name of toolNames) toolkit.add(this.require(name));
    this.#toolkits.set(agentName, toolkit);
    return toolkit;
  }

  /** The toolkit that `createAgentToolkit` made last for this agent. */
  getAgentToolkit(agentName: string): AgentToolkit | undefined {
    return this.#toolkits.get(agentName);
  }
}

function isCallEvent(type: string): type is keyof CallEvents {
  return Object.hasOwn(CALL_EVENTS, type);
}

function declare(tools: readonly AnyTool[], { dialect, mode }: DeclarationOptions = {}): FunctionDeclaration[] {
  return tools.filter((tool) => mode !== "plan" || tool.isReadOnly).map((tool) => declarationOf(tool, dialect));
}

function notify(listener: Listener<RegistryEvent>, tool: AnyTool): void {
  try {
    listener({ type: tool.origin.type === "own" ? "builtin" : tool.origin.type, tool });
  } catch {
    // A listener must not undo what has happened already.
  }
}
