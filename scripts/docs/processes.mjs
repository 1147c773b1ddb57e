// The processes of documents. Each has a group of its own, so everything that it starts ends with it.
import { spawn } from "node:child_process";
import process from "node:process";

const running = new Set();

export function startGroup(program, parameters, options) {
  const child = spawn(program, parameters, { ...options, detached: true });
  running.add(child);
  child.on("close", () => running.delete(child));
  return child;
}

/** @param {{ pid?: number | undefined }} child */
export function killGroup({ pid }) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing of the group is left.
  }
}

/** Ends this process with all of its documents' processes, which are not in its group. */
export function stopOnSignals() {
  process.on("exit", () => {
    for (const child of running) killGroup(child);
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
}
