import { ApiError } from "./api.ts";

/** A file that was changed after the call, so nothing was undone. A person may discard the later change. */
export interface UndoConflict {
  path: string;
  why: string;
  /** Of the later change. Empty if it cannot be shown. */
  diff: string;
}

/** Empty if the problem is another one. */
export function undoConflicts(problem: Error | undefined): UndoConflict[] {
  if (!(problem instanceof ApiError) || problem.code !== "stale") return [];
  const { conflicts } = Object(problem.data) as { conflicts?: unknown };
  if (!Array.isArray(conflicts)) return [];
  return conflicts.map((each: Partial<UndoConflict>) => ({
    path: String(each.path),
    why: String(each.why),
    diff: String(each.diff ?? ""),
  }));
}
