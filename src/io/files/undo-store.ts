import { createHash } from "node:crypto";
import { toolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";

/** A change as it was journalled; its contents lie in the store under their hashes. */
export interface RecordedChange {
  id: string;
  /** Grows with every change of the workspace, whichever process made it. */
  order: number;
  at: number;
  callId?: string;
  session?: string;
  user?: string;
  agent?: string;
  tool?: string;
  kind: FileChange["kind"];
  path: string;
  to?: string;
  /** At `path`; for a move at `to`. */
  old: EntryState;
  next: EntryState;
  /** It is known that it did not happen. */
  abandoned: boolean;
}

/** Whose call it is: callers choose their call ids themselves, and two may choose the same. */
export type CallOwner = Pick<RecordedChange, "session" | "user" | "agent">;

export interface ChangeFilter {
  session?: string;
  user?: string;
  agent?: string;
  /** This call, and the calls that it made. */
  callId?: string;
  /** Real path of a changed entry, or of a folder that holds it. */
  path?: string;
  /** Unix milliseconds. */
  since?: number;
  limit?: number;
}

/** One undo. Its own changes are journalled under its id, so that it can be undone in turn. */
export interface UndoRun {
  id: string;
  /** The calls that it takes back, with those that they made. */
  callIds: readonly string[];
  /** The same calls as `keyOf` names them. Absent in what older versions wrote: then all are of `session`. */
  keys?: readonly string[];
  session?: string;
  at: number;
  by?: string;
  forced: boolean;
  /** Who carries it out, to tell one that was killed from one that is under way. */
  owner: { host: string; pid: number; instance: string };
  /** `taken_back`: it failed, and its own steps were undone. `stuck`: neither it nor that could be finished. */
  state: "running" | "done" | "taken_back" | "stuck";
}

/** What was given up to stay within the limits; changes before it cannot be undone any more. */
export interface DiscardedChanges {
  changes: number;
  /** When the newest of them was made. */
  newest: number;
}

/** Where changes are kept: of one workspace, for all processes that work in it. */
export interface UndoStore extends UndoJournal {
  before(change: FileChange): Promise<string>;
  abandoned(id: string): Promise<void>;
  /** Newest first. */
  list(filter?: ChangeFilter): MaybePromise<RecordedChange[]>;
  content(hash: string): MaybePromise<Buffer | undefined>;
  /** False while another undo is `running`. */
  beginUndo(run: Omit<UndoRun, "state">): MaybePromise<boolean>;
  endUndo(id: string, state: Exclude<UndoRun["state"], "running">): MaybePromise<void>;
  /** Takes over what a dead process left; false when somebody else was faster. */
  adoptUndo(id: string, from: UndoRun["owner"], to: UndoRun["owner"]): MaybePromise<boolean>;
  /** Oldest first. */
  undos(): MaybePromise<UndoRun[]>;
  discardedChanges(): MaybePromise<DiscardedChanges | undefined>;
}

export interface UndoLimits {
  /** Of kept content, as it is stored; the oldest calls are given up beyond it. */
  maxBytes: number;
  maxAgeMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
export const DEFAULT_UNDO_LIMITS: UndoLimits = { maxBytes: 1024 * 1024 * 1024, maxAgeMs: 30 * DAY_MS };

export function isOwnedBy(change: CallOwner, { session, user, agent }: CallOwner): boolean {
  return change.session === session && change.user === user && change.agent === agent;
}

/** The call that a person would name: what a call calls in turn has its id and a number. */
export function rootCall(callId: string): string {
  return callId.replace(/(?:\/\d+)+$/, "");
}

function isOfCall(callId: string | undefined, of: string): boolean {
  return callId === of || callId?.startsWith(`${of}/`) === true;
}

export function isAtPath({ path, to }: Pick<RecordedChange, "path" | "to">, at: string): boolean {
  return [path, to].some((one) => one === at || one?.startsWith(at === "/" ? at : `${at}/`) === true);
}

export type EntryKind = "file" | "directory" | "symlink" | "other";

/** What stands at a path, without its content. A file that was too large to be read is known by its time of change. */
export type EntryState =
  | { kind: "absent" }
  | { kind: "file"; hash?: string; size: number; mode?: number; modified?: string }
  | { kind: "directory"; mode?: number }
  | { kind: "symlink"; target: string }
  | { kind: "other" };

/** On whose behalf a change is made. */
export interface ChangeMaker {
  callId?: string;
  session?: string;
  user?: string;
  agent?: string;
  tool?: string;
}

/** What a change is about to destroy, told before it happens; enough to put it back. */
export interface FileChange extends ChangeMaker {
  kind: "write" | "delete" | "move" | "make_directory" | "make_link";
  /** Real absolute path; of a move the one that is left. */
  path: string;
  /** Where a move goes. */
  to?: string;
  /** What stood at `path` (at `to`, for a move). */
  was: EntryKind | "absent";
  /** The old content of a file; null where there was none, or where `omitted` says why. */
  old: Buffer | null;
  omitted?: "too_large";
  mode?: number;
  linkTarget?: string;
  /** What will stand there once it has happened; `bytes` where they are worth keeping. */
  next: EntryState & { bytes?: Uint8Array };
}

/** The store keeps the durable one. */
export interface UndoJournal {
  /** A change whose `before` rejects does not happen. Answers the name under which it is kept. */
  before(change: FileChange): Promise<string | void>;
  /** The change did not happen after all. One of which this is never told has happened, or its process has died. */
  abandoned?(id: string): Promise<void>;
}

/** Larger content is not journalled, and the journal is told so. */
export const MAX_UNDO_BYTES = 64 * 1024 * 1024;

/** Records, or says that nothing was changed because it could not be recorded. */
export async function recordChange(
  { journal, callId, session, user, agent, tool }: ChangeMaker & { journal: UndoJournal },
  change: Omit<FileChange, keyof ChangeMaker>,
): Promise<{ abandon(): Promise<void> }> {
  let id: string | void;
  try {
    id = await journal.before({ callId, session, user, agent, tool, ...change });
  } catch (cause) {
    throw toolError("not_recorded", "The change could not be recorded for undo, so nothing was changed", {
      next: "Try again later; if it persists, tell the user that the undo journal fails.",
      cause,
    });
  }
  return {
    // A journal that cannot note it finds out at the undo: the file is then not as the change would have left it.
    abandon: async () => (id === undefined ? undefined : journal.abandoned?.(id).catch(() => {})),
  };
}

export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** What a write of these bytes leaves behind. */
export function fileOf(bytes: Uint8Array): EntryState & { bytes?: Uint8Array } {
  const { byteLength: size } = bytes;
  return size > MAX_UNDO_BYTES ? { kind: "file", size } : { kind: "file", hash: hashOf(bytes), size, bytes };
}

/** What stood there before a change, as a state. */
export function stateBefore({ was, old, mode, linkTarget }: OldEntry): EntryState {
  const bits = mode === undefined ? {} : { mode };
  switch (was) {
    case "file":
      return { kind: "file", hash: old ? hashOf(old) : undefined, size: old?.byteLength ?? -1, ...bits };
    case "directory":
      return { kind: "directory", ...bits };
    case "symlink":
      return { kind: "symlink", target: linkTarget ?? "" };
    default:
      return { kind: was };
  }
}

export type OldEntry = Pick<FileChange, "was" | "old" | "omitted" | "mode" | "linkTarget">;

/** Permissions apart: no tool changes them, so that where they differ somebody else wanted them so. */
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

/** Each change also counts for itself, so that a million empty ones are bounded too. */
const CHANGE_BYTES = 256;

/** Forgets its oldest calls beyond `maxBytes` of content, and everything when the process ends. */
export function createMemoryUndo({ maxBytes = 64 * 1024 * 1024, clock = Date.now } = {}): UndoStore & {
  /** Oldest first. */
  readonly changes: readonly RecordedChange[];
} {
  const changes: RecordedChange[] = [];
  const contents = new Map<string, StoredContent>();
  const runs: UndoRun[] = [];
  let order = 0;
  let held = 0;
  let discardedChanges: DiscardedChanges | undefined;

  const store = (hash: string | undefined, bytes: Uint8Array | null | undefined): void => {
    if (hash === undefined || !bytes) return;
    const stored = contents.get(hash);
    if (stored) stored.uses += 1;
    else {
      contents.set(hash, { bytes: Buffer.from(bytes), uses: 1 });
      held += bytes.byteLength;
    }
  };
  const release = (hash: string | undefined): void => {
    const stored = hash === undefined ? undefined : contents.get(hash);
    if (hash === undefined || !stored || --stored.uses > 0) return;
    contents.delete(hash);
    held -= stored.bytes.byteLength;
  };
  const drop = (change: RecordedChange): void => {
    changes.splice(changes.indexOf(change), 1);
    held -= CHANGE_BYTES;
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
      changes.push({ id: String(order), order, at: clock(), ...facts, old, next, abandoned: false });
      held += CHANGE_BYTES;
      store(hashIn(old), change.old);
      store(hashIn(next), bytes);
      // A call that is half forgotten could not be undone as a whole.
      while (held > maxBytes && changes.length > 1) {
        const oldest = changes[0]!;
        const call = callKey(oldest);
        const whole = changes.filter((other) => other === oldest || (call !== undefined && callKey(other) === call));
        if (whole.length === changes.length) break;
        for (const one of whole) drop(one);
      }
      return String(order);
    },
    async abandoned(id) {
      const change = changes.find((one) => one.id === id);
      if (change) change.abandoned = true;
    },
    list: ({ session, user, agent, callId, path, since = 0, limit = Number.POSITIVE_INFINITY } = {}) =>
      changes
        .toReversed()
        .filter(
          (change) =>
            (session === undefined || change.session === session) &&
            (user === undefined || change.user === user) &&
            (agent === undefined || change.agent === agent) &&
            (callId === undefined || isOfCall(change.callId, callId)) &&
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
      const run = runs.find((one) => one.id === id);
      if (run) run.state = state;
    },
    adoptUndo(id, from, to) {
      const run = runs.find((one) => one.id === id && one.state === "running");
      if (run?.owner.instance !== from.instance) return false;
      run.owner = to;
      return true;
    },
    undos: () => structuredClone(runs),
    discardedChanges: () => discardedChanges,
  };
}

function hashIn(state: RecordedChange["old"]): string | undefined {
  return state.kind === "file" ? state.hash : undefined;
}

function callKey({ session, user, agent, callId }: ChangeMaker): string | undefined {
  return callId === undefined ? undefined : JSON.stringify([session, user, agent, rootCall(callId)]);
}
