import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { failureText, toFailure, toolError, type ToolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { type Files, filesOfCommands, type FoundEntry } from "./files.ts";
import { isAlive } from "./temporary-file.ts";
import {
  callKey,
  conflictTexts,
  createTreeView,
  diffChanges,
  diffConflict,
  diffSteps,
  type FileDiff,
  keyOf,
  keysOf,
  modeOf,
  nameOf,
  planUndo,
  readHistory,
  splitUnits,
  type UndoConflict,
  type UndoHistory,
  type UndoStep,
} from "./undo-plan.ts";
import {
  type CallOwner,
  type ChangeFilter,
  type ChangeGroup,
  type ChangeMaker,
  type EntryState,
  hashOf,
  isAtPath,
  isOwnedBy,
  isSameState,
  type RecordedChange,
  rootCall,
  type ProcessOwner,
  thisOwner,
  type UndoRun,
  type UndoStore,
} from "./undo-store.ts";

export interface UndoOptions {
  /** With the path policy of the workspace and `store` as its journal, so an undo can be undone, too. */
  files: Files;
  store: UndoStore;
  clock?: () => number;
  /** Called before an undo changes anything and after it has ended. If the first call rejects, the undo stops. */
  onUndo?: (event: UndoEvent) => MaybePromise<void>;
}

/** The owner identifies the call if several callers use the same ids. */
export interface UndoRequest extends CallOwner {
  by?: string;
  /** Also discards later changes. For a person who has seen the difference, never for a model. */
  force?: { by: string };
}

/** What an undo did. */
export interface UndoOutcome {
  /** Undo this id to redo. Null if nothing had to be changed. */
  undoId: string | null;
  /** The calls that were undone. */
  callIds: string[];
  /** As shown to a model. */
  paths: string[];
  /** Unfinished undos of killed processes, and how they ended. */
  recovered: RecoveredUndo[];
}

export interface ListedChange extends RecordedChange {
  /** The id of the undo that undid it. */
  undoneBy?: string;
  /** Whether it is itself a step of an undo. */
  isUndo: boolean;
}

export interface UndoDiff {
  /** What the call did. */
  did: FileDiff[];
  /** What undoing it would do now; empty if there are conflicts. */
  undo: FileDiff[];
  conflicts: UndoConflict[];
}

/** Undo of file changes for a person. It is not a tool: models do not get it. */
export interface Undo {
  /** Newest first. */
  listChanges(filter?: ChangeFilter): Promise<ListedChange[]>;
  /** What undoing a call or a change would do. */
  diffOf(of: ({ callId: string } & CallOwner) | { changeId: string }): Promise<UndoDiff>;
  /** Undoes one call with its nested calls, all or nothing. The id of an undo redoes it. */
  undoCall(callId: string, request?: UndoRequest): Promise<UndoOutcome>;
  /** Refused if one file has a conflict. Each call is undone all or nothing. */
  undoSession(session: string, request?: Omit<UndoRequest, "session">): Promise<UndoOutcome>;
  /** Undoes the last calls, newest first. */
  undoLast(calls?: number, request?: UndoRequest): Promise<UndoOutcome>;
  /** Finishes what killed processes left: undos, changes of several files, temporary files. Each undo begins so. */
  recover(): Promise<RecoveredUndo[]>;
}

/** Makes an undo over a store of changes. */
export function createUndo({ files, store, clock = Date.now, onUndo }: UndoOptions): Undo {
  const runner = new UndoRunner({ files, store, clock, onUndo });
  const history = async (): Promise<UndoHistory> => readHistory(await store.undos());

  /** Without changes that did not happen or are undone. */
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
      const path = filter?.path === undefined ? undefined : files.realPath(filter.path);
      const changes = await store.list({ ...filter, path });
      return changes.map((change) => ({ ...change, isUndo: isUndo(change), undoneBy: undoneBy(change)?.id }));
    },
    async diffOf(of) {
      const changes =
        "callId" in of ? await changesOf(of.callId, of) : (await store.list()).filter(({ id }) => id === of.changeId);
      const { steps, conflicts } = await planUndo(await effective(changes), createTreeView(filesFor(changes, files)));
      const seen = { files: filesFor(changes, files), store };
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
      const [newest] = changes;
      const undone = newest && (await history()).undoneBy(newest);
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
      const { session } = request;
      for (let limit = 256; ; limit *= 4) {
        const page = await store.list({ session, limit });
        const changes = (await effective(page)).filter((change) => !isUndo(change));
        const newest = new Map(changes.toReversed().map((change) => [callKey(change), change]));
        if (page.length === limit && newest.size < calls) continue;
        const latest = [...newest.values()].toReversed().slice(0, Math.max(calls, 0));
        // A call may have older changes that are not on the page.
        const whole = await Promise.all(
          latest.map(async (change) =>
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
    ? `; ${lost.changes} changes up to ${new Date(lost.newest).toISOString()} were discarded to stay within the journal's limits`
    : "";
  return toolError("no_match", `No file change is recorded for call "${callId}"${given}`, {
    next: "List the changes to see what can be undone.",
    data: lost && { discardedChanges: lost },
  });
}

function alreadyUndone(callId: string, undoId: string): ToolError {
  return toolError("no_change", `Call "${callId}" is already undone`, {
    next: `Undo "${undoId}" to redo it.`,
    data: { undoId },
  });
}

export interface UndoEvent extends Pick<UndoRun, "callIds" | "session" | "by" | "forced" | "at"> {
  phase: "begun" | "ended";
  undoId: string;
  /** Real paths. */
  paths: readonly string[];
  state?: Exclude<UndoRun["state"], "running">;
}

interface RecoveredUndo {
  undoId: string;
  callIds: readonly string[];
  state: Exclude<UndoRun["state"], "running">;
  /** Why it could not be finished. */
  why?: string;
}

interface RunnerOptions {
  files: Files;
  store: UndoStore;
  clock: () => number;
  onUndo?: (event: UndoEvent) => MaybePromise<void>;
}

type UndoIdentity = Pick<UndoRun, "id" | "session">;

interface UndoneUnit {
  callIds: string[];
  /** As shown to a model. */
  paths: string[];
}

interface UndoCaller extends CallOwner {
  by?: string;
  force?: { by: string };
}

/** Whether a process on another machine is alive is unknown, so its undo times out. */
const REMOTE_TIMEOUT_MS = 10 * 60 * 1000;

/** The running undos and recoveries of this process. */
const running = new Set<string>();

/** Runs plans in such a way that after a crash each call is undone, not undone, or reported as stuck. */
class UndoRunner {
  readonly #files: Files;
  readonly #store: UndoStore;
  readonly #clock: () => number;
  readonly #onUndo: RunnerOptions["onUndo"];
  readonly #owner = thisOwner();

  constructor({ files, store, clock, onUndo }: RunnerOptions) {
    this.#files = files;
    this.#store = store;
    this.#clock = clock;
    this.#onUndo = onUndo;
  }

  /** Undoes the units in order. Nothing is changed if one of them has a conflict now. */
  async run(
    units: readonly (readonly RecordedChange[])[],
    undoId: string,
    caller: UndoCaller,
    named?: readonly string[],
  ): Promise<UndoneUnit> {
    const view = createTreeView(filesFor(units.flat(), this.#files));
    const conflicts: UndoConflict[] = [];
    for (const unit of units) {
      const plan = await planUndo(unit, view, { force: caller.force !== undefined });
      conflicts.push(...plan.conflicts);
    }
    if (conflicts.length > 0) throw await this.#refuse(conflicts);
    const callIds: string[] = [];
    const paths = new Set<string>();
    for (const [index, unit] of units.entries()) {
      const id = units.length === 1 ? undoId : `${undoId}/${index + 1}`;
      const done = await this.#runUnit(unit, id, caller, named);
      callIds.push(...done.callIds);
      for (const path of done.paths) paths.add(path);
    }
    return { callIds, paths: [...paths] };
  }

  async recover(): Promise<RecoveredUndo[]> {
    const recovered: RecoveredUndo[] = [];
    // First: a folder with a temporary file could not be removed by what follows.
    const { folders, upTo } = await this.#store.uncleanFolders();
    if (upTo > 0 && !this.#files.removeTemporaryFiles(folders)) await this.#store.cleaned(upTo);
    for (const run of await this.#store.undos()) {
      if (run.state !== "running" || !this.#isAbandoned(run)) continue;
      if (await this.#store.adoptUndo(run.id, run.owner, this.#owner)) recovered.push(await this.#finish(run));
    }
    for (const group of await this.#store.groups()) {
      // A group of this process is being worked on.
      if (group.owner.instance === this.#owner.instance || !this.#isAbandoned(group)) continue;
      if (await this.#store.adoptGroup(group.id, group.owner, this.#owner)) await this.#rollBackGroup(group);
    }
    return recovered;
  }

  /** Rolls back what a killed process had changed of several files. */
  async #rollBackGroup({ id, callId, session }: ChangeGroup): Promise<void> {
    const changes = await this.#store.list({ group: id });
    const why = await this.#takeBack(changes, { callId: `rollback-${id}`, session, tool: "undo", group: id });
    await this.#store.endGroup(id, why === undefined ? { state: "rolled_back" } : { state: "stuck", why });
    const paths = [...new Set(changes.map(({ path }) => path))];
    const state = why === undefined ? "taken_back" : "stuck";
    const facts = {
      undoId: `rollback-${id}`,
      callIds: callId === undefined ? [] : [callId],
      session,
      forced: false,
      paths,
    };
    await Promise.resolve(this.#onUndo?.({ phase: "ended", ...facts, at: this.#clock(), state })).catch(() => {});
  }

  async #runUnit(
    unit: readonly RecordedChange[],
    id: string,
    caller: UndoCaller,
    named?: readonly string[],
  ): Promise<UndoneUnit> {
    const { session, user, agent } = unit[0] ?? caller;
    const callIds = named ?? callsOf(unit);
    const keys = named
      ? named.map((name) => keyOf({ session, user, agent }, name))
      : [...new Set(unit.map((change) => keyOf(change, rootCall(nameOf(change)))))];
    const by = caller.force?.by ?? caller.by;
    const forced = caller.force !== undefined;
    const run = { id, callIds, keys, session, at: this.#clock(), by, forced, owner: this.#owner };
    // Planned again immediately before: files may have changed since the first check.
    const { steps, conflicts } = await planUndo(unit, createTreeView(filesFor(unit, this.#files)), { force: forced });
    if (conflicts.length > 0) throw await this.#refuse(conflicts);
    const paths = [...new Set(steps.flatMap((step) => (step.do === "move" ? [step.from, step.to] : [step.path])))];
    const notify = async (facts: Pick<UndoEvent, "phase" | "state">): Promise<void> =>
      this.#onUndo?.({ undoId: id, callIds, session, by, forced, paths, at: this.#clock(), ...facts });
    const end = async (state: Exclude<UndoRun["state"], "running">): Promise<void> => {
      await this.#store.endUndo(id, state);
      // The undo has happened, even if the listener fails.
      await notify({ phase: "ended", state }).catch(() => {});
    };
    if (!(await this.#store.beginUndo(run))) throw busy();
    running.add(id);
    try {
      try {
        await notify({ phase: "begun" });
        await this.#apply(steps, unit, run);
      } catch (error) {
        const left = await this.#rollBack(run);
        await end(left === undefined ? "taken_back" : "stuck");
        throw failedPartway(error, left);
      }
      await end("done");
    } finally {
      running.delete(id);
    }
    return { callIds: [...callIds], paths: paths.map((path) => this.#files.show(path)) };
  }

  /** Finishes the undo of a killed process. */
  async #finish(run: UndoRun): Promise<RecoveredUndo> {
    const changes = await this.#changesOf(run);
    const ended = async (state: RecoveredUndo["state"], why?: string): Promise<RecoveredUndo> => {
      await this.#store.endUndo(run.id, state);
      return { undoId: run.id, callIds: run.callIds, state, why };
    };
    // At most its last change did not happen, so it is rolled back and then made again from the beginning.
    const left = await this.#rollBack(run);
    if (left !== undefined) return ended("stuck", left);
    const { steps, conflicts } = await planUndo(changes, createTreeView(filesFor(changes, this.#files)), {
      force: run.forced,
    });
    if (conflicts.length > 0) return ended("taken_back", this.#describe(conflicts));
    try {
      await this.#apply(steps, changes, run);
      return await ended("done");
    } catch (error) {
      const still = await this.#rollBack(run);
      return await ended(still === undefined ? "taken_back" : "stuck", still ?? toFailure(error).message);
    }
  }

  /** Undoes the steps of an undo that could not be finished. Returns why that failed. */
  async #rollBack({ id, session }: UndoIdentity): Promise<string | undefined> {
    return this.#takeBack(await this.#store.list({ callId: id }), { callId: id, session, tool: "undo" });
  }

  /** Undoes changes, newest first. Returns why that failed. */
  async #takeBack(changes: readonly RecordedChange[], maker: ChangeMaker): Promise<string | undefined> {
    try {
      const { steps, conflicts } = await planUndo(changes, createTreeView(filesFor(changes, this.#files)));
      if (conflicts.length > 0) return this.#describe(conflicts);
      await this.#make(steps, changes, maker);
      return undefined;
    } catch (error) {
      return toFailure(error).message;
    }
  }

  async #apply(
    steps: readonly UndoStep[],
    undone: readonly RecordedChange[],
    { id, session }: UndoIdentity,
  ): Promise<void> {
    // Without a user: the id is unique, and one undo may include calls of several users.
    await this.#make(steps, undone, { callId: id, session, tool: "undo" });
  }

  async #make(steps: readonly UndoStep[], undone: readonly RecordedChange[], maker: ChangeMaker): Promise<void> {
    const files = filesFor(undone, this.#files).narrow(undefined, maker);
    for (const step of steps) await applyStep(step, files, this.#store);
  }

  async #changesOf(run: UndoRun): Promise<RecordedChange[]> {
    const keys = new Set(keysOf(run));
    const found: RecordedChange[] = [];
    for (const callId of run.callIds) {
      const all = await this.#store.list({ callId });
      if (callId.startsWith("change:")) {
        all.unshift(...(await this.#store.list()).filter((change) => nameOf(change) === callId));
      }
      found.push(...all.filter((change) => keys.has(keyOf(change, callId))));
    }
    return found.toSorted((a, b) => b.order - a.order);
  }

  #isAbandoned({ id, owner, at }: { id: string; owner: ProcessOwner; at: number }): boolean {
    if (owner.instance === this.#owner.instance) return !running.has(id);
    if (owner.host !== this.#owner.host) return this.#clock() - at > REMOTE_TIMEOUT_MS;
    return owner.pid === this.#owner.pid || !isAlive(owner.pid);
  }

  #describe(conflicts: readonly UndoConflict[]): string {
    const paths = new Set(conflicts.map(({ path }) => this.#files.show(path)));
    return `changed by someone else in the meantime: ${[...paths].join(", ")}`;
  }

  #refuse(conflicts: readonly UndoConflict[]): Promise<ToolError> {
    return refuseUndo(conflicts, { files: this.#files, store: this.#store });
  }
}

/** Commands may change repositories and secrets of the project, which the file tools may not. */
function filesFor(changes: readonly RecordedChange[], files: Files): Files {
  return changes.some(({ tool }) => tool === "exec" || tool === "undo") ? filesOfCommands(files) : files;
}

function callsOf(unit: readonly RecordedChange[]): string[] {
  return [...new Set(unit.map((change) => rootCall(nameOf(change))))];
}

function busy(): ToolError {
  return toolError("busy", "Another undo is running in this workspace", { next: "Wait until it ends, then repeat." });
}

function failedPartway(error: unknown, left: string | undefined): ToolError {
  const { code, message, next, data } = toFailure(error);
  if (left === undefined) {
    return toolError(code, failureText({ message, next: "Nothing of this call was undone." }), {
      next,
      data,
      cause: error,
    });
  }
  return toolError("io_error", `The undo failed halfway (${message}) and could not be rolled back: ${left}`, {
    next: "Check the changes of this undo before you continue.",
    cause: error,
  });
}

/** Makes one step if the expected state is still there. `files` journals what it replaces. */
async function applyStep(step: UndoStep, files: Files, store: UndoStore): Promise<void> {
  if (step.do === "move") {
    await requireState(step.from, step.state, files);
    await files.move(step.from, step.to, { createParents: false });
    return;
  }
  const { path, to } = step;
  if (step.do === "set_mode") {
    await requireState(path, step.from, files);
    await files.setAttributes(path, { mode: modeOf(to) });
    return;
  }
  const bytes = to.kind === "file" ? await storedContent(to, files.show(path), store) : undefined;
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
    next: "Check it, then undo again.",
  });
}

/** A FIFO or a device cannot be compared; only a forced undo removes one. */
function isOther(a: EntryState, b: EntryState): boolean {
  return a.kind === "other" && b.kind === "other";
}

async function storedContent(
  { hash = "" }: Extract<EntryState, { kind: "file" }>,
  shown: string,
  store: UndoStore,
): Promise<Buffer> {
  const bytes = await store.content(hash);
  if (bytes && hashOf(bytes) === hash) return bytes;
  throw toolError("failed", `The old content of "${shown}" is ${bytes ? "damaged" : "missing"} in the undo journal`, {
    next: "It cannot be restored from the journal. Look for another copy, such as version control.",
  });
}

const MAX_SHOWN_CONFLICTS = 20;
const MAX_DIFF_CHARACTERS = 4_000;

const REASONS: Record<UndoConflict["reason"], string> = {
  changed: "was changed later",
  not_empty: "is a folder to which other files were added later",
  occupied: "is occupied by something else now",
  folder_gone: "was in a folder that no longer exists",
  not_kept: "was too large, or of a kind that is not stored",
  denied: "is not allowed to be changed",
};

/** Lists the conflicts of an undo, with the later calls and the differences. */
async function refuseUndo(
  conflicts: readonly UndoConflict[],
  seen: { files: Files; store: UndoStore },
): Promise<ToolError> {
  const shown = await Promise.all(conflicts.slice(0, MAX_SHOWN_CONFLICTS).map((conflict) => show(conflict, seen)));
  const lines = shown.map(({ path, why, laterCalls, diff }) => {
    const by = laterCalls.length === 0 ? "" : ` (by ${laterCalls.map((call) => `call "${call}"`).join(", ")})`;
    return `"${path}" ${why}${by}${diff === "" ? "" : `:\n${diff.slice(0, MAX_DIFF_CHARACTERS)}`}`;
  });
  const more = conflicts.length > shown.length ? `\nand ${conflicts.length - shown.length} more` : "";
  return toolError("stale", `Nothing was undone. ${lines.join("\n")}${more}`, {
    next: "Undo the later calls first, or let a person decide which version to keep.",
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
  const { now, restored } = await conflictTexts(conflict, seen);
  return { path: seen.files.show(path), reason, why: conflict.why ?? REASONS[reason], laterCalls, diff, now, restored };
}
