import { BUILT_IN_TOOLS } from "../tools/built-in-tools.ts";

/** Whether a call of this tool may need an MCP server. */
export function usesMcp(tool: string): boolean {
  return tool.startsWith("mcp__") || BUILT_IN_TOOLS.some(({ name, usesOtherTools }) => name === tool && usesOtherTools);
}
