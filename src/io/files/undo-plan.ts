import { isUtf8 } from "node:buffer";
import { basename, dirname } from "node:path";
import { ToolError } from "../../core/error.ts";
import type { Files } from "./files.ts";
import { isInside } from "./path-name.ts";
import { isBinary } from "./text-encoding.ts";
import {
  type CallOwner,
  type EntryState,
  isOwnedBy,
  isSameState,
  type RecordedChange,
  rootCall,
  type UndoRun,
  type UndoStore,
} from "./undo-store.ts";
import { unifiedDiff } from "./unified-diff.ts";

/** One step of an undo, with the state that it expects. */
export type UndoStep =
  | { do: "set"; path: string; from: EntryState; to: EntryState }
  | { do: "set_mode"; path: string; from: EntryState; to: EntryState }
  | { do: "move"; from: string; to: string; state: EntryState };

export interface UndoConflict {
  change: RecordedChange;
  path: string;
  reason: "changed" | "not_empty" | "occupied" | "folder_gone" | "not_kept" | "denied";
  /** What the change left there, and what exists now. */
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

/** Newest first. A change with its new state is undone, with its old one skipped: never made, or already restored. */
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
      const plan = PLANS[change.kind] ?? planSet;
      const conflict = await plan(change, planning);
      if (conflict) conflicts.push(conflict);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      const { path, next } = change;
      conflicts.push({ change, path, reason: "denied", expected: next, found: { kind: "other" }, why: error.summary });
    }
  }
  return { steps, conflicts };
}

const PLANS: Partial<Record<RecordedChange["kind"], typeof planSet>> = { move: planMoveUndo, set_mode: planModeUndo };

async function planSet(change: RecordedChange, planning: Planning): Promise<UndoConflict | undefined> {
  const { path, old, next } = change;
  if (isSameState(old, next)) return undefined;
  const found = await planning.view.stateAt(path);
  const conflict = (reason: UndoConflict["reason"]): UndoConflict => ({ change, path, reason, expected: next, found });
  if (!isSameState(found, next)) {
    if (isSameState(found, old)) return undefined;
    if (!planning.force) return conflict("changed");
  }
  return planState(path, found, old, planning, conflict);
}

async function planMoveUndo(change: RecordedChange, planning: Planning): Promise<UndoConflict | undefined> {
  const { path, to = path, old, next } = change;
  const { view, steps } = planning;
  const source = await view.stateAt(to);
  const target = await view.stateAt(path);
  const conflict = (reason: UndoConflict["reason"], at: string, found: EntryState): UndoConflict => ({
    change,
    path: at,
    reason,
    expected: at === path ? { kind: "absent" } : next,
    found,
  });
  // Only the case differs: a case-insensitive file system finds the same file under both names.
  const isRespelled = path.toLowerCase() === to.toLowerCase();
  if (!isRespelled && isSameState(target, next)) {
    if (isSameState(source, old)) return undefined;
    // It was interrupted between moving it back and restoring what it had replaced.
    if (source.kind === "absent") return planState(to, source, old, planning, (reason) => conflict(reason, to, source));
  }
  if (!isSameState(source, next) && !(planning.force && source.kind === next.kind)) {
    return conflict("changed", to, source);
  }
  if (!isRespelled && target.kind !== "absent") return conflict("occupied", path, target);
  if ((await view.stateAt(dirname(path))).kind !== "directory") return conflict("folder_gone", path, target);
  steps.push({ do: "move", from: to, to: path, state: source });
  view.assume({ do: "move", from: to, to: path });
  if (old.kind === "absent") return undefined;
  return planState(to, { kind: "absent" }, old, planning, (reason) => conflict(reason, to, source));
}

