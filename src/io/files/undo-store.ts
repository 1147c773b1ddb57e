import { createHash, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { toolError, type ToolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";

/** A journalled change. The store has the contents by their hashes. */
export interface RecordedChange extends Omit<ChangeMaker, "group"> {
  id: string;
  /** Increases with every change in the workspace, across processes. */
  order: number;
  at: number;
  kind: FileChange["kind"];
  path: string;
  to?: string;
  /** State at `path`; for a move at `to`. */
  old: EntryState;
  next: EntryState;
  /** The change did not happen. */
  abandoned: boolean;
}

/** Who made a call. Callers choose their call ids, and two may choose the same. */
export type CallOwner = Pick<RecordedChange, "session" | "user" | "agent">;

/** `callId`: this call and its nested calls. `group`: changes of this `ChangeGroup`. */
export interface ChangeFilter extends Omit<ChangeMaker, "tool"> {
  /** Real path of a changed entry or of a folder that contains it. */
  path?: string;
  /** Unix milliseconds. */
  since?: number;
  limit?: number;
}

/** A process. `instance` differs between two processes that had the same pid. */
export interface ProcessOwner {
  host: string;
  pid: number;
  instance: string;
}

let owner: ProcessOwner | undefined;

export function thisOwner(): ProcessOwner {
  return (owner ??= { host: hostname(), pid: process.pid, instance: randomUUID() });
}

/** Changes of several entries that are made as a whole. One that has not ended when its process dies is rolled back. */
export interface ChangeGroup extends ChangeMaker {
  id: string;
  at: number;
  owner: ProcessOwner;
}

/** How a group ended. `stuck`: its process died, and it could not be rolled back. */
export type GroupEnd = { state: "done" } | { state: "rolled_back" } | { state: "stuck"; why: string };

/** One undo. Its own changes are journalled under its id, so it can be undone, too. */
export interface UndoRun {
  id: string;
  /** The calls that it undoes, with their nested calls. */
  callIds: readonly string[];
  /** The same calls as `keyOf` names them. Missing in records of older versions: all calls then belong to `session`. */
  keys?: readonly string[];
  session?: string;
  at: number;
  by?: string;
  forced: boolean;
  /** The process that runs it, to distinguish a killed undo from a running one. */
  owner: ProcessOwner;
  /** `taken_back`: it failed and was rolled back. `stuck`: it could neither be finished nor rolled back. */
  state: "running" | "done" | "taken_back" | "stuck";
}

/** What was discarded to stay within the limits. Earlier changes cannot be undone. */
export interface DiscardedChanges {
  changes: number;
  /** When the newest of them was made. */
  newest: number;
}

/** Stores the changes in one workspace, for all processes that work in it. */
export interface UndoStore extends UndoJournal {
  /** Saves what a change will replace; returns the id of the change. */
  before(change: FileChange): Promise<string>;
  /** Marks a change that did not happen. */
  abandoned(id: string): Promise<void>;
  /** Newest first. */
  list(filter?: ChangeFilter): MaybePromise<RecordedChange[]>;
  /** The saved content with this hash. */
  content(hash: string): MaybePromise<Buffer | undefined>;
  /** False while another undo is `running`. */
  beginUndo(run: Omit<UndoRun, "state">): MaybePromise<boolean>;
  /** Notes how an undo ended. */
  endUndo(id: string, state: Exclude<UndoRun["state"], "running">): MaybePromise<void>;
  /** Takes over the undo of a dead process; false if another process was faster. */
  adoptUndo(id: string, from: UndoRun["owner"], to: UndoRun["owner"]): MaybePromise<boolean>;
  /** Oldest first. */
  undos(): MaybePromise<UndoRun[]>;
  /** What was dropped to keep the size limit. */
  discardedChanges(): MaybePromise<DiscardedChanges | undefined>;
  /** Before the first change of a group. */
  beginGroup(group: ChangeGroup): Promise<void>;
  /** After `rolled_back` its changes count as if they had not happened. */
  endGroup(id: string, end: GroupEnd): Promise<void>;
  /** The groups that have not ended. */
  groups(): MaybePromise<ChangeGroup[]>;
  /** Takes over the group of a dead process; false if another process was faster. */
  adoptGroup(id: string, from: ProcessOwner, to: ProcessOwner): MaybePromise<boolean>;
  /** Folders of changes since the last `cleaned`: a killed writer may have left a temporary file there. */
  uncleanFolders(): MaybePromise<{ folders: string[]; upTo: number }>;
  /** No writer has left anything in the folders of changes up to this order number. */
  cleaned(upTo: number): MaybePromise<void>;
}

export interface UndoLimits {
  /** Max size of stored content. Above it the oldest calls are discarded. */
  maxBytes: number;
  maxAgeMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
export const DEFAULT_UNDO_LIMITS: UndoLimits = { maxBytes: 1024 * 1024 * 1024, maxAgeMs: 30 * DAY_MS };

export function isOwnedBy(change: CallOwner, { session, user, agent }: CallOwner): boolean {
  return change.session === session && change.user === user && change.agent === agent;
}

/** The outermost call: the id of a nested call is that id plus a number. */
export function rootCall(callId: string): string {
  return callId.replace(/(?:\/\d+)+$/, "");
}

function isOfCall(callId: string | undefined, of: string): boolean {
  return callId === of || callId?.startsWith(`${of}/`) === true;
}

export function isAtPath({ path, to }: Pick<RecordedChange, "path" | "to">, at: string): boolean {
  return [path, to].some((each) => each === at || each?.startsWith(at === "/" ? at : `${at}/`) === true);
}

export type EntryKind = "file" | "directory" | "symlink" | "other";

/** What exists at a path, without its content. A file that is too large to hash is identified by its modification time. */
export type EntryState =
  | { kind: "absent" }
  | { kind: "file"; hash?: string; size: number; mode?: number; modified?: string }
  | { kind: "directory"; mode?: number }
  | { kind: "symlink"; target: string }
  | { kind: "other" };

/** The call that makes a change. */
export interface ChangeMaker {
  callId?: string;
  session?: string;
  user?: string;
  agent?: string;
  tool?: string;
  /** The id of the group that the change belongs to. */
  group?: string;
}

/** A change before it happens, with what is needed to restore the old state. */
export interface FileChange extends ChangeMaker {
  /** `set_mode`: only the permissions of a file or folder change. */
  kind: "write" | "delete" | "move" | "make_directory" | "make_link" | "set_mode";
  /** Real absolute path; for a move the source. */
  path: string;
  /** The target of a move. */
  to?: string;
  /** What existed at `path` (at `to`, for a move). */
  was: EntryKind | "absent";
  /** The old content of a file; null if there was none or if `omitted` gives the reason. */
  old: Buffer | null;
  omitted?: "too_large";
  mode?: number;
  linkTarget?: string;
  /** The state after the change; `bytes` if the content is to be stored. */
  next: EntryState & { bytes?: Uint8Array };
}

/** Records changes. `UndoStore` is the durable implementation. */
export interface UndoJournal {
  /** If it rejects, the change does not happen. Returns the id of the change. */
  before(change: FileChange): Promise<string | void>;
  /** The change did not happen. Without this call it happened, or its process died. */
  abandoned?(id: string): Promise<void>;
  /** Before the first change of several that are made as a whole. */
  beginGroup?(group: ChangeGroup): Promise<void>;
  /** After the last change of a group. */
  endGroup?(id: string, end: GroupEnd): Promise<void>;
}

/** Larger content is not journalled; the change is then marked as `omitted`. */
export const MAX_UNDO_BYTES = 64 * 1024 * 1024;

/** Records a change. Throws if it cannot be recorded; the change must not happen then. */
export async function recordChange(
  { journal, callId, session, user, agent, tool, group }: ChangeMaker & { journal: UndoJournal },
  change: Omit<FileChange, keyof ChangeMaker>,
): Promise<{ abandon(): Promise<void> }> {
  let id: string | void;
  try {
    id = await journal.before({ callId, session, user, agent, tool, group, ...change });
  } catch (cause) {
    throw notRecorded(cause);
  }
  return {
    // If this fails, the undo notices it: the file is not in the state that the change would have left.
    abandon: async () => (id === undefined ? undefined : journal.abandoned?.(id).catch(() => {})),
  };
}

function notRecorded(cause: unknown): ToolError {
  return toolError("not_recorded", "The change could not be recorded for undo, so nothing was changed", {
    next: "Try again later; if it persists, tell the user that the undo journal fails.",
    cause,
  });
}

/** Runs `work`, whose changes name the group. If this process dies before the end, the next host rolls them back. */
export async function changeTogether<T>(
  { journal, callId, session, user, agent, tool }: ChangeMaker & { journal: UndoJournal },
  at: number,
  work: (group: string | undefined) => Promise<T>,
): Promise<T> {
  if (!journal.beginGroup) return work(undefined);
  const id = randomUUID();
  try {
    await journal.beginGroup({ id, at, owner: thisOwner(), callId, session, user, agent, tool });
  } catch (cause) {
    throw notRecorded(cause);
  }
  const end = async (): Promise<void> => journal.endGroup?.(id, { state: "done" });
  let result: T;
  try {
    result = await work(id);
  } catch (error) {
    // `work` has reported what it left; if this fails, the next start rolls that back.
    await end().catch(() => undefined);
    throw error;
  }
  try {
    await end();
  } catch (cause) {
    throw toolError("io_error", "The files were changed, but the end of the change could not be recorded", {
      next: "The change is taken back at the next start of Haft. Check the files then.",
      cause,
    });
  }
  return result;
}

export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The state of a file with this content. */
export function fileOf(bytes: Uint8Array): EntryState & { bytes?: Uint8Array } {
  const { byteLength: size } = bytes;
  return size > MAX_UNDO_BYTES ? { kind: "file", size } : { kind: "file", hash: hashOf(bytes), size, bytes };
}

/** The state before a change. */
export function stateBefore({ was, old, mode, linkTarget }: OldEntry): EntryState {
  switch (was) {
    case "file":
      return { kind: "file", hash: old ? hashOf(old) : undefined, size: old?.byteLength ?? -1, mode };
    case "directory":
      return { kind: "directory", mode };
    case "symlink":
      return { kind: "symlink", target: linkTarget ?? "" };
    default:
      return { kind: was };
  }
}

export type OldEntry = Pick<FileChange, "was" | "old" | "omitted" | "mode" | "linkTarget">;

/** Ignores permissions: only `set_mode` changes them, so another difference was made on purpose by someone else. */
export function isSameState(a: EntryState, b: EntryState): boolean {
  if (a.kind === "file" && b.kind === "file") {
    if (a.hash !== undefined || b.hash !== undefined) return a.hash === b.hash;
    return a.modified !== undefined && a.modified === b.modified && a.size === b.size;
  }
  if (a.kind === "symlink" && b.kind === "symlink") return a.target === b.target;
  return a.kind === b.kind && a.kind !== "other";
}

interface StoredContent {
  bytes: Buffer;
  uses: number;
}

/** The size of a change without content, so the number of changes is limited, too. */
const CHANGE_BYTES = 256;

/** In memory only. Discards the oldest calls above `maxBytes` of content. */
export function createMemoryUndo({ maxBytes = 64 * 1024 * 1024, clock = Date.now } = {}): UndoStore & {
  /** Oldest first. */
  readonly changes: readonly RecordedChange[];
} {
  const changes: RecordedChange[] = [];
  const contents = new Map<string, StoredContent>();
  const runs: UndoRun[] = [];
  const groups = new Map<string, ChangeGroup>();
  const groupOf = new Map<RecordedChange, string>();
  let cleanedUpTo = 0;
  let order = 0;
  let storedBytes = 0;
  let discardedChanges: DiscardedChanges | undefined;

  const store = (hash: string | undefined, bytes: Uint8Array | null | undefined): void => {
    if (hash === undefined || !bytes) return;
    const stored = contents.get(hash);
    if (stored) stored.uses += 1;
    else {
      contents.set(hash, { bytes: Buffer.from(bytes), uses: 1 });
      storedBytes += bytes.byteLength;
    }
  };
  const release = (hash: string | undefined): void => {
    const stored = hash === undefined ? undefined : contents.get(hash);
    if (hash === undefined || !stored || --stored.uses > 0) return;
    contents.delete(hash);
    storedBytes -= stored.bytes.byteLength;
  };
  const drop = (change: RecordedChange): void => {
    changes.splice(changes.indexOf(change), 1);
    groupOf.delete(change);
    storedBytes -= CHANGE_BYTES;
    release(hashIn(change.old));
    if (change.kind !== "move") release(hashIn(change.next));
    discardedChanges = {
      changes: (discardedChanges?.changes ?? 0) + 1,
      newest: Math.max(discardedChanges?.newest ?? 0, change.at),
    };
  };

  return {
    changes,
    async before(change) {
      const { bytes, ...next } = change.next;
      const old = stateBefore(change);
      order += 1;
      const { callId, session, user, agent, tool, kind, path, to } = change;
      const facts = { callId, session, user, agent, tool, kind, path, to };
      const recorded = { id: String(order), order, at: clock(), ...facts, old, next, abandoned: false };
      changes.push(recorded);
      if (change.group !== undefined) groupOf.set(recorded, change.group);
      storedBytes += CHANGE_BYTES;
      store(hashIn(old), change.old);
      store(hashIn(next), bytes);
      // Whole calls only: a call with missing changes could not be undone.
      for (let [oldest] = changes; oldest && storedBytes > maxBytes; [oldest] = changes) {
        const first = oldest;
        const call = callKey(first);
        const whole = changes.filter((other) => other === first || (call !== undefined && callKey(other) === call));
        if (whole.length === changes.length) break;
        for (const each of whole) drop(each);
      }
      return String(order);
    },
    async abandoned(id) {
      const change = changes.find((each) => each.id === id);
      if (change) change.abandoned = true;
    },
    list: ({ session, user, agent, callId, group, path, since = 0, limit = Number.POSITIVE_INFINITY } = {}) =>
      changes
        .toReversed()
        .filter(
          (change) =>
            (session === undefined || change.session === session) &&
            (user === undefined || change.user === user) &&
            (agent === undefined || change.agent === agent) &&
            (callId === undefined || isOfCall(change.callId, callId)) &&
            (group === undefined || groupOf.get(change) === group) &&
            (path === undefined || isAtPath(change, path)) &&
            change.at >= since,
        )
        .slice(0, limit)
        .map((change) => structuredClone(change)),
    content: (hash) => contents.get(hash)?.bytes,
    beginUndo(run) {
      if (runs.some(({ state }) => state === "running")) return false;
      runs.push({ ...run, state: "running" });
      return true;
    },
    endUndo(id, state) {
      const run = runs.find((each) => each.id === id);
      if (run) run.state = state;
    },
    adoptUndo(id, from, to) {
      const run = runs.find((each) => each.id === id && each.state === "running");
      if (run?.owner.instance !== from.instance) return false;
      run.owner = to;
      return true;
    },
    undos: () => structuredClone(runs),
    discardedChanges: () => discardedChanges,
    async beginGroup(group) {
      groups.set(group.id, group);
    },
    async endGroup(id, { state }) {
      groups.delete(id);
      if (state !== "rolled_back") return;
      for (const change of changes) if (groupOf.get(change) === id) change.abandoned = true;
    },
    groups: () => structuredClone([...groups.values()]),
    adoptGroup(id, from, to) {
      const group = groups.get(id);
      if (group?.owner.instance !== from.instance) return false;
      group.owner = to;
      return true;
    },
    uncleanFolders() {
      const unclean = changes.filter((change) => change.order > cleanedUpTo);
      return { folders: foldersOf(unclean), upTo: order };
    },
    cleaned: (upTo) => void (cleanedUpTo = upTo),
  };
}

/** The folders in which the changes wrote. */
export function foldersOf(changes: readonly Pick<RecordedChange, "path" | "to">[]): string[] {
  return [...new Set(changes.flatMap(({ path, to }) => [path, to ?? path]).map((path) => dirname(path)))];
}

function hashIn(state: RecordedChange["old"]): string | undefined {
  return state.kind === "file" ? state.hash : undefined;
}

function callKey({ session, user, agent, callId }: ChangeMaker): string | undefined {
  return callId === undefined ? undefined : JSON.stringify([session, user, agent, rootCall(callId)]);
}
