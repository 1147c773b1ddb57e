import type { Clock } from "../../core/clock.ts";
import { errorMessage, toolError } from "../../core/error.ts";
import type { ToolRegistry } from "../../core/registry.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { McpServerConfig } from "../server-config.ts";
import {
  createDefinitionReview,
  type DefinitionReview,
  ENTRY_PIN,
  LAUNCH_PIN,
  type Pin,
  type PinStore,
} from "./tool-pinning.ts";
import type { MCPTool } from "./mcp-client.ts";
import type { McpToolStatus } from "./mcp-hub.ts";
import { definitionHash, definitionText, shownDifference, shownText } from "./tool-definition.ts";
import { titleOf, type ToolCaller, wrapMCPTool } from "./mcp-tool.ts";
import { readAnnotations } from "./tool-annotations.ts";

export interface ServerToolsOptions {
  config: McpServerConfig;
  caller: ToolCaller;
  registry: Pick<ToolRegistry, "register" | "unregister" | "get">;
  pins: PinStore;
  /** The definition of a tool in the lock file of the folder. Undefined if the file does not name the server. */
  locked?: LockedDefinition;
  clock: Clock;
}

export type LockedDefinition = (server: string, tool: string) => Pick<Pin, "hash" | "definition"> | undefined;

interface Entry {
  facts: Pick<McpToolStatus, "title" | "description" | "annotations">;
  definition: string;
  hash: string;
  tool?: AnyTool;
  review?: DefinitionReview;
  /** The difference from the approved definition. */
  difference?: string;
  refused?: string;
  isRegistered: boolean;
}

/** The tools of one server in the registry: those of its last list that are usable and enabled. */
export class ServerTools {
  readonly #options: ServerToolsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #disabled = new Set<string>();
  readonly #pins = new Map<string, Pin>();
  #isRecalled = false;

  constructor(options: ServerToolsOptions) {
    this.#options = options;
  }

  /** Registers the approved tools of earlier runs before the server has answered. */
  async recall(): Promise<void> {
    if (this.#isRecalled) return;
    this.#isRecalled = true;
    const { config, pins } = this.#options;
    for (const name of await pins.switchedOff(config.name)) this.#disabled.add(name);
    for (const pin of await pins.list(config.name)) {
      if (pin.tool !== LAUNCH_PIN && pin.tool !== ENTRY_PIN) this.#pins.set(pin.tool, pin);
    }
    for (const { tool, definition } of this.#pins.values()) {
      if (this.#isIncluded(tool)) await this.#take(parseDefinition(definition));
    }
  }

  async update(listed: readonly MCPTool[]): Promise<void> {
    const included = new Map<string, MCPTool>();
    // If two tools have the same name, the second is ignored.
    for (const mcpTool of listed) {
      if (this.#isIncluded(mcpTool.name) && !included.has(mcpTool.name)) included.set(mcpTool.name, mcpTool);
    }
    for (const [name, entry] of this.#entries) {
      if (included.has(name)) continue;
      this.#unregister(entry);
      this.#entries.delete(name);
    }
    for (const mcpTool of included.values()) await this.#take(mcpTool);
  }

  /** Takes effect at once; when it resolves, it is also stored for later starts. */
  async setEnabled(name: string, isEnabled: boolean): Promise<void> {
    const entry = this.#entries.get(name);
    if (isEnabled) this.#disabled.delete(name);
    else this.#disabled.add(name);
    if (entry && isEnabled) this.#register(name, entry);
    else if (entry) {
      this.#unregister(entry);
      entry.isRegistered = false;
    }
    const { config, pins } = this.#options;
    await pins.switchTool(config.name, name, isEnabled);
  }

  /** Returns false if there is no such tool. Rejects if `hash` is not the hash of the current definition. */
  async approve(name: string, hash?: string): Promise<boolean> {
    const entry = this.#entries.get(name);
    if (!entry?.review) return false;
    if (hash !== undefined && hash !== entry.hash) {
      throw toolError("conflict", `The definition of "${shownText(name, 100)}" has changed since it was shown`, {
        next: "Look at it again, and approve the current one.",
        data: { hash: entry.hash },
      });
    }
    await entry.review.approve();
    return true;
  }

  status(isAvailable: boolean): McpToolStatus[] {
    return Array.from(this.#entries, ([name, { tool, review, refused, isRegistered, hash, difference, facts }]) => ({
      name: shownText(name, 100),
      ...facts,
      exposedName: tool?.name,
      isAvailable: isAvailable && isRegistered,
      isEnabled: !this.#disabled.has(name),
      review: review?.state,
      hash: review ? hash : undefined,
      difference: review?.state === "changed" ? difference : undefined,
      lock: this.#lockState(name, hash),
      refused,
    }));
  }

  #lockState(tool: string, hash: string): McpToolStatus["lock"] {
    const { config, locked } = this.#options;
    const found = locked?.(config.name, tool);
    if (!found) return undefined;
    if (found.hash === hash) return "same";
    return found.hash === "" ? "missing" : "differs";
  }

