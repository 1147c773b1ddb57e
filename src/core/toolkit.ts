import type { CallOptions, ToolScope } from "./call.ts";
import { declarationOf, type FunctionDeclaration } from "./definition.ts";
import type { ToolResult } from "./result.ts";
import { type AnyTool, defaultGate, type DialectName, gateOf, type ToolGate } from "./tool.ts";

/** What one agent may use. A name that is not in it is refused, whatever the registry knows. */
export class AgentToolkit implements ToolScope {
  readonly #tools = new Map<string, AnyTool>();
  readonly #aliases = new Map<string, AnyTool>();
  readonly #gate: ToolGate | undefined;

  constructor(
    readonly agentName: string,
    gate?: ToolGate,
  ) {
    this.#gate = gate;
  }

  addTool(tool: AnyTool): void {
    this.#tools.set(tool.name, tool);
    for (const alias of tool.aliases) this.#aliases.set(alias, tool);
  }

  addTools(tools: Iterable<AnyTool>): void {
    for (const tool of tools) this.addTool(tool);
  }

  getTool(name: string): AnyTool | undefined {
    return this.#tools.get(name) ?? this.#aliases.get(name);
  }

  get(name: string): AnyTool | undefined {
    return this.getTool(name);
  }

  names(): string[] {
    return [...this.#tools.keys()];
  }

  listTools(): AnyTool[] {
    return [...this.#tools.values()];
  }

  refusal(name: string): string {
    return `Tool '${name}' not available in ${this.agentName}'s toolkit`;
  }

  toLLMTools(options: { dialect?: DialectName; mode?: string } = {}): FunctionDeclaration[] {
    return this.listTools()
      .filter((tool) => options.mode !== "plan" || tool.isReadOnly)
      .map((tool) => declarationOf(tool, options.dialect));
  }

  /** Through the gate, which records a refused call as well. */
  executeTool(name: string, params: unknown = {}, options: CallOptions = {}): Promise<ToolResult> {
    const tool = this.getTool(name);
    const gate = this.#gate ?? (tool ? gateOf(tool) : defaultGate());
    return gate.executeIn(this, name, params, { ...options, caller: { agent: this.agentName, ...options.caller } });
  }
}
