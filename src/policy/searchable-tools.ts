import type { CallAuthority, Caller } from "../core/call.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { AnyTool } from "../core/tool.ts";
import type { SessionGrants } from "./session-grants.ts";
import { isToolAllowed, type ToolPolicy } from "./tool-policy.ts";

export interface SearchableToolsOptions {
  registry: ToolRegistry;
  grants: SessionGrants;
  /** Which tools exist for a caller. */
  shownTo(caller: Partial<Caller>): (tool: AnyTool) => boolean;
}

/** What a call with this authority could call: nothing else is found, so that nothing else takes a place in a ranking. */
export function searchableTools({ registry, grants, shownTo }: SearchableToolsOptions) {
  return ({ caller, mode, policy = [] }: CallAuthority) => {
    const isShown = shownTo(caller);
    const layers = policy.map(admits);
    const ruleSet = grants.ruleSetOf(caller);
    const filter = (tool: AnyTool): boolean =>
      isShown(tool) &&
      (mode !== "plan" || tool.isReadOnly) &&
      layers.every((admitted) => admitted(tool)) &&
      !ruleSet.deniesAll(tool);
    return {
      search: (query: string, limit: number): readonly AnyTool[] => registry.search(query, { limit, filter }),
      get(name: string): AnyTool | undefined {
        const tool = registry.get(name);
        return tool && filter(tool) ? tool : undefined;
      },
      nearest: (name: string): readonly string[] => registry.nearest(name, filter),
    };
  };
}

/** A toolkit comes as a list of all its names, which may be thousands: those are looked up, and only the rest is matched. */
function admits(layer: ToolPolicy): (tool: AnyTool) => boolean {
  const { allow = [], deny, profile } = layer;
  const names = new Set(deny || profile !== undefined ? [] : allow);
  return (tool) => names.has(tool.name) || isToolAllowed(tool, layer);
}
