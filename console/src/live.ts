import { useEffect, useSyncExternalStore } from "react";
import type { EventMessage, ToolEventType } from "../../src/http/wire.ts";
import { addressOf, queries } from "./api.ts";

type State = "connecting" | "open" | "closed";

const CALL_EVENTS: readonly ToolEventType[] = [
  "tool_call_requested",
  "tool_call_started",
  "tool_call_pending",
  "tool_call_completed",
  "tool_call_failed",
];
const QUESTIONS: readonly ToolEventType[] = ["permission_requested", "permission_resolved", "tool_call_pending"];
const LISTED: readonly ToolEventType[] = ["tool_registered", "tool_unregistered"];

let state: State = "closed";
const watchers = new Set<() => void>();

/** Whether the console hears what happens. */
export function useLiveState(): State {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => state,
  );
}

/** One stream for the whole console: it says which lists are out of date; they are read again from the server. */
export function useLive(): void {
  useEffect(() => {
    const stream = new EventSource(addressOf("events"), { withCredentials: true });
    let due: ReturnType<typeof setTimeout> | undefined;
    const stale = new Set<string>();
    // Many calls a second make one reading.
    const refresh = (...lists: string[]): void => {
      for (const list of lists) stale.add(list);
      due ??= setTimeout(() => {
        due = undefined;
        for (const list of stale) void queries.invalidateQueries({ queryKey: [list] });
        stale.clear();
      }, 250);
    };
    const subscribe = (type: EventMessage["type"], ...lists: string[]): void =>
      stream.addEventListener(type, () => refresh(...lists));
    for (const type of CALL_EVENTS) subscribe(type, "calls", "audit", "statistics", "changes");
    subscribe("tool_call_completed", "artifacts", "canvas");
    for (const type of [...CALL_EVENTS, "job_queued"] as const) subscribe(type, "jobs", "schedules", "sessions");
    for (const type of QUESTIONS) subscribe(type, "approvals");
    for (const type of LISTED) subscribe(type, "tools");
    subscribe("reset", "calls", "approvals", "tools", "audit", "statistics", "changes", "jobs", "schedules");
    stream.addEventListener("open", () => {
      become("open");
      refresh("calls", "approvals");
    });
    stream.addEventListener("error", () => become("connecting"));
    return () => {
      clearTimeout(due);
      stream.close();
      become("closed");
    };
  }, []);
}

function become(next: State): void {
  state = next;
  for (const watcher of watchers) watcher();
}
