import { type CallOwner, type RecordedChange, rootCall, type UndoRun } from "./undo-store.ts";

type Made = CallOwner & Pick<RecordedChange, "id" | "callId">;

/** Which calls still have their effect, told from the undos that were made. */
export interface UndoHistory {
  /** The undo that took the change back, if that has not been undone in turn. */
  undoneBy(change: Made): UndoRun | undefined;
  /** Whether the change is a step of an undo. */
  isUndo(change: Made): boolean;
}

export function readHistory(runs: readonly UndoRun[]): UndoHistory {
  const ids = new Set(runs.map(({ id }) => id));
  /** The last undo of a call decides: one that was redone can be undone again. */
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

/** Changes of one call, and of calls that were interleaved with it, newest first: the smallest part that is undone alone. */
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

/** The call as an undo remembers it; without one each change stands for itself. */
export function nameOf({ id, callId }: Pick<Made, "id" | "callId">): string {
  return callId ?? `change:${id}`;
}

export function callKey(change: Made): string {
  return keyOf(change, rootCall(nameOf(change)));
}

/** The calls that an undo takes back. */
export function keysOf({ keys, callIds, session }: UndoRun): readonly string[] {
  return keys ?? callIds.map((name) => keyOf({ session }, name));
}

export function keyOf({ session, user, agent }: CallOwner, name: string): string {
  return JSON.stringify([session ?? null, user ?? null, agent ?? null, name]);
}