/** Its content may have changed since: only the permissions are restored. */
async function planModeUndo(change: RecordedChange, planning: Planning): Promise<UndoConflict | undefined> {
  const { path, old, next } = change;
  const found = await planning.view.stateAt(path);
  const [was, is, left] = [modeOf(old), modeOf(found), modeOf(next)];
  if (found.kind !== next.kind) return { change, path, reason: "changed", expected: next, found };
  if (was === undefined || is === was) return undefined;
  if (is !== left && !planning.force) return { change, path, reason: "changed", expected: next, found };
  const restored = { ...found, mode: was };
  planning.steps.push({ do: "set_mode", path, from: found, to: restored });
  planning.view.assume({ do: "set_mode", path, mode: was });
  return undefined;
}

export function modeOf(state: EntryState): number | undefined {
  return state.kind === "file" || state.kind === "directory" ? state.mode : undefined;
}

async function planState(
  path: string,
  from: EntryState,
  to: EntryState,
  { view, force, steps }: Planning,
  conflict: (reason: UndoConflict["reason"]) => UndoConflict,
): Promise<UndoConflict | undefined> {
  if (to.kind === "other" || (to.kind === "file" && to.hash === undefined)) return conflict("not_kept");
  // Not even by force: the folder has other content.
  if (from.kind === "directory" && (await view.childrenOf(path)).length > 0) return conflict("not_empty");
  const hasFolder = to.kind === "absent" || (await view.stateAt(dirname(path))).kind === "directory";
  if (!hasFolder && !force) return conflict("folder_gone");
  steps.push({ do: "set", path, from, to });
  view.assume({ do: "set", path, state: to });
  return undefined;
}

type AssumedStep =
  | { do: "set"; path: string; state: EntryState }
  | { do: "set_mode"; path: string; mode: number }
  | { do: "move"; from: string; to: string };

/** The tree as it would be after the planned steps. */
interface TreeView {
  stateAt(path: string): Promise<EntryState>;
  /** The names that a folder would contain. */
  childrenOf(path: string): Promise<string[]>;
  assume(step: AssumedStep): void;
}

export function createTreeView(files: Files): TreeView {
  const steps: AssumedStep[] = [];
  const seen = new Map<string, EntryState>();

  const onDisk = async (path: string): Promise<EntryState> => {
    const known = seen.get(path);
    if (known) return known;
    const { real, state: found } = await files.entry(path);
    const { bytes: _, ...state } = found;
    // A parent folder became a link: its target is not what was changed.
    const now: EntryState = real === path ? state : { kind: "other" };
    seen.set(path, now);
    return now;
  };

  /** Goes from the last step to the first: the state that a step gave the path, or its path on disk. */
  const trace = (path: string): ({ state: EntryState } | { disk: string }) & { mode?: number } => {
    let at = path;
    let mode: number | undefined;
    for (const step of steps.toReversed()) {
      if (step.do === "set_mode") {
        if (step.path === at) mode ??= step.mode;
      } else if (step.do === "move") {
        if (isInside(at, step.to)) at = step.from + at.slice(step.to.length);
        else if (isInside(at, step.from)) return { state: { kind: "absent" } };
      } else if (step.path === at) return { state: step.state, mode };
      else if (isInside(at, step.path) && step.state.kind !== "directory") return { state: { kind: "absent" } };
    }
    return { disk: at, mode };
  };

  const stateAt = async (path: string): Promise<EntryState> => {
    const traced = trace(path);
    const state = "state" in traced ? traced.state : await onDisk(traced.disk);
    const hasMode = state.kind === "file" || state.kind === "directory";
    return hasMode && traced.mode !== undefined ? { ...state, mode: traced.mode } : state;
  };

  return {
    stateAt,
    assume: (step) => void steps.push(step),
    async childrenOf(path) {
      const traced = trace(path);
      const names = new Set("disk" in traced ? await namesIn(files, traced.disk) : []);
      for (const [index, step] of steps.entries()) {
        const now = follow(step.do === "move" ? step.to : step.path, steps.slice(index + 1));
        if (dirname(now) === path) names.add(basename(now));
      }
      const existing: string[] = [];
      for (const name of names) if ((await stateAt(`${path}/${name}`)).kind !== "absent") existing.push(name);
      return existing;
    },
  };
}

