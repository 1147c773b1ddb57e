import { toolError } from "../core/error.ts";

export type EntryKind = "file" | "directory" | "symlink" | "other";

/** What a change is about to destroy, told before it happens; enough to put it back. */
export interface FileChange {
  callId?: string;
  kind: "write" | "delete" | "move" | "make_directory";
  /** Real absolute path; of a move the one that is left. */
  path: string;
  /** Where a move goes. */
  to?: string;
  /** What stood at `path` (at `to`, for a move). */
  was: EntryKind | "absent";
  /** The old content of a file; null where there was none, or where `omitted` says why. */
  old: Buffer | null;
  omitted?: "too_large";
  mode?: number;
  linkTarget?: string;
}

/** A change whose `before` rejects does not happen. The store keeps the durable one. */
export interface UndoJournal {
  before(change: FileChange): Promise<void>;
}

/** Forgets its oldest changes beyond `maxBytes` of old content, and everything when the process ends. */
export function createMemoryJournal({ maxBytes = 64 * 1024 * 1024 } = {}): UndoJournal & {
  readonly changes: readonly FileChange[];
} {
  const changes: FileChange[] = [];
  let held = 0;
  return {
    changes,
    before: async (change) => {
      changes.push(change);
      held += weigh(change);
      while (held > maxBytes && changes.length > 1) held -= weigh(changes.shift());
    },
  };
}

/** Records, or says that nothing was changed because it could not be recorded. */
export async function recordChange(journal: UndoJournal, change: FileChange): Promise<void> {
  try {
    await journal.before(change);
  } catch (cause) {
    throw toolError("not_recorded", "The change could not be recorded for undo, so nothing was changed", {
      next: "Try again later; if it persists, tell the user that the undo journal fails.",
      cause,
    });
  }
}

/** Each entry also counts for itself, so that a million empty changes are bounded too. */
function weigh(change: FileChange | undefined): number {
  return change === undefined ? 0 : 256 + (change.old?.byteLength ?? 0);
}
