import { isUtf8 } from "node:buffer";
import type { Files } from "./files.ts";
import { isBinary } from "./is-binary.ts";
import { type EntryState, isSameState } from "./undo-journal.ts";
import type { UndoConflict, UndoStep } from "./undo-plan.ts";
import type { RecordedChange, UndoStore } from "./undo-store.ts";
import { unifiedDiff } from "./unified-diff.ts";

/** What becomes of one path. */
export interface FileDiff {
  /** As a model would name it. */
  path: string;
  /** Where it goes, when it is moved. */
  to?: string;
  /** One line: "changed", "created", "deleted", "moved to …", "folder made", … */
  what: string;
  /** Unified; empty where nothing can be shown as text. */
  text: string;
  binary: boolean;
  added: number;
  removed: number;
  truncated: boolean;
}

interface Seen {
  files: Files;
  store: UndoStore;
}

/** What changes did, each path once, from what stood there first to what stood there last. */
export async function diffChanges(newestFirst: readonly RecordedChange[], seen: Seen): Promise<FileDiff[]> {
  const steps = newestFirst
    .toReversed()
    .filter(({ abandoned }) => !abandoned)
    .flatMap(({ kind, path, to = path, old, next }): UndoStep[] =>
      kind === "move"
        ? [{ do: "move", from: path, to, state: next }, ...replacedAt(to, old)]
        : [{ do: "set", path, from: old, to: next }],
    );
  return diffSteps(steps, seen);
}

/** A move over a file destroys it. */
function replacedAt(path: string, old: EntryState): UndoStep[] {
  return old.kind === "absent" ? [] : [{ do: "set", path, from: old, to: { kind: "absent" } }];
}

export async function diffSteps(steps: readonly UndoStep[], seen: Seen): Promise<FileDiff[]> {
  const first = new Map<string, { from: EntryState; to: EntryState }>();
  const diffs: FileDiff[] = [];
  for (const step of steps) {
    if (step.do === "move") {
      const to = seen.files.show(step.to);
      const none = { text: "", binary: false, added: 0, removed: 0, truncated: false };
      diffs.push({ path: seen.files.show(step.from), to, what: `moved to ${to}`, ...none });
      continue;
    }
    const known = first.get(step.path);
    if (known) known.to = step.to;
    else first.set(step.path, { from: step.from, to: step.to });
  }
  for (const [path, { from, to }] of first)
    if (!isSameState(from, to)) diffs.push(await diffStates(path, from, to, seen));
  return diffs;
}

/** From what the change left to what is there now. */
export function diffConflict({ path, expected, found }: UndoConflict, seen: Seen): Promise<FileDiff> {
  return diffStates(path, expected, found, seen);
}

async function diffStates(path: string, from: EntryState, to: EntryState, seen: Seen): Promise<FileDiff> {
  const shown = seen.files.show(path);
  const what = describe(from, to);
  const before = await textOf(path, from, seen);
  const after = await textOf(path, to, seen);
  if (before === null || after === null) {
    return { path: shown, what: `${what} (binary)`, text: "", binary: true, added: 0, removed: 0, truncated: false };
  }
  const diff = await unifiedDiff({ before, after }, { path: shown });
  return { path: shown, what, binary: false, ...diff };
}

/** Null where it is not text, or not at hand. What is no file has none. */
async function textOf(path: string, state: EntryState, { files, store }: Seen): Promise<string | null> {
  if (state.kind !== "file") return "";
  const kept = state.hash === undefined ? undefined : await store.content(state.hash);
  const bytes = kept ?? (await onDisk(path, state, files));
  return bytes && !isBinary(bytes) && isUtf8(bytes) ? bytes.toString("utf8") : null;
}

async function onDisk(path: string, state: EntryState, files: Files): Promise<Buffer | undefined> {
  const found = await files.entry(path).catch(() => undefined);
  return found && isSameState(found.state, state) && "bytes" in found.state ? found.state.bytes : undefined;
}

function describe(from: EntryState, to: EntryState): string {
  const noun = (state: EntryState): string =>
    state.kind === "directory" ? "folder " : state.kind === "symlink" ? `link to ${state.target} ` : "";
  if (from.kind === "absent") return `${noun(to)}created`;
  if (to.kind === "absent") return `${noun(from)}deleted`;
  if (from.kind === "symlink" && to.kind === "symlink") return `link to ${from.target} now leads to ${to.target}`;
  return from.kind === to.kind ? "changed" : `${from.kind} became ${to.kind}`;
}