/** Where later steps move a path. */
function follow(path: string, later: readonly AssumedStep[]): string {
  let at = path;
  for (const step of later)
    if (step.do === "move" && isInside(at, step.from)) at = step.to + at.slice(step.from.length);
  return at;
}

async function namesIn(files: Files, path: string): Promise<string[]> {
  try {
    return (await files.listDirectory(path)).map(({ name }) => name);
  } catch (error) {
    if (error instanceof ToolError && ["path_not_found", "not_directory"].includes(error.code)) return [];
    throw error;
  }
}

type Made = CallOwner & Pick<RecordedChange, "id" | "callId">;

/** Which calls have been undone. */
export interface UndoHistory {
  /** The undo of the change, unless it was undone itself. */
  undoneBy(change: Made): UndoRun | undefined;
  /** Whether the change is a step of an undo. */
  isUndo(change: Made): boolean;
}

export function readHistory(runs: readonly UndoRun[]): UndoHistory {
  const ids = new Set(runs.map(({ id }) => id));
  // The last undo of a call decides: a call that was redone can be undone again.
  const last = new Map<string, number>();
  for (const [index, run] of runs.entries()) {
    if (run.state === "done") for (const key of keysOf(run)) last.set(key, index);
  }
  const undoOf = (name: string, owner: CallOwner): UndoRun | undefined => {
    let newest = -1;
    for (let end = name.length; end > 0; end = name.lastIndexOf("/", end - 1)) {
      newest = Math.max(newest, last.get(keyOf(owner, name.slice(0, end))) ?? -1);
    }
    const run = runs[newest];
    return run && undoOf(run.id, run) === undefined ? run : undefined;
  };
  return {
    undoneBy: (change) => undoOf(nameOf(change), change),
    isUndo: ({ callId }) => callId !== undefined && ids.has(callId),
  };
}

/** Groups the changes of a call with those of calls that overlapped with it: the smallest parts that can be undone. */
export function splitUnits(newestFirst: readonly RecordedChange[]): RecordedChange[][] {
  const last = new Map<string, number>();
  for (const [index, change] of newestFirst.entries()) last.set(callKey(change), index);
  const units: RecordedChange[][] = [];
  let unit: RecordedChange[] = [];
  let end = 0;
  for (const [index, change] of newestFirst.entries()) {
    end = Math.max(end, last.get(callKey(change)) ?? index);
    unit.push(change);
    if (index < end) continue;
    units.push(unit);
    unit = [];
  }
  return units;
}

/** The call id, or a name for a single change that no call made. */
export function nameOf({ id, callId }: Pick<Made, "id" | "callId">): string {
  return callId ?? `change:${id}`;
}

export function callKey(change: Made): string {
  return keyOf(change, rootCall(nameOf(change)));
}

/** The keys of the calls that an undo has undone. */
export function keysOf({ keys, callIds, session }: UndoRun): readonly string[] {
  return keys ?? callIds.map((name) => keyOf({ session }, name));
}

export function keyOf({ session, user, agent }: CallOwner, name: string): string {
  return JSON.stringify([session ?? null, user ?? null, agent ?? null, name]);
}

/** The difference for one path. */
export interface FileDiff {
  /** As shown to a model. */
  path: string;
  /** The new path of a move. */
  to?: string;
  /** One line: "changed", "created", "deleted", "moved to …", "folder created", … */
  what: string;
  /** A unified diff; empty if the content is not text. */
  text: string;
  binary: boolean;
  added: number;
  removed: number;
  truncated: boolean;
}

interface ContentSources {
  files: Files;
  store: UndoStore;
}

/** The combined effect of changes: each path once, from its first to its last state. */
export async function diffChanges(
  newestFirst: readonly RecordedChange[],
  sources: ContentSources,
): Promise<FileDiff[]> {
  const steps = newestFirst
    .toReversed()
    .filter(({ abandoned }) => !abandoned)
    .flatMap(({ kind, path, to = path, old, next }): UndoStep[] =>
      kind === "set_mode"
        ? [{ do: "set_mode", path, from: old, to: next }]
        : kind === "move"
          ? [{ do: "move", from: path, to, state: next }, ...replacedAt(to, old)]
          : [{ do: "set", path, from: old, to: next }],
    );
  return diffSteps(steps, sources);
}

