import type { BatchCall, CallOptions, ToolScope } from "./call.ts";
import type { ToolResult } from "./result.ts";
import type { AnyTool } from "./tool.ts";

/** A gate as tools and toolkits see it: the ways in that are not by registered name. */
export interface ToolGate {
  executeTool(tool: AnyTool, input: unknown, options?: CallOptions): Promise<ToolResult>;
  /** By name, among the tools of `scope` only. */
  executeIn(scope: ToolScope, name: string, input: unknown, options?: CallOptions): Promise<ToolResult>;
  /** Several at once, each after those of the batch that its tool depends on; results in call order. */
  executeManyIn(scope: ToolScope, calls: readonly BatchCall[], options?: CallOptions): Promise<ToolResult[]>;
}

const gates = new WeakMap<AnyTool, ToolGate>();
let makeDefaultGate: (() => ToolGate) | undefined;

/** A registered tool runs through its own runtime's gate, so that its policy holds there too. The first runtime stays. */
export function bindGate(tool: AnyTool, gate: ToolGate): void {
  if (!gates.has(tool)) gates.set(tool, gate);
}

export function unbindGate(tool: AnyTool, gate: ToolGate): void {
  if (gates.get(tool) === gate) gates.delete(tool);
}

/** Said once by the composition root, which alone can build a gate. */
export function provideDefaultGate(make: () => ToolGate): void {
  makeDefaultGate = make;
}

export function gateOf(tool: AnyTool): ToolGate {
  return gates.get(tool) ?? defaultGate();
}

export function defaultGate(): ToolGate {
  if (!makeDefaultGate)
    throw new Error('No runtime to run tools in. Import "haft", or register the tool in a runtime.');
  return makeDefaultGate();
}
