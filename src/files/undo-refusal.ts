import { toolError, type ToolError } from "../core/error.ts";
import type { Files } from "./files.ts";
import { diffConflict } from "./undo-diff.ts";
import type { UndoConflict } from "./undo-plan.ts";
import { isAtPath, type UndoStore } from "./undo-store.ts";

const MAX_SHOWN = 20;
const MAX_DIFF_CHARACTERS = 4_000;

const REASONS: Record<UndoConflict["reason"], string> = {
  changed: "was changed since",
  not_empty: "is a folder that other files have been put into since",
  occupied: "is where something else stands now",
  folder_gone: "lay in a folder that is gone",
  not_kept: "was too large, or of a kind that is not kept",
  denied: "may not be touched",
};

/** Says what stands in the way of an undo, by whom as far as that is known, with the difference. */
export async function refuseUndo(
  conflicts: readonly UndoConflict[],
  seen: { files: Files; store: UndoStore },
): Promise<ToolError> {
  const shown = await Promise.all(conflicts.slice(0, MAX_SHOWN).map((conflict) => show(conflict, seen)));
  const lines = shown.map(({ path, why, laterCalls, diff }) => {
    const by = laterCalls.length === 0 ? "" : ` (by ${laterCalls.map((call) => `call "${call}"`).join(", ")})`;
    return `"${path}" ${why}${by}${diff === "" ? "" : `:\n${diff.slice(0, MAX_DIFF_CHARACTERS)}`}`;
  });
  const more = conflicts.length > shown.length ? `\nand ${conflicts.length - shown.length} more` : "";
  return toolError("stale", `Nothing was undone. ${lines.join("\n")}${more}`, {
    next: "Undo the later calls first, or let a person decide whose version stays.",
    data: { conflicts: shown },
  });
}

async function show(conflict: UndoConflict, seen: { files: Files; store: UndoStore }) {
  const { change, path, reason } = conflict;
  const later = (await seen.store.list({ path })).filter(
    (other) =>
      other.order > change.order && !other.abandoned && isAtPath(other, path) && other.callId !== change.callId,
  );
  const laterCalls = [...new Set(later.flatMap(({ callId }) => (callId === undefined ? [] : [callId])))];
  const diff = reason === "changed" ? (await diffConflict(conflict, seen)).text : "";
  return { path: seen.files.show(path), reason, why: conflict.why ?? REASONS[reason], laterCalls, diff };
}
