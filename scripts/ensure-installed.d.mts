import type { SpawnSyncReturns } from "node:child_process";

/** Runs npm, and returns its exit code and output. */
export function runNpm(
  parameters: string[],
  cwd: string,
  options?: { showProgress?: boolean },
): SpawnSyncReturns<string>;
/** Installs what the lock file asks for and is missing. Ends the process if that fails. */
export function ensureInstalled(root: string, scope?: "all" | "start"): void;
