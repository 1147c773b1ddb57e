import type { Call } from "../core/call.ts";
import { ToolCategory } from "../core/category.ts";
import type { AnyTool } from "../core/tool.ts";

export interface Timeouts {
  defaultMs: number;
  networkMs: number;
  /** Nobody gets more: not a tool, not a caller. */
  maxMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = { defaultMs: 30_000, networkMs: 60_000, maxMs: 3_600_000 };

/** The call's own wish, then the tool's, then the category's; capped. */
export function timeoutOf(call: Call, tool: AnyTool, timeouts: Timeouts): number {
  const own = tool.limits.timeoutMs;
  const wish =
    call.options.timeoutMs ??
    (typeof own === "function" ? callTimeout(own, call.input) : own) ??
    (tool.category === ToolCategory.NETWORK ? timeouts.networkMs : timeouts.defaultMs);
  return wish > 0 ? Math.min(wish, timeouts.maxMs) : timeouts.defaultMs;
}

/** A tool that cannot say how long it takes gets the usual time. */
function callTimeout(own: (input: unknown) => number, input: unknown): number | undefined {
  try {
    return own(input);
  } catch {
    return undefined;
  }
}
