import { dirname } from "node:path";
import { toolError } from "../core/error.ts";
import type { Files } from "./files.ts";
import { type EntryState, hashOf, isSameState } from "./undo-journal.ts";
import type { UndoStep } from "./undo-plan.ts";
import type { UndoStore } from "./undo-store.ts";
import type { FoundEntry } from "./undo-primitives.ts";

/** Makes one step, if what it was planned for still stands there. Whatever it replaces is journalled by `files`. */
export async function applyStep(step: UndoStep, files: Files, store: UndoStore): Promise<void> {
  if (step.do === "move") {
    await requireState(step.from, step.state, files);
    await files.move(step.from, step.to, { createParents: false });
    return;
  }
  const { path, to } = step;
  const bytes = to.kind === "file" ? await keptContent(to, files.show(path), store) : undefined;
  const found = await requireState(path, step.from, files);
  if (bytes && found.state.kind === "file") {
    await files.writeFileAtomic(path, bytes, { ifStamp: found.stamp });
    return;
  }
  if (found.state.kind === "directory") await files.deleteDirectory(path);
  else if (found.state.kind !== "absent") await files.deleteFile(path);
  if (to.kind === "absent") return;
  if (bytes && to.kind === "file") await files.writeFileAtomic(path, bytes, { ifAbsent: true, mode: to.mode });
  else if (to.kind === "directory" || to.kind === "symlink") {
    await files.makeDirectories(dirname(path));
    await files.makeEntry(path, to);
  }
}

async function requireState(path: string, expected: EntryState, files: Files): Promise<FoundEntry> {
  const found = await files.entry(path);
  if (found.real === path && (isSameState(found.state, expected) || isOther(found.state, expected))) return found;
  throw toolError("stale", `"${files.show(path)}" was changed by someone else while it was being undone`, {
    next: "Look at it, then undo again.",
  });
}

/** Of a FIFO or a device nothing can be compared; only a forced undo removes one. */
function isOther(a: EntryState, b: EntryState): boolean {
  return a.kind === "other" && b.kind === "other";
}

async function keptContent(
  { hash = "" }: Extract<EntryState, { kind: "file" }>,
  shown: string,
  store: UndoStore,
): Promise<Buffer> {
  const bytes = await store.content(hash);
  if (bytes && hashOf(bytes) === hash) return bytes;
  throw toolError("failed", `The old content of "${shown}" is ${bytes ? "damaged" : "missing"} in the undo journal`, {
    next: "It cannot be put back from here; look for another copy, such as version control.",
  });
}
