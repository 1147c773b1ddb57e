import { randomUUID } from "node:crypto";
import { toolError, type ToolError } from "../core/error.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Files } from "./files.ts";
import { diffChanges, diffSteps, type FileDiff } from "./undo-diff.ts";
import { callKey, keyOf, readHistory, splitUnits, type UndoHistory } from "./undo-history.ts";
import { planUndo, type UndoConflict } from "./undo-plan.ts";
import { createUndoRunner, type RecoveredUndo, type UndoEvent } from "./undo-run.ts";
import {
  type CallOwner,
  type ChangeFilter,
  isOwnedBy,
  type RecordedChange,
  rootCall,
  type UndoStore,
} from "./undo-store.ts";
import { createTreeView } from "./undo-view.ts";

export interface UndoOptions {
  /** With the workspace's path rules, and `store` as its journal: what an undo changes can be undone too. */
  files: Files;
  store: UndoStore;
  clock?: () => number;
  /** Told before an undo changes anything, and when it has ended; one that rejects at the beginning stops it. */
  onUndo?: (event: UndoEvent) => MaybePromise<void>;
}

/** The owner says whose call it is, where several use the same ids. */
export interface UndoRequest extends CallOwner {
  by?: string;
  /** A person who has seen the difference: takes back what was changed since. Never to be offered to a model. */
  force?: { by: string };
}

export interface UndoOutcome {
  /** Undo this to have everything again. Null where nothing had to be changed. */
  undoId: string | null;
  callIds: string[];
  /** As a model would name them. */
  paths: string[];
  /** Undos that a killed process had left half done, and how they ended. */
  recovered: RecoveredUndo[];
}

export interface ListedChange extends RecordedChange {
  /** The undo that took it back. */
  undoneBy?: string;
  /** Whether it is itself a step of an undo. */
  isUndo: boolean;
}

export interface UndoDiff {
  /** What the call did. */
  did: FileDiff[];
  /** What undoing it would do now; empty where it is refused. */
  undo: FileDiff[];
  conflicts: UndoConflict[];
}

/** What a person can do about the changes that tools made. Not a tool: a model is not given it. */
export interface Undo {
  /** Newest first. */
  listChanges(filter?: ChangeFilter): Promise<ListedChange[]>;
  diffOf(of: ({ callId: string } & CallOwner) | { changeId: string }): Promise<UndoDiff>;
  /** One call with the calls that it made, all or nothing. The id of an undo redoes. */
  undoCall(callId: string, request?: UndoRequest): Promise<UndoOutcome>;
  /** Refused as a whole where one file stands in the way; each call then all or nothing. */
  undoSession(session: string, request?: Omit<UndoRequest, "session">): Promise<UndoOutcome>;
  undoLast(calls?: number, request?: UndoRequest): Promise<UndoOutcome>;
  /** Finishes what a killed process left; every undo begins with it. */
  recover(): Promise<RecoveredUndo[]>;
}

