import { declarationOf } from "./definition.ts";
import type { AnyTool } from "./tool.ts";

/** Everything that a tool says of itself, for hashes of its definition. Its code cannot be seen. */
export function definitionParts(tool: AnyTool): readonly unknown[] {
  const { name, version, kind, origin, labels, mode, aliases, dependsOn } = tool;
  return [declarationOf(tool), name, version, kind, origin, labels, mode, aliases, dependsOn];
}
