import type { AnyTool, DialectName } from "../core/tool.ts";

/** The family of models that the tour speaks to: its names are Read, Edit, Write, Glob, Grep and Bash. */
export const DIALECT: DialectName = "claude";

/** What a model of that family calls the tool; it answers to its other names as well. */
export function shownName(tool: AnyTool): string {
  return tool.getFunctionDeclaration(DIALECT).name;
}

export function shownNames(tools: readonly AnyTool[]): string {
  return tools.map(shownName).join(", ");
}
