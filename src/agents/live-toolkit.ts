import type { ToolRegistry } from "../core/registry.ts";
import type { AnyTool } from "../core/tool.ts";
import type { ToolGate } from "../core/tool-gate.ts";
import { AgentToolkit } from "../core/toolkit.ts";

export interface LiveToolkitOptions {
  registry: ToolRegistry;
  gate: ToolGate;
  holds?: (tool: AnyTool) => boolean;
}

/** A toolkit that is looked up when it is used: tools that a server brings later are in it, those that went are not. */
export class LiveToolkit extends AgentToolkit {
  readonly #registry: ToolRegistry;
  readonly #holds: (tool: AnyTool) => boolean;

  constructor(agentName: string, { registry, gate, holds = () => true }: LiveToolkitOptions) {
    super(agentName, gate);
    this.#registry = registry;
    this.#holds = holds;
  }

  override getTool(name: string): AnyTool | undefined {
    const tool = super.getTool(name) ?? this.#registry.get(name);
    return tool && this.#holds(tool) ? tool : undefined;
  }

  override listTools(): AnyTool[] {
    return [...new Set([...super.listTools(), ...this.#registry.list()])].filter(this.#holds);
  }

  override names(): string[] {
    return this.listTools().map(({ name }) => name);
  }
}
