import { useEffect, useSyncExternalStore } from "react";
import type { EventMessage } from "../../src/contracts/events.ts";
import type { ApiClient } from "../../src/contracts/index.ts";
import { api, queries } from "./api.ts";
import { useConnection } from "./connection.ts";

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
  permission_requested: ["approvals", "calls", "sessions"],
  permission_resolved: ["approvals", "calls", "sessions"],
  tool_registered: ["tools"],
  tool_unregistered: ["tools"],
  reset: [...AFTER_CALL, "approvals", "tools"],
};

/** Events within this time are one refresh. */
const GROUP_MS = 250;

let state: State = "closed";
let wasOpen = false;
const watchers = new Set<() => void>();

/** Whether the console receives events. */
export function useLiveState(): State {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => state,
  );
}

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
    let due: ReturnType<typeof setTimeout> | undefined;
    const stale = new Set<keyof ApiClient>();
    const flush = (): void => {
      for (const resource of stale) void queries.invalidateQueries({ queryKey: [resource] });
      stale.clear();
    };
    // The first event is shown at once; many calls in a second cause few fetches.
    const refresh = (resources: readonly (keyof ApiClient)[]): void => {
      for (const resource of resources) stale.add(resource);
      if (due || stale.size === 0) return;
      flush();
      due = setTimeout(() => {
        due = undefined;
        refresh([]);
      }, GROUP_MS);
    };
    const follow = async (): Promise<void> => {
      const { signal } = controller;
      become("connecting");
      for await (const { type } of api.events.subscribe({}, { signal, onReconnect: () => become("connecting") })) {
        if (state !== "open") {
          become("open");
          // Events may have been missed, and after a restart everything may be different.
          if (wasOpen) void queries.invalidateQueries();
          wasOpen = true;
        }
        refresh(STALE_AFTER[type] ?? []);
      }
    };
    follow().catch(() => become("closed"));
    return () => {
      clearTimeout(due);
      controller.abort();
      become("closed");
    };
  }, [isReachable, isSignedIn]);
}

function become(next: State): void {
  state = next;
  for (const watcher of watchers) watcher();
}