export function createUndo({ files, store, clock = Date.now, onUndo }: UndoOptions): Undo {
  const runner = createUndoRunner({ files, store, clock, onUndo });
  const history = async (): Promise<UndoHistory> => readHistory(await store.undos());

  /** Without those of which it is known that they have no effect any more. */
  const effective = async (changes: readonly RecordedChange[]): Promise<RecordedChange[]> => {
    const { undoneBy } = await history();
    return changes.filter((change) => !change.abandoned && undoneBy(change) === undefined);
  };

  const changesOf = async (callId: string, { session, user, agent }: CallOwner): Promise<RecordedChange[]> => {
    const changes = await store.list({ callId, session, user, agent });
    if (changes.length === 0) throw await unknownCall(callId, store);
    const sessions = new Set(changes.map((change) => change.session));
    if (sessions.size > 1) {
      throw toolError("ambiguous", `Call "${callId}" was made in ${sessions.size} sessions`, {
        next: "Name the session too.",
        data: { sessions: [...sessions] },
      });
    }
    const owners = new Map(changes.map((change) => [keyOf(change, callId), ownerOf(change)]));
    if (owners.size > 1) {
      throw toolError("ambiguous", `Call "${callId}" was made by ${owners.size} callers`, {
        next: "Name the user and the agent too, or one of the changes by its id.",
        data: { callers: [...owners.values()] },
      });
    }
    return changes;
  };

  const perform = async (
    units: readonly (readonly RecordedChange[])[],
    request: UndoRequest,
    facts: { recovered: RecoveredUndo[]; callIds?: readonly string[] },
  ): Promise<UndoOutcome> => {
    const id = `undo-${randomUUID()}`;
    const { callIds, paths } = await runner.run(units, id, request, facts.callIds);
    return { undoId: paths.length === 0 ? null : id, callIds, paths, recovered: facts.recovered };
  };

  return {
    async listChanges(filter) {
      const { undoneBy, isUndo } = await history();
      const real = filter?.path === undefined ? {} : { path: files.realPath(filter.path) };
      return (await store.list({ ...filter, ...real })).map((change) => {
        const undo = undoneBy(change);
        return { ...change, isUndo: isUndo(change), ...(undo && { undoneBy: undo.id }) };
      });
    },
    async diffOf(of) {
      const changes =
        "callId" in of ? await changesOf(of.callId, of) : (await store.list()).filter(({ id }) => id === of.changeId);
      const { steps, conflicts } = await planUndo(await effective(changes), createTreeView(files));
      const seen = { files, store };
      return {
        did: await diffChanges(changes, seen),
        undo: conflicts.length > 0 ? [] : await diffSteps(steps, seen),
        conflicts,
      };
    },
    async undoCall(callId, request = {}) {
      const recovered = await runner.recover();
      const changes = await changesOf(callId, request);
      const left = await effective(changes);
      const undone = (await history()).undoneBy(changes[0]!);
      if (left.length === 0 && undone) throw alreadyUndone(callId, undone.id);
      return perform([left], request, { recovered, callIds: [callId] });
    },
    async undoSession(session, request = {}) {
      const recovered = await runner.recover();
      const { isUndo } = await history();
      const changes = (await effective(await store.list({ session }))).filter((change) => !isUndo(change));
      return perform(splitUnits(changes), { ...request, session }, { recovered });
    },
    async undoLast(calls = 1, request = {}) {
      const recovered = await runner.recover();
      const { isUndo } = await history();
      const within = request.session === undefined ? {} : { session: request.session };
      for (let limit = 256; ; limit *= 4) {
        const page = await store.list({ ...within, limit });
        const changes = (await effective(page)).filter((change) => !isUndo(change));
        const newest = new Map(changes.toReversed().map((change) => [callKey(change), change]));
        if (page.length === limit && newest.size < calls) continue;
        const wanted = [...newest.values()].toReversed().slice(0, Math.max(calls, 0));
        // A call may go on further back than the page.
        const whole = await Promise.all(
          wanted.map(async (change) =>
            change.callId === undefined
              ? [change]
              : (await store.list({ callId: rootCall(change.callId) })).filter((other) => isOwnedBy(other, change)),
          ),
        );
        const chosen = await effective(whole.flat().toSorted((a, b) => b.order - a.order));
        return perform(splitUnits(chosen), request, { recovered });
      }
    },
    recover: () => runner.recover(),
  };
}

function ownerOf({ session, user, agent }: RecordedChange): CallOwner {
  return { session, user, agent };
}

async function unknownCall(callId: string, store: UndoStore): Promise<ToolError> {
  const lost = await store.discardedChanges();
  const given = lost
    ? `; ${lost.changes} changes up to ${new Date(lost.newest).toISOString()} were given up to stay within the journal's limits`
    : "";
  return toolError("no_match", `No change of a file is journalled for call "${callId}"${given}`, {
    next: "List the changes to see what can be undone.",
    data: lost && { discardedChanges: lost },
  });
}

function alreadyUndone(callId: string, undoId: string): ToolError {
  return toolError("no_change", `Call "${callId}" is undone already`, {
    next: `Undo "${undoId}" to have it again.`,
    data: { undoId },
  });
}
