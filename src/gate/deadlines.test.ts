import { describe, expect, test } from "vitest";
import { systemClock } from "../core/clock.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { Deadline, Deadlines } from "./timeouts.ts";

function start() {
  const clock = createFakeClock();
  const deadlines = new Deadlines(clock);
  const rung: string[] = [];
  const arm = (name: string, ms: number): Deadline => {
    const alarm = new Deadline(() => void rung.push(`${name}@${clock.monotonic()}`));
    deadlines.arm(alarm, ms, clock.monotonic());
    return alarm;
  };
  return { clock, deadlines, rung, arm };
}

describe("deadlines", () => {
  test("expire on time, in order, each once", async () => {
    const { clock, rung, arm } = start();
    arm("a", 100);
    await clock.advance(50);
    arm("b", 100);
    arm("c", 20);
    await clock.advance(1000);
    expect(rung).toEqual(["c@70", "a@100", "b@150"]);
  });

  test("do not expire once disarmed, at any place in their list", async () => {
    for (const gone of [["a"], ["b"], ["c"], ["a", "c"], ["a", "b", "c"]]) {
      const { clock, deadlines, rung, arm } = start();
      const alarms = new Map(["a", "b", "c"].map((name) => [name, arm(name, 100)]));
      for (const name of gone) deadlines.disarm(alarms.get(name)!);
      for (const name of gone) deadlines.disarm(alarms.get(name)!);
      await clock.advance(1000);
      expect(rung).toEqual(["a", "b", "c"].filter((name) => !gone.includes(name)).map((name) => `${name}@100`));
    }
  });

  test("share one timer per duration, which does not keep an idle process alive", async () => {
    const { clock, deadlines, arm } = start();
    const alarms = Array.from({ length: 1000 }, (_, i) => arm(`${i}`, 5000));
    expect(clock.pendingTimers).toBe(1);
    for (const alarm of alarms) deadlines.disarm(alarm);
    await clock.advance(1);
    expect(clock.refTimers).toBe(0);
    arm("again", 5000);
    expect(clock.refTimers).toBe(1);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(20_000);
    expect(clock.pendingTimers).toBe(0);
  });

  test("may be armed and disarmed by an expiring deadline", async () => {
    const { clock, deadlines, rung, arm } = start();
    const chain = new Deadline(() => {
      arm("next", 100);
      deadlines.disarm(sibling);
    });
    deadlines.arm(chain, 100, clock.monotonic());
    const sibling = arm("sibling", 100);
    await clock.advance(100);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1000);
    expect(rung).toEqual(["next@200"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("may be longer than a timer's maximum", () => {
    const timer = systemClock.after(2 ** 40, () => expect.unreachable("fired at once"));
    timer.setRef(false);
    timer.cancel();
  });
});
