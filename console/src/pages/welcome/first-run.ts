import { useEffect, useSyncExternalStore } from "react";
import { useApi } from "../../api.ts";

/** `open`: nothing had been called when this browser came first. `over`: done, dismissed, or never needed. */
type FirstRun = "unknown" | "open" | "over";

const KEY = "haft.first-run";
const listeners = new Set<() => void>();

function stored(): FirstRun {
  const value = localStorage.getItem(KEY);
  return value === "open" || value === "over" ? value : "unknown";
}

function save(state: FirstRun): void {
  localStorage.setItem(KEY, state);
  for (const listener of listeners) listener();
}

/** It does not come back. */
export function endFirstRun(): void {
  save("over");
}

/** Whether to lead a newcomer; undefined while that is not known. */
export function useFirstRun(): boolean | undefined {
  const state = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, stored);
  const { data, error } = useApi("calls", "list", state === "unknown" ? [{ limit: 1 }] : undefined);
  useEffect(() => {
    if (state === "unknown" && data) save(data.items.length === 0 ? "open" : "over");
  }, [state, data]);
  if (state === "unknown") return error ? false : undefined;
  return state === "open";
}
