import { createHash } from "node:crypto";
import { toolError } from "../core/error.ts";

export type EntryKind = "file" | "directory" | "symlink" | "other";

/** What stands at a path, without its content. A file that was too large to be read is known by its time of change. */
export type EntryState =
  | { kind: "absent" }
  | { kind: "file"; hash?: string; size: number; mode?: number; modified?: string }
  | { kind: "directory"; mode?: number }
  | { kind: "symlink"; target: string }
  | { kind: "other" };

/** On whose behalf a change is made. */
export interface ChangeMaker {
  callId?: string;
  session?: string;
  user?: string;
  agent?: string;
  tool?: string;
}

/** What a change is about to destroy, told before it happens; enough to put it back. */
export interface FileChange extends ChangeMaker {
  kind: "write" | "delete" | "move" | "make_directory" | "make_link";
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
  /** What will stand there once it has happened; `bytes` where they are worth keeping. */
  next: EntryState & { bytes?: Uint8Array };
}

/** The store keeps the durable one. */
export interface UndoJournal {
  /** A change whose `before` rejects does not happen. Answers the name under which it is kept. */
  before(change: FileChange): Promise<string | void>;
  /** The change did not happen after all. One of which this is never told has happened, or its process has died. */
  abandoned?(id: string): Promise<void>;
}

/** Larger content is not journalled, and the journal is told so. */
export const MAX_UNDO_BYTES = 64 * 1024 * 1024;

/** Records, or says that nothing was changed because it could not be recorded. */
export async function recordChange(
  { journal, callId, session, user, agent, tool }: ChangeMaker & { journal: UndoJournal },
  change: Omit<FileChange, keyof ChangeMaker>,
): Promise<{ abandon(): Promise<void> }> {
  let id: string | void;
  try {
    id = await journal.before({ callId, session, user, agent, tool, ...change });
  } catch (cause) {
    throw toolError("not_recorded", "The change could not be recorded for undo, so nothing was changed", {
      next: "Try again later; if it persists, tell the user that the undo journal fails.",
      cause,
    });
  }
  return {
    // A journal that cannot note it finds out at the undo: the file is then not as the change would have left it.
    abandon: async () => (id === undefined ? undefined : journal.abandoned?.(id).catch(() => {})),
  };
}

export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** What a write of these bytes leaves behind. */
export function fileOf(bytes: Uint8Array): EntryState & { bytes?: Uint8Array } {
  const { byteLength: size } = bytes;
  return size > MAX_UNDO_BYTES ? { kind: "file", size } : { kind: "file", hash: hashOf(bytes), size, bytes };
}

/** What stood there before a change, as a state. */
export function stateBefore({ was, old, mode, linkTarget }: OldEntry): EntryState {
  const bits = mode === undefined ? {} : { mode };
  switch (was) {
    case "file":
      return { kind: "file", ...(old && { hash: hashOf(old) }), size: old?.byteLength ?? -1, ...bits };
    case "directory":
      return { kind: "directory", ...bits };
    case "symlink":
      return { kind: "symlink", target: linkTarget ?? "" };
    default:
      return { kind: was };
  }
}

export type OldEntry = Pick<FileChange, "was" | "old" | "omitted" | "mode" | "linkTarget">;

/** Permissions apart: no tool changes them, so that where they differ somebody else wanted them so. */
export function isSameState(a: EntryState, b: EntryState): boolean {
  if (a.kind === "file" && b.kind === "file") {
    if (a.hash !== undefined || b.hash !== undefined) return a.hash === b.hash;
    return a.modified !== undefined && a.modified === b.modified && a.size === b.size;
  }
  if (a.kind === "symlink" && b.kind === "symlink") return a.target === b.target;
  return a.kind === b.kind && a.kind !== "other";
}
