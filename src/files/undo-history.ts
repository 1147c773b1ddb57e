import { type RecordedChange, rootCall, type UndoRun } from "./undo-store.ts";

type Made = Pick<RecordedChange, "id" | "callId" | "session">;

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
  for (const [index, { state, session, callIds }] of runs.entries()) {
    if (state === "done") for (const of of callIds) last.set(keyOf(session, of), index);
  }
  const undoOf = (name: string, session: string | undefined): UndoRun | undefined => {
    let newest = -1;
    for (let end = name.length; end > 0; end = name.lastIndexOf("/", end - 1)) {
      newest = Math.max(newest, last.get(keyOf(session, name.slice(0, end))) ?? -1);
    }
    const run = runs[newest];
    return run && undoOf(run.id, run.session) === undefined ? run : undefined;
  };
  return {
    undoneBy: (change) => undoOf(nameOf(change), change.session),
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
  return keyOf(change.session, rootCall(nameOf(change)));
}

function keyOf(session: string | undefined, name: string): string {
  return JSON.stringify([session ?? null, name]);
}
