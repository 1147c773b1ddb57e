import type { ToolResult } from "../core/result.ts";

/** What a script can tell apart. Written down in the guide: numbers do not change. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unauthorized: 3,
  unreachable: 4,
  toolFailed: 5,
  denied: 6,
  pending: 7,
  interrupted: 130,
} as const;

export function exitCodeOf(result: ToolResult): number {
  if (result.status === "completed") return EXIT.done;
  if (result.status === "pending") return EXIT.pending;
  return result.error.actor === "policy" ? EXIT.denied : EXIT.toolFailed;
}
