import { describe, expect, test } from "vitest";
import { createFakeClock } from "./fake-clock.ts";

describe("the fake clock", () => {
  test("stands still until it is moved", () => {
    const clock = createFakeClock(1000);
    expect([clock.now(), clock.monotonic(), clock.wallTimeAt(5)]).toEqual([1000, 0, 1005]);
  });

  test("fires timers in order of time, then of setting, each at its own time", async () => {
    const clock = createFakeClock();
    const fired: string[] = [];
    const set = (name: string, ms: number): void =>
      void clock.after(ms, () => void fired.push(`${name}@${clock.monotonic()}`));
    set("c", 20);
    set("a", 10);
    set("b", 10);
    set("later", 100);
    await clock.advance(50);
    expect(fired).toEqual(["a@10", "b@10", "c@20"]);
    expect(clock.monotonic()).toBe(50);
    expect(clock.pendingTimers).toBe(1);
  });

  test("lets promises run between two timers, and fires what they set within the time", async () => {
    const clock = createFakeClock();
    const order: string[] = [];
    clock.after(10, () => {
      void Promise.resolve()
        .then(() => undefined)
        .then(() => {
          order.push("promise");
          clock.after(5, () => void order.push(`nested@${clock.monotonic()}`));
        });
    });
    clock.after(20, () => void order.push("second"));
    await clock.advance(20);
    expect(order).toEqual(["promise", "nested@15", "second"]);
  });

  test("forgets a cancelled timer, and knows which would keep a process alive", async () => {
    const clock = createFakeClock();
    clock.after(10, () => expect.unreachable()).cancel();
    const loose = clock.after(10, () => {});
    loose.setRef(false);
    expect([clock.pendingTimers, clock.refTimers]).toEqual([1, 0]);
    await clock.advance(10);
    expect(clock.pendingTimers).toBe(0);
  });
});
