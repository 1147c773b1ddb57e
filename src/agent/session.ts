import type { CallMode, CallPolicy, Caller } from "../core/call.ts";
import type { PendingResult, ToolResult } from "../core/result.ts";
import type { AgentStop, AgentUsage } from "./agent.ts";
import type { Message } from "./message.ts";

/**
 * `waiting`: for a person, a job or a client. `failed`: its last turn ended in an error; what is said to it next begins
 * another one, as with one that was `stopped`.
 */
export type SessionState = "idle" | "running" | "waiting" | "stopped" | "failed";

/** A stored conversation with an agent: who it acts for, what it may use, and where it stands. Plain JSON. */
export interface Session {
  /** Also the name under which taint, grants, environment and journal know it (`caller.session`). */
  key: string;
  /** A name for people and models; several sessions may have the same. */
  label?: string;
  /** The configured agent; the default one where absent. */
  agent?: string;
  /** The session that spawned it. */
  parent?: string;
  /** The outermost session above it, or itself. */
  root: string;
  /** On whose behalf its calls are made; `session` is its own key, `parent` whoever spawned it. */
  caller: Caller;
  /** The tools that it is held to; all of its agent where absent. */
  toolNames?: readonly string[];
  /** Each only narrows; those of its parents come first. */
  policy: readonly CallPolicy[];
  mode?: CallMode;
  /** What it has set for its commands. */
  environment: Readonly<Record<string, string>>;
  state: SessionState;
  /** How many there were; the last may be under way. */
  turns: number;
  /** Calls that were answered `pending` and have no result yet. */
  pending: readonly PendingCall[];
  usage: AgentUsage;
  /** What it said last, cut. */
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

/** What waits for a session's next turn. Its id makes sure that it comes once, however often it is sent. */
export interface Incoming {
  id: string;
  /** `announce`: a child has ended. `wake`: a schedule. `result`: of a call that was answered `pending`. */
  kind: "message" | "announce" | "wake" | "result";
  text: string;
  from?: { user?: string; session?: string; label?: string };
  result?: ToolResult;
  at: number;
}

/** One line of a session's history. A turn's last one is its end. */
export interface SessionEntry {
  /** From 1, without gaps. */
  seq: number;
  turn: number;
  at: number;
  message?: Message;
  /** What the message came from, where it was not said by the model. */
  incoming?: Omit<Incoming, "text" | "at">;
  end?: TurnEnd;
}

export type EntryDraft = Omit<SessionEntry, "seq" | "turn" | "at">;

export interface TurnEnd {
  stop: AgentStop;
  /** What the agent said last. */
  text: string;
  steps: number;
  usage: AgentUsage;
  error?: string;
}

export type SessionChanges = Partial<
  Pick<Session, "state" | "pending" | "usage" | "lastText" | "environment" | "label"> & { error: string | undefined }
>;

/** Whether a session is one that `key` spawned, or one of those did. */
export function isBelow({ caller, key: own }: Session, key: string): boolean {
  if (own === key) return false;
  for (let one: Caller | undefined = caller.parent; one; one = one.parent) if (one.session === key) return true;
  return false;
}
