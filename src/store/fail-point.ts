import process from "node:process";

/** Where a test kills the process: `HAFT_FAIL_AT=name`, or `name:3` for the third time. Read once. */
const [wanted, ordinal = "1"] = (process.env["HAFT_FAIL_AT"] ?? "").split(":");
let left = Number(ordinal);

/** A point at which a test may kill the process. Otherwise does nothing. */
export function failPoint(name: string): void {
  if (wanted !== name || --left > 0) return;
  process.kill(process.pid, "SIGKILL");
  // The signal takes a moment to arrive; nothing may happen until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
