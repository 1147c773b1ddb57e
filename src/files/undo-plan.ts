import { dirname } from "node:path";
import { ToolError } from "../core/error.ts";
import { type EntryState, isSameState } from "./undo-journal.ts";
import type { RecordedChange } from "./undo-store.ts";
import type { TreeView } from "./undo-view.ts";

/** One move of an undo, with what must stand there when it is made. */
export type UndoStep =
  | { do: "set"; path: string; from: EntryState; to: EntryState }
  | { do: "move"; from: string; to: string; state: EntryState };

export interface UndoConflict {
  change: RecordedChange;
  path: string;
  reason: "changed" | "not_empty" | "occupied" | "folder_gone" | "not_kept" | "denied";
  /** What the change left there, and what is there now. */
  expected: EntryState;
  found: EntryState;
  why?: string;
}

export interface UndoPlan {
  steps: UndoStep[];
  conflicts: UndoConflict[];
}

interface Planning {
  view: TreeView;
  force: boolean;
  steps: UndoStep[];
}

/**
 * Newest first. A change is taken back where its new state stands, and passed over where its old one does: its process
 * died before it happened, or somebody has put things right by hand.
 */
export async function planUndo(
  changes: readonly RecordedChange[],
  view: TreeView,
  { force = false } = {},
): Promise<UndoPlan> {
  const conflicts: UndoConflict[] = [];
  const steps: UndoStep[] = [];
  for (const change of changes) {
    if (change.abandoned) continue;
    const planning = { view, force, steps };
    try {
      const conflict = await (change.kind === "move" ? planMoveUndo(change, planning) : planSet(change, planning));
      if (conflict) conflicts.push(conflict);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      const { path, next } = change;
      conflicts.push({ change, path, reason: "denied", expected: next, found: { kind: "other" }, why: error.message });
    }
  }
  return { steps, conflicts };
}

async function planSet(change: RecordedChange, planning: Planning): Promise<UndoConflict | undefined> {
  const { path, old, next } = change;
  if (isSameState(old, next)) return undefined;
  const found = await planning.view.stateAt(path);
  const fault = (reason: UndoConflict["reason"]): UndoConflict => ({ change, path, reason, expected: next, found });
  if (!isSameState(found, next)) {
    if (isSameState(found, old)) return undefined;
    if (!planning.force) return fault("changed");
  }
  return set(path, found, old, planning, fault);
}

async function planMoveUndo(change: RecordedChange, planning: Planning): Promise<UndoConflict | undefined> {
  const { path, to = path, old, next } = change;
  const { view, steps } = planning;
  const source = await view.stateAt(to);
  const target = await view.stateAt(path);
  const fault = (reason: UndoConflict["reason"], at: string, found: EntryState): UndoConflict => ({
    change,
    path: at,
    reason,
    expected: at === path ? { kind: "absent" } : next,
    found,
  });
  // The same name in other letters, where names ignore case: one file is found under both.
  const isRespelled = path.toLowerCase() === to.toLowerCase();
  if (!isRespelled && isSameState(target, next)) {
    if (isSameState(source, old)) return undefined;
    // Interrupted after it was moved back, before what it had replaced was.
    if (source.kind === "absent") return set(to, source, old, planning, (reason) => fault(reason, to, source));
  }
  if (!isSameState(source, next) && !(planning.force && source.kind === next.kind)) return fault("changed", to, source);
  if (!isRespelled && target.kind !== "absent") return fault("occupied", path, target);
  if ((await view.stateAt(dirname(path))).kind !== "directory") return fault("folder_gone", path, target);
  steps.push({ do: "move", from: to, to: path, state: source });
  view.assume({ do: "move", from: to, to: path });
  if (old.kind === "absent") return undefined;
  return set(to, { kind: "absent" }, old, planning, (reason) => fault(reason, to, source));
}

async function set(
  path: string,
  from: EntryState,
  to: EntryState,
  { view, force, steps }: Planning,
  fault: (reason: UndoConflict["reason"]) => UndoConflict,
): Promise<UndoConflict | undefined> {
  if (to.kind === "other" || (to.kind === "file" && to.hash === undefined)) return fault("not_kept");
  // Not even by force: what is inside is nobody's to lose here.
  if (from.kind === "directory" && (await view.childrenOf(path)).length > 0) return fault("not_empty");
  const isFolderThere = to.kind === "absent" || (await view.stateAt(dirname(path))).kind === "directory";
  if (!isFolderThere && !force) return fault("folder_gone");
  steps.push({ do: "set", path, from, to });
  view.assume({ do: "set", path, state: to });
  return undefined;
}
