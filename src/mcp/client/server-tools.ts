import type { Clock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { ToolRegistry } from "../../core/registry.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { McpServerConfig } from "../server-config.ts";
import { createDefinitionReview, type DefinitionReview, type Pin, type PinStore } from "./tool-pinning.ts";
import type { MCPTool } from "./mcp-client.ts";
import type { McpToolStatus } from "./mcp-hub.ts";
import { definitionText, hashOf, shownDifference, shownText } from "./tool-definition.ts";
import { type ToolCaller, wrapMCPTool } from "./mcp-tool.ts";

export interface ServerToolsOptions {
  config: McpServerConfig;
  caller: ToolCaller;
  registry: Pick<ToolRegistry, "register" | "unregister" | "get">;
  pins: PinStore;
  clock: Clock;
}

/** The tools of one server in the registry: what was listed last, as far as it can be used and is switched on. */
export interface ServerTools {
  /** Before the server answers: what was approved in former times. */
  recall(): Promise<void>;
  update(listed: readonly MCPTool[]): Promise<void>;
  /** At once here, and for later starts when it resolves. */
  setEnabled(tool: string, isEnabled: boolean): Promise<void>;
  /** False where there is no such tool; refused where `hash` is not that of the definition as it is now. */
  approve(tool: string, hash?: string): Promise<boolean>;
  status(isAvailable: boolean): McpToolStatus[];
  /** Takes all of them out of the registry. */
  clear(): void;
}

interface Entry {
  hash: string;
  tool?: AnyTool;
  review?: DefinitionReview;
  /** From what was approved, of one that changed. */
  difference?: string;
  refused?: string;
  isRegistered: boolean;
}

export function createServerTools({ config, caller, registry, pins, clock }: ServerToolsOptions): ServerTools {
  const entries = new Map<string, Entry>();
  const switchedOff = new Set<string>();
  const pinned = new Map<string, Pin>();
  let isRecalled = false;

  const isWanted = (name: string): boolean =>
    (config.includeTools === undefined || config.includeTools.includes(name)) && !config.excludeTools?.includes(name);

  function register(name: string, entry: Entry): void {
    if (!entry.tool || entry.isRegistered || switchedOff.has(name)) return;
    try {
      registry.register(entry.tool);
      entry.isRegistered = true;
    } catch (error) {
      entry.refused = messageOf(error);
    }
  }

  function unregister({ tool, isRegistered }: Entry): void {
    // Another tool may have taken the name since.
    if (tool && isRegistered && registry.get(tool.name) === tool) registry.unregister(tool.name);
  }

  async function take(mcpTool: MCPTool): Promise<void> {
    const { name } = mcpTool;
    const before = entries.get(name);
    const entry: Entry = { hash: "", isRegistered: false };
    try {
      const definition = definitionText(mcpTool);
      entry.hash = hashOf(definition);
      if (before?.hash === entry.hash) return;
      const review = createDefinitionReview({
        server: config.name,
        tool: name,
        definition,
        hash: entry.hash,
        pin: pinned.get(name),
        clock,
        save(pin) {
          pinned.set(name, pin);
          return pins.put(pin);
        },
      });
      // Whoever trusts a server has approved what it is, not what it becomes.
      if (config.trust && review.state === "new") await review.approve();
      entry.review = review;
      if (review.before !== undefined) entry.difference = await shownDifference(name, review.before, definition);
      entry.tool = wrapMCPTool(mcpTool, caller, {
        review,
        timeoutMs: config.timeoutMs,
      });
    } catch (error) {
      entry.refused = messageOf(error);
    }
    if (before) unregister(before);
    entries.set(name, entry);
    register(name, entry);
  }

  return {
    async recall() {
      if (isRecalled) return;
      isRecalled = true;
      for (const name of await pins.switchedOff(config.name)) switchedOff.add(name);
      for (const pin of await pins.list(config.name)) if (pin.tool !== "") pinned.set(pin.tool, pin);
      for (const { tool, definition } of pinned.values()) {
        if (isWanted(tool)) await take(JSON.parse(definition) as MCPTool);
      }
    },
    async update(listed) {
      const wanted = new Map<string, MCPTool>();
      // The first of two with one name: the second is not heard of.
      for (const mcpTool of listed) {
        if (isWanted(mcpTool.name) && !wanted.has(mcpTool.name)) wanted.set(mcpTool.name, mcpTool);
      }
      for (const [name, entry] of entries) {
        if (wanted.has(name)) continue;
        unregister(entry);
        entries.delete(name);
      }
      for (const mcpTool of wanted.values()) await take(mcpTool);
    },
    async setEnabled(name, isEnabled) {
      const entry = entries.get(name);
      if (isEnabled) switchedOff.delete(name);
      else switchedOff.add(name);
      if (entry && isEnabled) register(name, entry);
      else if (entry) {
        unregister(entry);
        entry.isRegistered = false;
      }
      await pins.switchTool(config.name, name, isEnabled);
    },
    async approve(name, hash) {
      const entry = entries.get(name);
      if (!entry?.review) return false;
      if (hash !== undefined && hash !== entry.hash) {
        throw toolError("conflict", `The definition of "${shownText(name, 100)}" is no longer the one that was seen`, {
          next: "Look at it again, and approve what it is now.",
          data: { hash: entry.hash },
        });
      }
      await entry.review.approve();
      return true;
    },
    status: (isAvailable) =>
      Array.from(entries, ([name, { tool, review, refused, isRegistered, hash, difference }]) => ({
        name: shownText(name, 100),
        exposedName: tool?.name,
        isAvailable: isAvailable && isRegistered,
        isEnabled: !switchedOff.has(name),
        review: review?.state,
        hash: review ? hash : undefined,
        difference: review?.state === "changed" && difference !== undefined ? difference : undefined,
        refused,
      })),
    clear() {
      for (const entry of entries.values()) unregister(entry);
      entries.clear();
      isRecalled = false;
    },
  };
}

function messageOf(error: unknown): string {
  return shownText(error instanceof Error ? error.message : String(error), 1000);
}
