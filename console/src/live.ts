import { useEffect } from "react";
import type { EventMessage } from "../../src/contracts/events.ts";
import type { ApiClient } from "../../src/contracts/index.ts";
import { api, queries } from "./api.ts";
import { useConnection } from "./connection.ts";
import { createStore } from "./store.ts";

type State = "connecting" | "open" | "closed";

const AFTER_CALL = ["calls", "audit", "statistics", "undo", "jobs", "schedules", "sessions"] as const;

/** Which resources may have changed after an event. */
const STALE_AFTER: { readonly [Type in EventMessage["type"]]?: readonly (keyof ApiClient)[] } = {
  tool_call_requested: AFTER_CALL,
  tool_call_started: AFTER_CALL,
  tool_call_pending: [...AFTER_CALL, "approvals"],
  tool_call_completed: [...AFTER_CALL, "artifacts", "canvas"],
  tool_call_failed: AFTER_CALL,
  tool_call_settled_late: AFTER_CALL,
  job_queued: ["jobs", "schedules", "sessions"],
  permission_requested: ["approvals", "calls", "sessions", "jobs", "schedules"],
  permission_resolved: ["approvals", "calls", "sessions", "jobs", "schedules"],
  grant_changed: ["grants", "policy"],
  tool_registered: ["tools"],
  tool_unregistered: ["tools"],
  reset: [...AFTER_CALL, "approvals", "tools"],
};

/** Events within this time are one refresh. */
const GROUP_MS = 100;
/** A refresh that takes long is followed by a pause of this many times its duration. */
const PAUSE_FACTOR = 2;

/**
 * Fetches again what is out of date. The first event is shown at once; many events in a second cause few fetches, and none
 * is cancelled by the next event: a long list would never arrive.
 */
class Refresher {
  readonly #stale = new Map<keyof ApiClient, boolean>();
  #isStopped = false;

  refresh(resource: keyof ApiClient): void {
    const isRunning = this.#stale.has(resource);
    this.#stale.set(resource, true);
    if (!isRunning) void this.#run(resource);
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #run(resource: keyof ApiClient): Promise<void> {
    while (this.#stale.get(resource) && !this.#isStopped) {
      this.#stale.set(resource, false);
      const startedAt = performance.now();
      // The first fetch of a list is not repeated while it runs, and may have been answered before the event.
      const isFirst = queries.isFetching({
        queryKey: [resource],
        predicate: ({ state: { data } }) => data === undefined,
      });
      await queries.invalidateQueries({ queryKey: [resource] });
      if (isFirst > 0) await queries.invalidateQueries({ queryKey: [resource] });
      const pauseMs = Math.max(GROUP_MS, PAUSE_FACTOR * (performance.now() - startedAt));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    this.#stale.delete(resource);
  }
}

const state = createStore<State>("closed");
let wasOpen = false;

/** Whether the console receives events. */
export const useLiveState = state.use;

/** How often a server that does not answer is asked whether it is back. */
const HEALTH_INTERVAL_MS = 1_000;

/** Asks for the health of the server while it is away: the first answer sets the connection state. */
function useReturn(isReachable: boolean): void {
  useEffect(() => {
    if (isReachable) return;
    const timer = setInterval(() => void api.server.health().catch(() => undefined), HEALTH_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [isReachable]);
}

/** One stream for the whole console. An event marks lists as out of date; they are fetched again from the server. */
export function useLive(): void {
  const { isReachable, isSignedIn } = useConnection();
  useReturn(isReachable);
  useEffect(() => {
    if (!isReachable || !isSignedIn) return;
    const controller = new AbortController();
    const refresher = new Refresher();
    const follow = async (): Promise<void> => {
      const { signal } = controller;
      state.set("connecting");
      for await (const { type } of api.events.subscribe({}, { signal, onReconnect: () => state.set("connecting") })) {
        if (state.get() !== "open") {
          state.set("open");
          // Events may have been missed, and after a restart everything may be different.
          if (wasOpen) void queries.invalidateQueries();
          // The first answers are older than the stream.
          else for (const resource of ["approvals", "calls"] as const) refresher.refresh(resource);
          wasOpen = true;
        }
        for (const resource of STALE_AFTER[type] ?? []) refresher.refresh(resource);
      }
    };
    follow().catch(() => state.set("closed"));
    return () => {
      refresher.stop();
      controller.abort();
      state.set("closed");
    };
  }, [isReachable, isSignedIn]);
}
