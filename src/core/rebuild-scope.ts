import type { ToolScope } from "./call.ts";
import type { AnyTool } from "./tool.ts";

/** A toolkit again, from its names, for a call that goes on after its process or its toolkit is gone. */
export function rebuildScope(
  names: readonly string[],
  registry: { get(name: string): AnyTool | undefined },
): ToolScope {
  const admitted = new Set(names);
  return {
    get(name) {
      const tool = registry.get(name);
      return tool && admitted.has(tool.name) ? tool : undefined;
    },
    names: () => names,
    refusal: (name) => `Tool '${name}' not available in the toolkit that the call was made in`,
  };
}
