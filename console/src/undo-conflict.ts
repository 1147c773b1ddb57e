import { ApiError } from "./api.ts";

/** Nothing was undone, because a file was changed since. The message shows the differences. */
export function isUndoConflict(problem: Error | undefined): boolean {
  return problem instanceof ApiError && problem.code === "stale";
}
