import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { toFailure, toolError, type ToolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { Files, FoundEntry } from "./files.ts";
import { isAlive } from "./temporary-file.ts";
import {
  callKey,
  createTreeView,
  diffChanges,
  diffConflict,
  diffSteps,
  type FileDiff,
  keyOf,
  keysOf,
  nameOf,
  planUndo,
  readHistory,
  splitUnits,
  type UndoConflict,
  type UndoHistory,
  type UndoPlan,
  type UndoStep,
} from "./undo-plan.ts";
import {
  type CallOwner,
  type ChangeFilter,
  type EntryState,
  hashOf,
  isAtPath,
  isOwnedBy,
  isSameState,
  type RecordedChange,
  rootCall,
  type UndoRun,
  type UndoStore,
} from "./undo-store.ts";

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

export interface UndoEvent {
  phase: "begun" | "ended";
  undoId: string;
  callIds: readonly string[];
  session?: string;
  by?: string;
  forced: boolean;
  /** Real paths. */
  paths: readonly string[];
  at: number;
  state?: Exclude<UndoRun["state"], "running">;
}

interface RecoveredUndo {
  undoId: string;
  callIds: readonly string[];
  state: Exclude<UndoRun["state"], "running">;
  /** Of one that was not finished: what stands in the way. */
  why?: string;
}

interface RunnerOptions {
  files: Files;
  store: UndoStore;
  clock: () => number;
  onUndo?: (event: UndoEvent) => MaybePromise<void>;
}

type Carried = Pick<UndoRun, "id" | "session">;

interface UndoCaller extends CallOwner {
  by?: string;
  force?: { by: string };
}

/** Of a process on another machine it cannot be seen whether it lives. */
const REMOTE_TIMEOUT_MS = 10 * 60 * 1000;

let instance: string | undefined;
/** Undos of this process that are under way, whoever in it carries them out. */
const underWay = new Set<string>();

/** Carries plans out so that after a crash each call is undone, not undone, or said to be neither. */
function createUndoRunner({ files, store, clock, onUndo }: RunnerOptions) {
  const owner = { host: hostname(), pid: process.pid, instance: (instance ??= randomUUID()) };
  // Its id is its own, so that no user is needed to tell it: one undo may take back calls of several.
  const filesOf = (run: Carried): Files =>
    files.narrow(undefined, { callId: run.id, session: run.session, tool: "undo" });

  const apply = async (steps: readonly UndoStep[], run: Carried): Promise<void> => {
    const own = filesOf(run);
    for (const step of steps) await applyStep(step, own, store);
  };

  const pathsOf = (conflicts: UndoPlan["conflicts"]): string =>
    `changed by someone else meanwhile: ${[...new Set(conflicts.map(({ path }) => files.show(path)))].join(", ")}`;

  /** The steps of an undo that could not be finished, undone in turn. */
  const rollBack = async (run: Carried): Promise<string | undefined> => {
    try {
      const { steps, conflicts } = await planUndo(await store.list({ callId: run.id }), createTreeView(files));
      if (conflicts.length > 0) return pathsOf(conflicts);
      await apply(steps, run);
      return undefined;
    } catch (error) {
      return toFailure(error).message;
    }
  };

  const runUnit = async (
    unit: readonly RecordedChange[],
    id: string,
    caller: UndoCaller,
    named?: readonly string[],
  ) => {
    const { session, user, agent } = unit[0] ?? caller;
    const callIds = named ?? callsOf(unit);
    const keys = named
      ? named.map((name) => keyOf({ session, user, agent }, name))
      : [...new Set(unit.map((change) => keyOf(change, rootCall(nameOf(change)))))];
    const by = caller.force?.by ?? caller.by;
    const run = { id, callIds, keys, session, at: clock(), by, forced: caller.force !== undefined, owner };
    // Planned again right before: time has passed since the whole was judged.
    const { steps, conflicts } = await planUndo(unit, createTreeView(files), { force: run.forced });
    if (conflicts.length > 0) throw await refuseUndo(conflicts, { files, store });
    const paths = [...new Set(steps.flatMap((step) => (step.do === "move" ? [step.from, step.to] : [step.path])))];
    const notify = async (facts: Pick<UndoEvent, "phase" | "state">): Promise<void> =>
      onUndo?.({ undoId: id, callIds, session, by, forced: run.forced, paths, at: clock(), ...facts });
    if (!(await store.beginUndo(run))) throw busy();
    const end = async (state: Exclude<UndoRun["state"], "running">): Promise<void> => {
      await store.endUndo(id, state);
      // It has happened, also where that cannot be written down.
      await notify({ phase: "ended", state }).catch(() => {});
    };
    underWay.add(id);
    try {
      try {
        await notify({ phase: "begun" });
        await apply(steps, run);
      } catch (error) {
        const left = await rollBack(run);
        await end(left === undefined ? "taken_back" : "stuck");
        throw failedPartway(error, left);
      }
      await end("done");
    } finally {
      underWay.delete(id);
    }
    return { callIds: [...callIds], paths: paths.map((path) => files.show(path)) };
  };

  const changesOf = async (run: UndoRun): Promise<RecordedChange[]> => {
    const keys = new Set(keysOf(run));
    const found: RecordedChange[] = [];
    for (const callId of run.callIds) {
      const single = callId.startsWith("change:") ? (await store.list()).filter((one) => nameOf(one) === callId) : [];
      const all = [...single, ...(await store.list({ callId }))];
      found.push(...all.filter((change) => keys.has(keyOf(change, callId))));
    }
    return found.toSorted((a, b) => b.order - a.order);
  };

  const finish = async (run: UndoRun): Promise<RecoveredUndo> => {
    const changes = await changesOf(run);
    const ended = async (state: RecoveredUndo["state"], why?: string): Promise<RecoveredUndo> => {
      await store.endUndo(run.id, state);
      return { undoId: run.id, callIds: run.callIds, state, why };
    };
    // Its own changes are a history of which at most the last did not happen: from its beginning it is made again.
    const left = await rollBack(run);
    if (left !== undefined) return ended("stuck", left);
    const { steps, conflicts } = await planUndo(changes, createTreeView(files), { force: run.forced });
    if (conflicts.length > 0) return ended("taken_back", pathsOf(conflicts));
    try {
      await apply(steps, run);
      return await ended("done");
    } catch (error) {
      const still = await rollBack(run);
      return await ended(still === undefined ? "taken_back" : "stuck", still ?? toFailure(error).message);
    }
  };

  const isLeft = ({ id, owner: other, at }: UndoRun): boolean => {
    if (other.instance === owner.instance) return !underWay.has(id);
    if (other.host !== owner.host) return clock() - at > REMOTE_TIMEOUT_MS;
    return other.pid === owner.pid || !isAlive(other.pid);
  };

  return {
    /** Units in order; none is begun unless all of them can be taken back as things stand. */
    async run(
      units: readonly (readonly RecordedChange[])[],
      undoId: string,
      caller: UndoCaller,
      named?: readonly string[],
    ) {
      const view = createTreeView(files);
      const conflicts: UndoPlan["conflicts"] = [];
      for (const unit of units) {
        conflicts.push(...(await planUndo(unit, view, { force: caller.force !== undefined })).conflicts);
      }
      if (conflicts.length > 0) throw await refuseUndo(conflicts, { files, store });
      const callIds: string[] = [];
      const paths = new Set<string>();
      for (const [index, unit] of units.entries()) {
        const id = units.length === 1 ? undoId : `${undoId}/${index + 1}`;
        const done = await runUnit(unit, id, caller, named);
        callIds.push(...done.callIds);
        for (const path of done.paths) paths.add(path);
      }
      return { callIds, paths: [...paths] };
    },
    async recover(): Promise<RecoveredUndo[]> {
      const recovered: RecoveredUndo[] = [];
      for (const run of await store.undos()) {
        if (run.state !== "running" || !isLeft(run)) continue;
        if (await store.adoptUndo(run.id, run.owner, owner)) recovered.push(await finish(run));
      }
      return recovered;
    },
  };
}

function callsOf(unit: readonly RecordedChange[]): string[] {
  return [...new Set(unit.map((change) => rootCall(nameOf(change))))];
}

function busy(): ToolError {
  return toolError("busy", "Another undo is under way in this workspace", { next: "Wait for its end, then repeat." });
}

function failedPartway(error: unknown, left: string | undefined): ToolError {
  const { code, message, data } = toFailure(error);
  if (left === undefined) {
    return toolError(code, message, { next: "Nothing of this call was undone.", data, cause: error });
  }
  return toolError("io_error", `The undo failed half-way (${message}), and could not be taken back: ${left}`, {
    next: "Look at the changes of this undo before going on.",
    cause: error,
  });
}

/** Makes one step, if what it was planned for still stands there. Whatever it replaces is journalled by `files`. */
async function applyStep(step: UndoStep, files: Files, store: UndoStore): Promise<void> {
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
async function refuseUndo(
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
