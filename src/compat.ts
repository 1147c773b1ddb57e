/**
 * Names of the five design documents that Haft itself does not use: `import { ToolExecutor } from "haft/compat"`. Each only
 * calls what "haft" offers under its own name.
 *
 * @example
 * const registry = new ToolRegistry();
 * registry.registerToolToLibrary(search);
 * const executor = new ToolExecutor(createHaft({ registry }));
 * const result = await executor.execute("search", { query: "haft" });
 *
 * @module
 */
import { ToolCategory } from "./core/category.ts";
import type { BatchCall, CallOptions, Execute } from "./core/call.ts";
import { adopt, type ForeignTool, type Registrable } from "./core/adopt/adopt.ts";
import { type ToolConfig, attributeTool } from "./core/create-tool.ts";
import { declarationOf, type FunctionDeclaration } from "./core/definition.ts";
import type { EventOf, Listener, ToolEventType } from "./core/events.ts";
import { bindGate, findGate } from "./core/gate.ts";
import { ToolRegistry as Registry } from "./core/registry.ts";
import type { ToolOutput, ToolResult } from "./core/result.ts";
import type { AnyTool, DialectName } from "./core/tool.ts";
import { AgentToolkit as Toolkit } from "./core/toolkit.ts";
import type { Haft } from "./runtime.ts";
import type { SchemaSource } from "./schema/infer.ts";

export { toCategory, ToolCategory } from "./core/category.ts";
export { ToolNotFoundError, ToolPermissionError, ToolTimeoutError, ToolValidationError } from "./core/error.ts";
export { jsonResult } from "./core/result.ts";
export type { ToolStats } from "./core/registry.ts";
export { ToolKind, ToolPermission } from "./core/tool.ts";
export { expandToolGroups, normalizeToolName, TOOL_GROUPS } from "./gate/permit/tool-groups.ts";
export { isToolAllowedByPolicy } from "./gate/permit/tool-policy.ts";
export { isPathAllowed } from "./io/files/path-name.ts";
export { MCPClient } from "./mcp/client/mcp-client.ts";
export { wrapMCPTool } from "./mcp/client/mcp-tool.ts";
export { toClientToolDefinitions, toToolDefinitions } from "./models/frameworks/tool-definitions.ts";
export { XMLToolCallParser } from "./models/text/tool-call-parser.ts";
export type { XMLToolCall } from "./models/text/tool-call-parser.ts";
export {
  ToolPromptGenerator,
  writeToolInstructions as generateToolInstruction,
} from "./models/text/tool-instructions.ts";

/** A tool whose code takes the call's id, the input, a signal and a listener for updates. */
export interface AgentTool<Params = never, Details = unknown> extends Omit<
  ToolConfig<SchemaSource, SchemaSource, unknown>,
  "execute" | "run"
> {
  /** Of the tool. */
  name: string;
  /** Its code. */
  execute(
    toolCallId: string,
    params: Params,
    signal?: AbortSignal,
    onUpdate?: (update: ToolOutput<Details>) => void,
  ): unknown;
}

/** Makes a tool of an `AgentTool`. `haft.register` and `adopt` do so too, if they recognise it. */
export function fromAgentTool<Params, Details>(tool: AgentTool<Params, Details>): AnyTool {
  return adopt(tool as ForeignTool, { as: "agent-tool" });
}

/** Runs calls of a runtime: `haft.execute` under the documents' name. */
export class ToolExecutor {
  /** As `haft.execute`. */
  readonly execute: Execute;
  readonly #haft: Haft;

  constructor(haft: Haft) {
    this.#haft = haft;
    this.execute = haft.execute;
  }

  /** As `haft.executeMany`. */
  executeMany(calls: readonly BatchCall[], options?: CallOptions): Promise<ToolResult[]> {
    return this.#haft.executeMany(calls, options);
  }
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
  addTool(tool: AnyTool): void {
    this.add(tool);
  }

  /** Adds several tools. */
  addTools(tools: Iterable<AnyTool>): void {
    for (const tool of tools) this.add(tool);
  }

  /** As `get`. */
  getTool(name: string): AnyTool | undefined {
    return this.get(name);
  }

  /** As `list`. */
  listTools(): AnyTool[] {
    return this.list();
  }

  /** As `execute`. */
  executeTool(name: string, params?: unknown, options?: CallOptions): Promise<ToolResult> {
    return this.execute(name, params, options);
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

/** A registry with the documents' names. Pass it to `createHaft({ registry })`. */
export class ToolRegistry extends Registry {
  readonly #toolkits = new Map<string, AgentToolkit>();
  readonly #onRemoved = new Set<Listener<RegistryEvent>>();

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
  registerToolToLibrary(tool: Registrable | ForeignTool): AnyTool {
    return this.register(adopt(tool));
  }

  /** As `register`, for a tool that a server brought. */
  registerMcpTool(candidate: Registrable | ForeignTool): AnyTool {
    const tool = adopt(candidate);
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

  /** Also takes `toolRegistered` and `toolUnregistered`, which give the tool itself. */
  override on(type: "toolRegistered" | "toolUnregistered", listener: Listener<RegistryEvent>): () => void;
  override on<T extends "tool_registered" | "tool_unregistered">(type: T, listener: Listener<EventOf<T>>): () => void;
  override on(type: string, listener: Listener<never>): () => void {
    const listenToTools = listener as Listener<RegistryEvent>;
    if (type === "toolRegistered") {
      return super.on("tool_registered", ({ toolName }) => notify(listenToTools, this.require(toolName)));
    }
    // Also reports a name that does not exist.
    if (type !== "toolUnregistered") return this.events.on(type as ToolEventType, listener);
    this.#onRemoved.add(listenToTools);
    return () => void this.#onRemoved.delete(listenToTools);
  }

  /** The definitions of its tools for a model; `haft.toLLMTools` also applies policy. */
  toLLMTools(options?: DeclarationOptions): FunctionDeclaration[] {
    return declare(this.list(), options);
  }

  /** As `toLLMTools({ mode })`. */
  getFunctionDeclarationsByMode(mode?: string): FunctionDeclaration[] {
    return this.toLLMTools({ mode });
  }

  /** As `haft.toolkit`. An unknown name is an error. */
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
