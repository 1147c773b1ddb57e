import { expect, test } from "vitest";
import { MAX_BACKGROUND_MS, foregroundMs, refuseTimes, type RunTimes, runTimes, type TimeOptions } from "./exec.ts";

test.each<[string, TimeOptions, RunTimes]>([
  ["nothing", {}, { yieldMs: 10_000, limitMs: MAX_BACKGROUND_MS }],
  ["a limit", { timeout: 300_000 }, { limitMs: 300_000 }],
  ["a limit and an earlier yield", { timeout: 1_800_000, yield_ms: 5000 }, { yieldMs: 5000, limitMs: 1_800_000 }],
  ["a limit and a later yield", { timeout: 1000, yield_ms: 5000 }, { limitMs: 1000 }],
  [
    "a yield that leaves time to the default limit",
    { yield_ms: 60_000 },
    { yieldMs: 60_000, limitMs: MAX_BACKGROUND_MS },
  ],
  ["a yield after the default limit", { yield_ms: 600_000 }, { limitMs: 120_000 }],
  ["the background", { run_in_background: true }, { yieldMs: 250, limitMs: MAX_BACKGROUND_MS }],
  ["the background and a limit", { run_in_background: true, timeout: 900_000 }, { yieldMs: 250, limitMs: 900_000 }],
])("computes the times for %s", (_what, wishes, times) => {
  expect(runTimes(wishes)).toEqual(times);
  expect(foregroundMs(wishes)).toBe(times.yieldMs ?? times.limitMs);
  expect(refuseTimes(wishes)).toBeUndefined();
});

test("a foreground call lasts at most ten minutes", () => {
  expect(refuseTimes({ timeout: 600_000 })).toBeUndefined();
  expect(refuseTimes({ timeout: 600_001 })).toContain("run_in_background");
});

test("a caller that waits for the end has no default yield", () => {
  const waitForEnd = true;
  expect(runTimes({ waitForEnd })).toEqual({ limitMs: MAX_BACKGROUND_MS });
  expect(runTimes({ waitForEnd, timeout: 5000 })).toEqual({ limitMs: 5000 });
  expect(runTimes({ waitForEnd, yield_ms: 500 })).toEqual({ yieldMs: 500, limitMs: MAX_BACKGROUND_MS });
});
