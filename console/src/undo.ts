import type { UndoConflict, UndoOutcome, UndoRequest } from "../../src/contracts/undo.ts";
import { api, ApiError } from "./api.ts";
import { createStore } from "./store.ts";

export interface Question {
  conflicts: readonly UndoConflict[];
  decide: (discards: boolean) => void;
}

/** What must be asked before a later change is discarded. One question for the whole console. */
const question = createStore<Question | undefined>(undefined);
export const useUndoQuestion = question.use;

export function setQuestion(next: Question | undefined): void {
  question.get()?.decide(false);
  question.set(next);
}

/** Undoes, and asks first if that discards a later change. Undefined: the person kept the later change. */
export function undo(request: UndoRequest): Promise<UndoOutcome | undefined> {
  return runOrAsk((force) => api.undo.run({ ...request, force }));
}

/** Makes the changes again that an undo has taken back. It asks as `undo` does. */
export function redo(undoId: string): Promise<UndoOutcome | undefined> {
  return runOrAsk((force) => api.undo.redo({ undo: undoId, force }));
}

async function runOrAsk(run: (force?: true) => Promise<UndoOutcome>): Promise<UndoOutcome | undefined> {
  let shown = "";
  for (;;) {
    try {
      return await run();
    } catch (error) {
      const conflicts = conflictsOf(error);
      if (conflicts.length === 0) throw error;
      // What is discarded is what was shown: a file that has changed again is shown again.
      if (JSON.stringify(conflicts) === shown) return run(true);
      shown = JSON.stringify(conflicts);
      if (!(await new Promise<boolean>((decide) => setQuestion({ conflicts, decide })))) return undefined;
    }
  }
}

function conflictsOf(error: unknown): UndoConflict[] {
  if (!(error instanceof ApiError) || error.code !== "stale") return [];
  const { conflicts } = Object(error.data) as { conflicts?: UndoConflict[] };
  return Array.isArray(conflicts) ? conflicts : [];
}
