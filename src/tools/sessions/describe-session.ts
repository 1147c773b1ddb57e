import type { SessionView } from "./session-access.ts";

/** A session as a model is told of it: without whose behalf it acts on, and without what it may use. */
export interface DescribedSession {
  key: string;
  label?: string;
  agent?: string;
  parent?: string;
  depth: number;
  state: SessionView["state"];
  turns: number;
  waitsFor?: string[];
  lastText?: string;
  error?: string;
  createdAt: number;
  updatedAt: number;
}

export function describeSession(session: SessionView): DescribedSession {
  const { key, label, agent, parent, caller, state, turns, pending, lastText, error, createdAt, updatedAt } = session;
  return {
    key,
    ...(label === undefined ? {} : { label }),
    ...(agent === undefined ? {} : { agent }),
    ...(parent === undefined ? {} : { parent }),
    depth: caller.depth,
    state,
    turns,
    ...(pending.length === 0
      ? {}
      : { waitsFor: pending.map(({ name, pending: wait }) => `${name} (${wait.kind} ${wait.id})`) }),
    ...(lastText === undefined ? {} : { lastText }),
    ...(error === undefined ? {} : { error }),
    createdAt,
    updatedAt,
  };
}

/** One line for a person and for a model. */
export function lineOf({ key, label, state, turns, lastText }: DescribedSession): string {
  const message = lastText === undefined ? "" : `: ${lastText.replaceAll(/\s+/g, " ").slice(0, 120)}`;
  return `${label === undefined ? key : `${label} (${key})`}, ${state}, ${turns} turns${message}`;
}