  /** The definitions of all its tools, also of those that are disabled or cannot be used. */
  definitions(): string[] {
    return Array.from(this.#entries.values(), ({ definition }) => definition);
  }

  /** Removes all tools from the registry. */
  clear(): void {
    for (const entry of this.#entries.values()) this.#unregister(entry);
    this.#entries.clear();
    this.#isRecalled = false;
  }

  #isIncluded(name: string): boolean {
    const { includeTools, excludeTools } = this.#options.config;
    return (includeTools === undefined || includeTools.includes(name)) && !excludeTools?.includes(name);
  }

  async #take(mcpTool: MCPTool): Promise<void> {
    const { name } = mcpTool;
    const before = this.#entries.get(name);
    const entry: Entry = { facts: factsOf(mcpTool), definition: "", hash: "", isRegistered: false };
    try {
      entry.definition = definitionText(mcpTool);
      if (before?.definition === entry.definition) return;
      entry.hash = definitionHash(entry.definition);
      await this.#review(mcpTool, entry);
    } catch (error) {
      entry.refused = messageOf(error);
    }
    if (before) this.#unregister(before);
    this.#entries.set(name, entry);
    this.#register(name, entry);
  }

  async #review(mcpTool: MCPTool, entry: Entry): Promise<void> {
    const { config, caller, pins, clock } = this.#options;
    const { name } = mcpTool;
    const { definition } = entry;
    const review = createDefinitionReview({
      server: config.name,
      tool: name,
      definition,
      hash: entry.hash,
      pin: this.#pins.get(name) ?? this.#lockedPin(name, entry.hash),
      clock,
      save: (pin) => {
        this.#pins.set(name, pin);
        return pins.put(pin);
      },
    });
    // Trust in a server approves its current tools, not later changes.
    if (config.trust && review.state === "new") await review.approve();
    entry.review = review;
    if (review.before !== undefined) entry.difference = (await shownDifference(name, review.before, definition)).whole;
    entry.tool = wrapMCPTool(mcpTool, caller, { review, timeoutMs: config.timeoutMs });
  }

  /** Nobody here has approved the tool: it counts as changed if the lock file of the folder has another definition, or none. */
  #lockedPin(tool: string, hash: string): Pin | undefined {
    const { config, locked } = this.#options;
    const found = locked?.(config.name, tool);
    if (!found || found.hash === hash) return undefined;
    return { server: config.name, tool, ...found, pinnedAt: 0 };
  }

  #register(name: string, entry: Entry): void {
    if (!entry.tool || entry.isRegistered || this.#disabled.has(name)) return;
    try {
      this.#options.registry.register(entry.tool);
      entry.isRegistered = true;
    } catch (error) {
      entry.refused = messageOf(error);
    }
  }

  #unregister({ tool, isRegistered }: Entry): void {
    // Another tool may have taken the name since.
    const { registry } = this.#options;
    if (tool && isRegistered && registry.get(tool.name) === tool) registry.unregister(tool.name);
  }
}

/** Parses a definition that `definitionText` wrote. */
function parseDefinition(definition: string): MCPTool {
  return JSON.parse(definition);
}

const MAX_DESCRIPTION_LENGTH = 1000;

function factsOf(mcpTool: MCPTool): Entry["facts"] {
  const { description } = mcpTool;
  return {
    title: titleOf(mcpTool),
    description: description === undefined ? undefined : shownText(description, MAX_DESCRIPTION_LENGTH),
    annotations: readAnnotations(mcpTool),
  };
}

function messageOf(error: unknown): string {
  return shownText(errorMessage(error), 1000);
}
