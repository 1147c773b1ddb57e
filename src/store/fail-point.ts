import process from "node:process";

/**
 * Where a test wants the process to die: `HAFT_FAIL_AT=name`, or `name:3` for the third time. Read once, so that a tool
 * that changes the environment changes nothing here.
 */
const [wanted, ordinal = "1"] = (process.env["HAFT_FAIL_AT"] ?? "").split(":");
let left = Number(ordinal);

/** A moment that a kill may fall into. Does nothing, unless a test says so. */
export function failPoint(name: string): void {
  if (wanted !== name || --left > 0) return;
  process.kill(process.pid, "SIGKILL");
  // The signal may take a moment to arrive, and nothing may happen in it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
