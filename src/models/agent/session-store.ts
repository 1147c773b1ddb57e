import type { Caller, CallMode, CallPolicy } from "../../core/call.ts";
import type { PendingResult, ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AgentStop, AgentUsage, Message } from "./agent.ts";

/**
 * `waiting`: for a person, a job or a client. `failed`: the last turn ended with an error. A message to a failed or stopped
 * session starts a new turn.
 */
export type SessionState = "idle" | "running" | "waiting" | "stopped" | "failed";

/** A stored conversation with an agent: its caller, its rights and its state. Plain JSON. */
export interface Session {
  /** Also identifies it for taint, grants, environment and journal (`caller.session`). */
  key: string;
  /** A name for people and models; need not be unique. */
  label?: string;
  /** The name of the configured agent. Default: the default agent. */
  agent?: string;
  /** The session that spawned it. */
  parent?: string;
  /** The root of its tree of sessions; itself if it has no parent. */
  root: string;
  /** The caller of its calls: `session` is its key, `parent` the caller that spawned it. */
  caller: Caller;
  /** The allowed tools. If omitted, all tools of the agent. */
  toolNames?: readonly string[];
  /** Each policy can only restrict. Those of its parents come first. */
  policy: readonly CallPolicy[];
  mode?: CallMode;
  /** The variables that it has set for its commands. */
  environment: Readonly<Record<string, string>>;
  state: SessionState;
  /** The number of turns, including a running one. */
  turns: number;
  /** Pending calls without a result. */
  pending: readonly PendingCall[];
  usage: AgentUsage;
  /** The start of its last text. */
  lastText?: string;
  /** Why its last turn failed. */
  error?: string;
  createdAt: number;
  updatedAt: number;
}

export interface PendingCall {
  callId: string;
  name: string;
  pending: PendingResult["pending"];
}

/** A message in the inbox of a session. A message with a known id is not added again. */
export interface Incoming {
  id: string;
  /** `announce`: a child has ended. `wake`: from a schedule. `result`: of a pending call. */
  kind: "message" | "announce" | "wake" | "result";
  text: string;
  from?: { user?: string; session?: string; label?: string };
  result?: ToolResult;
  at: number;
}

/** One entry of the history. The last entry of a turn has its end. */
export interface SessionEntry {
  /** Starts at 1, without gaps. */
  seq: number;
  turn: number;
  at: number;
  message?: Message;
  /** The source of a message that is not from the model. */
  incoming?: Omit<Incoming, "text" | "at">;
  end?: TurnEnd;
}

export type EntryDraft = Omit<SessionEntry, "seq" | "turn" | "at">;

export interface TurnEnd {
  stop: AgentStop;
  /** The last text of the agent. */
  text: string;
  steps: number;
  usage: AgentUsage;
  error?: string;
}

export type SessionChanges = Partial<
  Pick<Session, "state" | "pending" | "usage" | "lastText" | "environment" | "label"> & { error: string | undefined }
>;

/** Whether a session is a descendant of the session `key`. */
export function isBelow({ caller, key: own }: Session, key: string): boolean {
  if (own === key) return false;
  for (let one: Caller | undefined = caller.parent; one; one = one.parent) if (one.session === key) return true;
  return false;
}

/** The right to run a session. Writing with a lost lease does nothing and returns undefined. */
export interface Lease {
  readonly key: string;
  readonly id: string;
}

export interface SessionQuery {
  parent?: string;
  root?: string;
  label?: string;
  state?: SessionState;
  limit?: number;
}

export interface HistoryQuery {
  /** Only entries after this `seq`. */
  after?: number;
  /** Only the last N of them. */
  last?: number;
  /** Only the first N of them. */
  limit?: number;
}

export interface AppendOptions {
  changes?: SessionChanges;
  /** A message for another session, added in the same transaction. */
  announce?: { to: string; item: Incoming };
}

/** Stores conversations. Several processes may share a store; a lease lets one process at a time run a session. */
export interface SessionStore {
  /** Whether other processes may change the store. */
  readonly shared: boolean;
  /** Adds a session with its first message. Returns false if the key is in use. */
  add(session: Session, first?: Incoming): MaybePromise<boolean>;
  get(key: string): MaybePromise<Session | undefined>;
  /** The most recently changed first. */
  list(query?: SessionQuery): MaybePromise<Session[]>;
  /** Adds a message to the inbox. An id is accepted only once, even after the message was taken. */
  push(key: string, item: Incoming, max: number): MaybePromise<"added" | "known" | "full" | "missing">;
  /** Removes a message that was not taken yet. */
  drop(key: string, id: string): MaybePromise<void>;
  /** The number of messages in the inbox. */
  waiting(key: string): MaybePromise<number>;
  /** Undefined if a living process has the lease. */
  claim(key: string): MaybePromise<Lease | undefined>;
  /** Moves the inbox to the history, which starts a turn if there are messages. */
  take(lease: Lease, toEntry: (item: Incoming) => EntryDraft): MaybePromise<SessionEntry[] | undefined>;
  /** Adds entries. A message in `incoming` of a draft is removed from the inbox. */
  append(
    lease: Lease,
    drafts: readonly EntryDraft[],
    written?: AppendOptions,
  ): MaybePromise<SessionEntry[] | undefined>;
  /** Returns false, and keeps the lease, if the inbox has messages. `force` releases it anyway. */
  release(lease: Lease, force?: boolean): MaybePromise<boolean>;
  /** Tells the process that runs the session to stop it. Returns false if there is no such session. */
  requestStop(key: string): MaybePromise<boolean>;
  isStopRequested(key: string): MaybePromise<boolean>;
  history(key: string, query?: HistoryQuery): MaybePromise<SessionEntry[]>;
  /** The end of the turn that took this message; undefined if it has not ended. */
  endOf(key: string, id: string): MaybePromise<TurnEnd | undefined>;
  /** Sessions without a lease that have messages or an interrupted turn. */
  due(): MaybePromise<string[]>;
}
