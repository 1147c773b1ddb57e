import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "./clock.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

describe("the clock of the system", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each([1, 40, 366])("a timer of %i days ends in its time", (days) => {
    let fired = 0;
    systemClock.after(days * DAY_MS, () => void fired++);
    vi.advanceTimersByTime(days * DAY_MS - 1);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a timer of 40 days can be cancelled, also after 30", () => {
    let fired = 0;
    const timer = systemClock.after(40 * DAY_MS, () => void fired++);
    timer.setRef(false);
    vi.advanceTimersByTime(30 * DAY_MS);
    timer.cancel();
    vi.advanceTimersByTime(30 * DAY_MS);
    expect([fired, vi.getTimerCount()]).toEqual([0, 0]);
  });
});
