import { useEffect } from "react";
import { useApi } from "../../api.ts";
import { createStore } from "../../store.ts";

/** `open`: nothing had been called when this browser came first. `over`: done, dismissed, or never needed. */
type FirstRun = "unknown" | "open" | "over";

const KEY = "haft.first-run";
const kept = localStorage.getItem(KEY);
const firstRun = createStore<FirstRun>(kept === "open" || kept === "over" ? kept : "unknown");

function save(state: "open" | "over"): void {
  localStorage.setItem(KEY, state);
  firstRun.set(state);
}

/** It does not come back. */
export function endFirstRun(): void {
  save("over");
}

/** Whether to lead a newcomer; undefined while that is not known. */
export function useFirstRun(): boolean | undefined {
  const state = firstRun.use();
  const { data, error } = useApi("calls", "list", state === "unknown" ? [{ limit: 1 }] : undefined);
  useEffect(() => {
    if (state === "unknown" && data) save(data.items.length === 0 ? "open" : "over");
  }, [state, data]);
  if (state === "unknown") return error ? false : undefined;
  return state === "open";
}
