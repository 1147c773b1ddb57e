import process from "node:process";

export interface UntilOptions {
  /** Default: 90 s, or 15 minutes with HAFT_FULL=1. */
  limitMs?: number;
  pauseMs?: number;
}

const LIMIT_MS = process.env["HAFT_FULL"] ? 15 * 60_000 : 90_000;

/** Resolves when it holds, and rejects after the limit: a loop without one outlives the time limit of its test. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { limitMs = LIMIT_MS, pauseMs = 10 }: UntilOptions = {},
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Not so after ${limitMs / 1000} s: ${String(holds)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
