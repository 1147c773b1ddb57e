import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { toFailure, toolError, type ToolError } from "../core/error.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Files } from "./files.ts";
import { isAlive } from "./temporary-file.ts";
import { applyStep } from "./undo-apply.ts";
import { keyOf, keysOf, nameOf } from "./undo-history.ts";
import { planUndo, type UndoPlan, type UndoStep } from "./undo-plan.ts";
import { refuseUndo } from "./undo-refusal.ts";
import { type CallOwner, type RecordedChange, rootCall, type UndoRun, type UndoStore } from "./undo-store.ts";
import { createTreeView } from "./undo-view.ts";

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

export interface RecoveredUndo {
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
export function createUndoRunner({ files, store, clock, onUndo }: RunnerOptions) {
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