/** A move over a file deletes that file. */
function replacedAt(path: string, old: EntryState): UndoStep[] {
  return old.kind === "absent" ? [] : [{ do: "set", path, from: old, to: { kind: "absent" } }];
}

export async function diffSteps(steps: readonly UndoStep[], sources: ContentSources): Promise<FileDiff[]> {
  const first = new Map<string, { from: EntryState; to: EntryState }>();
  const diffs: FileDiff[] = [];
  for (const step of steps) {
    if (step.do === "move") {
      const to = sources.files.show(step.to);
      const none = { text: "", binary: false, added: 0, removed: 0, truncated: false };
      diffs.push({ path: sources.files.show(step.from), to, what: `moved to ${to}`, ...none });
      continue;
    }
    if (step.do === "set_mode") {
      const what = `mode changed from ${octal(step.from)} to ${octal(step.to)}`;
      const none = { text: "", binary: false, added: 0, removed: 0, truncated: false };
      diffs.push({ path: sources.files.show(step.path), what, ...none });
      continue;
    }
    const known = first.get(step.path);
    if (known) known.to = step.to;
    else first.set(step.path, { from: step.from, to: step.to });
  }
  for (const [path, { from, to }] of first)
    if (!isSameState(from, to)) diffs.push(await diffStates(path, from, to, sources));
  return diffs;
}

function octal(state: EntryState): string {
  return (modeOf(state) ?? 0).toString(8).padStart(3, "0");
}

/** The difference between what the change left and what exists now. */
export function diffConflict({ path, expected, found }: UndoConflict, sources: ContentSources): Promise<FileDiff> {
  return diffStates(path, expected, found, sources);
}

/** A longer text is not sent to a dialog. */
const MAX_CONFLICT_BYTES = 256 * 1024;

/** Both sides of a decision: what exists now, and what an undo would put there. */
export async function conflictTexts(
  { change, path, found }: UndoConflict,
  sources: ContentSources,
): Promise<{ now?: string; restored?: string }> {
  const made = (await sources.store.list({ path })).filter(
    (other) => other.callId === change.callId && isOwnedBy(other, change) && other.path === path && !other.abandoned,
  );
  // The call may have changed the file several times: the undo goes back to before the first.
  const { old } = made.reduce((first, other) => (other.order < first.order ? other : first), change);
  const read = async (state: EntryState): Promise<string | undefined> => {
    const text = state.kind === "file" ? await textOf(path, state, sources) : null;
    return text === null || text.length > MAX_CONFLICT_BYTES ? undefined : text;
  };
  return { now: await read(found), restored: await read(old) };
}

async function diffStates(path: string, from: EntryState, to: EntryState, sources: ContentSources): Promise<FileDiff> {
  const shown = sources.files.show(path);
  const what = describe(from, to);
  const before = await textOf(path, from, sources);
  const after = await textOf(path, to, sources);
  if (before === null || after === null) {
    return { path: shown, what: `${what} (binary)`, text: "", binary: true, added: 0, removed: 0, truncated: false };
  }
  const diff = await unifiedDiff({ before, after }, { path: shown });
  return { path: shown, what, binary: false, ...diff };
}

/** Null if it is not text or not available; empty for anything but a file. */
async function textOf(path: string, state: EntryState, { files, store }: ContentSources): Promise<string | null> {
  if (state.kind !== "file") return "";
  const stored = state.hash === undefined ? undefined : await store.content(state.hash);
  const bytes = stored ?? (await onDisk(path, state, files));
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
  if (from.kind === "symlink" && to.kind === "symlink") return `link to ${from.target} now points to ${to.target}`;
  return from.kind === to.kind ? "changed" : `${from.kind} became ${to.kind}`;
}
