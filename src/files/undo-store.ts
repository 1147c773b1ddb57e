import type { MaybePromise } from "../core/stage.ts";
import type { EntryState, FileChange, UndoJournal } from "./undo-journal.ts";

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

export function isOfCall(callId: string | undefined, of: string): boolean {
  return callId === of || callId?.startsWith(`${of}/`) === true;
}

export function isAtPath({ path, to }: Pick<RecordedChange, "path" | "to">, at: string): boolean {
  return [path, to].some((one) => one === at || one?.startsWith(at === "/" ? at : `${at}/`) === true);
}
