import type { CallAuthority, Caller } from "../../core/call.ts";
import { field } from "../../schema/describe-output.ts";

/** Access to sessions for these tools. Every method returns only what the caller may see. */
export interface SessionAccess {
  list(caller: Caller, query: { state?: SessionView["state"]; limit?: number }): Promise<SessionView[]>;
  history(
    caller: Caller,
    target: string,
    query: { last: number },
  ): Promise<{ session: SessionView; entries: EntryView[] }>;
  /** Throws `denied` if the caller may not send to it. */
  send(
    caller: Caller,
    target: string,
    message: { text: string; id: string },
    options: { waitMs: number; signal: AbortSignal },
  ): Promise<SentView>;
  spawn(authority: CallAuthority, request: SpawnView): Promise<SessionView>;
  status(
    caller: Caller,
    target?: string,
  ): Promise<{ session: SessionView; waiting: number; children: SessionView[] } | undefined>;
  stop(caller: Caller, target: string): Promise<{ key: string; stopped: number }>;
}

interface SessionView {
  key: string;
  label?: string;
  agent?: string;
  parent?: string;
  caller: Caller;
  state: "idle" | "running" | "waiting" | "stopped" | "failed";
  turns: number;
  pending: readonly { callId: string; name: string; pending: { kind: string; id: string } }[];
  usage: { inputTokens: number; outputTokens: number; costUsd?: number };
  lastText?: string;
  error?: string;
  createdAt: number;
  updatedAt: number;
}

export interface EntryView {
  seq: number;
  turn: number;
  at: number;
  message?: MessageView;
  incoming?: { kind: string };
  end?: { stop: string; error?: string };
}

type MessageView =
  | { role: "system" | "user" | "assistant"; content: string | readonly PartView[] }
  | { role: "tool"; results: readonly { callId: string; toolName: string; status: string; display: string }[] };

export type PartView =
  | { type: "text" | "reasoning"; text: string }
  | { type: "image" }
  | { type: "tool_call"; callId: string; name: string; input: unknown };

export type SentView = { key: string } & (
  | { status: "ok"; reply: string }
  | { status: "accepted"; reply?: string }
  | { status: "timeout" }
  | { status: "error"; error: string; reply?: string }
);

export interface SpawnView {
  task: string;
  label?: string;
  agent?: string;
  toolNames?: readonly string[];
  id: string;
}

/** A session as shown to a model: without its caller and its rights. */
export interface DescribedSession extends Omit<SessionView, "caller" | "pending" | "usage"> {
  depth: number;
  waitsFor?: string[];
}

export const SESSION_FIELDS = field.object<DescribedSession>({
  key: field.text(),
  "label?": field.text(),
  "agent?": field.text(),
  "parent?": field.text("Key of the session that spawned it"),
  depth: field.integer(),
  state: field.text("idle, running, waiting, stopped or failed"),
  turns: field.integer(),
  "waitsFor?": field.list(field.text()),
  "lastText?": field.text(),
  "error?": field.text(),
  createdAt: field.number("Unix milliseconds"),
  updatedAt: field.number("Unix milliseconds"),
});

export function describeSession(session: SessionView): DescribedSession {
  const { key, label, agent, parent, caller, state, turns, pending, lastText, error, createdAt, updatedAt } = session;
  return {
    key,
    label,
    agent,
    parent,
    depth: caller.depth,
    state,
    turns,
    waitsFor:
      pending.length === 0 ? undefined : pending.map(({ name, pending: wait }) => `${name} (${wait.kind} ${wait.id})`),
    lastText,
    error,
    createdAt,
    updatedAt,
  };
}

/** One line for people and models. */
export function lineOf({ key, label, state, turns, lastText }: DescribedSession): string {
  const message = lastText === undefined ? "" : `: ${lastText.replaceAll(/\s+/g, " ").slice(0, 120)}`;
  return `${label === undefined ? key : `${label} (${key})`}, ${state}, ${turns} turns${message}`;
}
