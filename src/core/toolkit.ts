import type { CallOptions, Execute, ToolScope } from "./call.ts";
import { gateOf } from "./gate.ts";
import type { AnyTool } from "./tool.ts";

/** The tools of one agent: any other name is refused. `haft.tools.toolkit()` makes one that runs in that runtime. */
export class AgentToolkit implements ToolScope {
  readonly #tools = new Map<string, AnyTool>();
  readonly #aliases = new Map<string, AnyTool>();

  constructor(
    /** The agent's name; its calls have this caller. */
    readonly agentName: string,
  ) {}

  /** Adds a tool under its name and aliases. */
  add(tool: AnyTool): void {
    this.#tools.set(tool.name, tool);
    for (const alias of tool.aliases) this.#aliases.set(alias, tool);
  }

  /** By name or alias. */
  get(name: string): AnyTool | undefined {
    return this.#tools.get(name) ?? this.#aliases.get(name);
  }

  /** The names of its tools, without aliases. */
  names(): string[] {
    return [...this.#tools.keys()];
  }

  /** Its tools, in the order in which they were added. */
  list(): AnyTool[] {
    return [...this.#tools.values()];
  }

  /** The message for a model that calls a name that is not in the toolkit. */
  refusal(name: string): string {
    return `Tool '${name}' not available in ${this.agentName}'s toolkit`;
  }

  /** Runs a call in this toolkit, on behalf of its agent. The gate also records a refused call. */
  readonly execute: Execute = ((target: AnyTool | string, input?: unknown, options: CallOptions = {}) => {
    const tool = typeof target === "string" ? this.get(target) : target;
    const caller = { agent: this.agentName, ...options.caller };
    return gateOf(this, tool).execute(target, input, { ...options, caller }, { scope: this });
  }) as Execute;
}
