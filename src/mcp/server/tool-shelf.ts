import type { Tool as ToolDefinition } from "@modelcontextprotocol/server";
import type { CallOptions, ToolScope } from "../../core/call.ts";
import { declarationOf } from "../../core/definition.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool } from "../../core/tool.ts";
import { describeTool } from "./describe-tool.ts";
import type { McpRuntime } from "./mcp-runtime.ts";
import type { McpServerOptions } from "./mcp-server-options.ts";
import { isMadePortable, toPortableName } from "./portable-name.ts";

/** The tools that clients of this server are shown, and may call. */
export class McpToolCatalog {
  readonly #runtime: McpRuntime;
  readonly #options: McpServerOptions;
  readonly #scope: ToolScope | undefined;
  /** Of each tool once: schemas are dear to convert, and are the same at every request. */
  readonly #definitions = new WeakMap<AnyTool, ToolDefinition>();

  constructor(runtime: McpRuntime, options: McpServerOptions) {
    this.#runtime = runtime;
    this.#options = options;
    const { shows } = options;
    this.#scope = shows && {
      get: (name) => {
        const tool = runtime.registry.get(name);
        return tool && shows(tool) ? tool : undefined;
      },
      names: () => this.#tools().map(({ name }) => name),
      refusal: (name) => `Tool "${name}" not found`,
    };
  }

  /** What one session lists: all, or where that is too much, a part of it. */
  listFor(session: string): ToolDefinition[] {
    if (!this.#options.defers) return this.definitions();
    const { tools } = this.#runtime.shownTools({ among: this.#tools(), caller: { session } });
    return tools.map((tool) => this.#definitionOf(tool));
  }

  /** In the same order each time, so that clients can keep them. */
  definitions(): ToolDefinition[] {
    return this.#tools()
      .map((tool) => this.#definitionOf(tool))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  find(shownName: string): AnyTool | undefined {
    const tool = (this.#scope ?? this.#runtime.registry).get(this.nameOf(shownName));
    return tool && this.#tools().includes(tool) ? tool : undefined;
  }

  call(shownName: string, input: unknown, options: CallOptions): Promise<ToolResult> {
    const name = this.nameOf(shownName);
    if (this.#scope) return this.#runtime.executor.executeIn(this.#scope, name, input, options);
    return this.#runtime.execute(name, input, options);
  }

  /** Under which the gate knows it: names that clients could not take were made portable. */
  nameOf(shownName: string): string {
    if (!isMadePortable(shownName) || this.#runtime.registry.get(shownName)) return shownName;
    const { dialect } = this.#options;
    const tool = this.#tools().find((each) => toPortableName(declarationOf(each, dialect).name) === shownName);
    return tool?.name ?? shownName;
  }

  #tools(): AnyTool[] {
    const { shows, call } = this.#options;
    // What one user's client brings is not for the others, who are shown the same shelf.
    const tools = this.#runtime
      .tools(call?.mode === undefined ? {} : { mode: call.mode })
      .filter(({ origin }) => origin.type !== "client" || origin.user === undefined);
    return shows ? tools.filter((tool) => shows(tool)) : tools;
  }

  #definitionOf(tool: AnyTool): ToolDefinition {
    let definition = this.#definitions.get(tool);
    if (!definition) this.#definitions.set(tool, (definition = describeTool(tool, this.#options)));
    return definition;
  }
}
