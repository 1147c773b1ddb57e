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
import { checkKeys, keysOf } from "./core/options.ts";
import { ToolRegistry as Registry } from "./core/registry.ts";
import type { AnyTool } from "./core/tool.ts";
import { MCPClient as Client, type MCPTool } from "./mcp/client/mcp-client.ts";
import { type ToolCaller, wrapMCPTool as wrapServerTool } from "./mcp/client/mcp-tool.ts";
import { type ResultView, viewResult } from "./compat/results.ts";
import { createHaft, type Haft } from "./runtime.ts";
import { isObject, type JsonSchema } from "./schema/json-schema.ts";

export { AgentToolkit, ToolRegistry } from "./compat/registry.ts";
export type { CallEvents, DeclarationOptions, RegistryEvent } from "./compat/registry.ts";
export { ToolResult, viewResult } from "./compat/results.ts";
export type { ResultView, ToolContext } from "./compat/results.ts";
export { toClientToolDefinitions, toToolDefinitions } from "./compat/tool-definitions.ts";
export type { ToolDefinition } from "./compat/tool-definitions.ts";
export { parse_tool_calls, parseToolCalls, ToolPromptGenerator, XMLToolCallParser } from "./compat/tool-definitions.ts";
export type { ToolCall, XMLToolCall } from "./compat/tool-definitions.ts";
export { BaseTool, createTool, fromAgentTool, ToolParameter, viewTool } from "./compat/tools.ts";
export type {
  AgentTool,
  AgentToolResult,
  AgentToolUpdateCallback,
  AnyAgentTool,
  BaseToolOptions,
  ITool,
  Tool,
  ViewedTool,
} from "./compat/tools.ts";
export { toCategory, ToolCategory } from "./core/category.ts";
export {
  ToolError,
  ToolNotFoundError,
  ToolPermissionError,
  ToolTimeoutError,
  ToolValidationError,
} from "./core/error.ts";
export { jsonResult } from "./core/result.ts";
export type { ToolStats } from "./core/registry.ts";
export type { FunctionDeclaration, ToolCallDefinition } from "./core/definition.ts";
export { ToolKind, ToolPermission } from "./core/tool.ts";
export type { ToolDescription } from "./core/tool.ts";
export { expandToolGroups, normalizeToolName, TOOL_GROUPS } from "./gate/permit/tool-groups.ts";
export { isToolAllowedByPolicy } from "./gate/permit/tool-policy.ts";
export { isPathAllowed } from "./io/files/path-name.ts";
export type { ClientToolDefinition } from "./models/frameworks/tool-definitions.ts";
export { writeToolInstructions as generateToolInstruction } from "./models/text/tool-instructions.ts";

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

/** A client of one MCP server. Every tool that it lists has a description. */
export class MCPClient extends Client {
  /** All tools, sorted by name. */
  override async listTools(): Promise<(MCPTool & { description: string })[]> {
    return (await super.listTools()).map((tool) => ({ ...tool, description: tool.description ?? "" }));
  }
}

/**
 * Makes a tool of a tool of an MCP server. The client may be any object that calls tools: without a `serverName` its tools are
 * named after the server "unnamed", and without `trusted` its annotations are not believed.
 */
export function wrapMCPTool(mcpTool: ListedTool, client: Pick<ToolCaller, "callTool"> & Partial<ToolCaller>): AnyTool;
export function wrapMCPTool(mcpTool: ListedTool, client: { callTool(name: string, args: unknown): unknown }): AnyTool;
export function wrapMCPTool(
  mcpTool: ListedTool,
  client: Partial<Omit<ToolCaller, "callTool">> & { callTool(...args: Parameters<ToolCaller["callTool"]>): unknown },
): AnyTool {
  return wrapServerTool(mcpTool as MCPTool, {
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

/** What is needed of a tool that a server lists. */
type ListedTool = MCPTool | { name: string; description?: string; inputSchema: JsonSchema };
