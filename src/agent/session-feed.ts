import type { Clock, Timer } from "../core/clock.ts";
import type { AgentEvent } from "./agent.ts";
import type { SessionEntry } from "./session.ts";
import type { SessionStore } from "./session-store.ts";

/** What those who watch a session are told. Entries are kept; the rest is told only where the turn runs, while it runs. */
export type SessionEvent =
  | { type: "entry"; entry: SessionEntry }
  | Extract<AgentEvent, { type: "text" | "reasoning" | "tool_update" | "tool_result" }>;

export interface SessionFeed {
  emit(key: string, event: SessionEvent): void;
  /** From the entry after `after` on, until the signal. What other processes add is found in the store. */
  follow(
    key: string,
    options?: { after?: number; signal?: AbortSignal },
  ): AsyncGenerator<SessionEvent, void, undefined>;
  /** Resolves at the next event of the session, or after `ms`. */
  next(key: string, ms: number | undefined, signal?: AbortSignal): Promise<void>;
}

type Listener = (event: SessionEvent) => void;

/** How often a store that others write to is looked at. */
const POLL_MS = 400;

export function createSessionFeed(store: SessionStore, clock: Clock): SessionFeed {
  const listeners = new Map<string, Set<Listener>>();

  const listen = (key: string, listener: Listener): (() => void) => {
    const all = listeners.get(key) ?? new Set();
    listeners.set(key, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0 && listeners.get(key) === all) listeners.delete(key);
    };
  };

  const next: SessionFeed["next"] = (key, ms, signal) =>
    new Promise((resolve) => {
      let timer: Timer | undefined;
      const done = (): void => {
        timer?.cancel();
        stop();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const stop = listen(key, done);
      const wait = store.shared ? Math.min(ms ?? POLL_MS, POLL_MS) : ms;
      if (wait !== undefined) timer = clock.after(wait, done);
      signal?.addEventListener("abort", done);
      if (signal?.aborted) done();
    });

  return {
    next,
    emit(key, event) {
      for (const listener of listeners.get(key) ?? []) listener(event);
    },
    async *follow(key, { after = 0, signal } = {}) {
      let seen = after;
      const queue: SessionEvent[] = [];
      // Before the store is read, so that nothing falls between.
      const stop = listen(key, (event) => queue.push(event));
      try {
        while (!signal?.aborted) {
          for (const entry of await store.history(key, { after: seen, limit: 500 })) {
            seen = entry.seq;
            yield { type: "entry", entry };
          }
          for (let event = queue.shift(); event; event = queue.shift()) {
            if (event.type !== "entry") yield event;
            else if (event.entry.seq === seen + 1) {
              seen++;
              yield event;
            }
          }
          if (queue.length === 0) await next(key, undefined, signal);
        }
      } finally {
        stop();
      }
    },
  };
}
