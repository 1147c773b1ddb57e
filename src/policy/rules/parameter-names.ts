import type { AnyTool } from "../../core/tool.ts";

const known = new WeakMap<AnyTool, ReadonlySet<string>>();

/** The names of a tool's own parameters, as far as its schema lists them. */
export function propertyNames(tool: AnyTool): ReadonlySet<string> {
  let names = known.get(tool);
  if (!names) {
    const { properties } = tool.parameters.jsonSchema as { properties?: unknown };
    names = new Set(typeof properties === "object" && properties !== null ? Object.keys(properties) : []);
    known.set(tool, names);
  }
  return names;
}
