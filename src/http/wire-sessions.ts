// Sessions of agents: GET|POST /api/sessions, GET /api/sessions/{key}, GET /api/sessions/{key}/history,
// GET /api/sessions/{key}/updates (event stream), POST /api/sessions/{key}/messages, POST /api/sessions/{key}/stop
import type { SessionEntry, SessionState } from "../models/agent/session-store.ts";
import type { SessionEvent } from "../models/agent/sessions.ts";
import type { CallMode, Caller } from "../core/call.ts";

export type { SessionEntry, SessionState };

/** A conversation with an agent; not the login, which is `SessionInfo`. */
export interface AgentSessionInfo {
  key: string;
  label?: string;
  agent?: string;
  parent?: string;
  root: string;
  caller: Caller;
  mode?: CallMode;
  state: SessionState;
  turns: number;
  pending: { callId: string; name: string; pending: { kind: "job" | "approval" | "client"; id: string } }[];
  usage: { inputTokens: number; outputTokens: number; costUsd?: number };
  lastText?: string;
  error?: string;
  createdAt: number;
  updatedAt: number;
}

export interface AgentSessionDetail extends AgentSessionInfo {
  /** How much waits for its next turn. */
  waiting: number;
  toolNames?: string[];
  children: AgentSessionInfo[];
}

export interface AgentSessionPage {
  items: AgentSessionInfo[];
  /** Whether a model is there to answer. */
  canAnswer: boolean;
}

export interface NewAgentSessionRequest {
  label?: string;
  agent?: string;
  /** `acceptEdits` and `bypassPermissions` need the scope `approve`. */
  mode?: CallMode;
  /** Only these tools. */
  toolNames?: string[];
}

export interface SessionMessageRequest {
  text: string;
  /** The same message again is taken once. */
  id?: string;
  /** How long to wait for the answer; not at all where absent. */
  waitMs?: number;
}

export interface SessionMessageAnswer {
  status: "ok" | "accepted" | "timeout" | "error";
  reply?: string;
  error?: string;
}

export interface SessionStopped {
  /** With those that it spawned. */
  stopped: number;
}

/** Server-sent events of a session: `event:` is the type. Entries are numbered; the rest is told while a turn runs here. */
export type SessionFrame = SessionEvent;
