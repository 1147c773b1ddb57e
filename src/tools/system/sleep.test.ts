import { describe, expect, test } from "vitest";
import { systemClock } from "../../core/clock.ts";
import { textOf } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import { createHaft } from "../../runtime.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake-clock.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createSleepTool } from "./sleep.ts";

function stage() {
  const clock = createFakeClock();
  const haft = createHaft({ clock, tools: [createSleepTool({ clock })] });
  return { clock, haft };
}

/** Moves time until the promise settles. */
async function pass<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => (isSettled = true));
  settled.catch(() => undefined);
  while (!isSettled) await clock.advance(100);
  return settled;
}

describe("sleep", () => {
  test("keeps a tool's contract", async () => {
    const clock = createFakeClock();
    const checked = testTool(createSleepTool({ clock }), {
      inputs: [{ duration: 0 }],
      badInputs: [{ duration: -1 }, { duration: 3591 }, { duration: "soon" }, {}],
      runtime: { clock },
    });
    await pass(clock, checked);
    await expect(checked).resolves.not.toHaveLength(0);
  });

  test("returns when the time is over, and not before", async () => {
    const { clock, haft } = stage();
    let result: ToolResult | undefined;
    void haft.execute("sleep", { duration: 2.5 }).then((settled) => (result = settled));
    await clock.advance(2499);
    expect(result).toBeUndefined();
    await clock.advance(1);
    expect(result).toMatchObject({ success: true, details: { slept: 2.5 }, display: "Slept 2.5 seconds." });
  });

  test.each([45, 3590])("sleeps %i seconds, longer than other tools may take", async (duration) => {
    const { clock, haft } = stage();
    const result = haft.execute("sleep", { duration });
    await clock.advance(duration * 1000);
    expect(await result).toMatchObject({ success: true, details: { slept: duration } });
  });

  test("ends on abort, reports how long it slept and leaves no timer", async () => {
    const { clock, haft } = stage();
    const controller = new AbortController();
    const running = haft.execute("sleep", { duration: 60 }, { signal: controller.signal });
    await clock.advance(1500);
    controller.abort();
    const result = await running;
    expect(result).toMatchObject({ success: false, error: { code: "cancelled" }, details: { slept: 1.5 } });
    expect(textOf(result.content)).toContain("Stopped after 1.5 of 60 seconds.");
    await clock.advance(0);
    // The gate has its own timers, but they are released.
    expect(clock.refTimers).toBe(0);
  });

  test("is cut short by the caller's time limit and still reports how long it slept", async () => {
    const { clock, haft } = stage();
    const running = haft.execute("sleep", { duration: 60 }, { timeoutMs: 4000 });
    await clock.advance(4000);
    expect(await running).toMatchObject({ success: false, error: { code: "timeout" }, details: { slept: 4 } });
  });

  test("never sleeps less than requested, although timers fire early", async () => {
    let now = 0;
    const early = {
      ...systemClock,
      monotonic: () => now,
      after: (ms: number, fire: () => void) => {
        now += ms > 1 ? ms - 0.7 : ms;
        queueMicrotask(fire);
        return { cancel: () => undefined, setRef: () => undefined };
      },
    };
    const haft = createHaft({ tools: [createSleepTool({ clock: early })] });
    expect((await haft.execute("sleep", { duration: 1 })).details).toEqual({ slept: 1 });
    expect(now).toBeCloseTo(1000, 6);
  });

  test("sleeps by the real clock", async () => {
    const haft = createHaft({ tools: [createSleepTool({ clock: systemClock })] });
    const { slept } = (await haft.execute("sleep", { duration: 0.02 })).details as { slept: number };
    expect(slept).toBeGreaterThanOrEqual(0.02);
  });
});
