import { expect, onTestFinished, test } from "vitest";
import { type Clock, systemClock } from "../core/clock.ts";
import { createHaft } from "../runtime.ts";
import type { JobQueue } from "../calls/job-queue.ts";
import { RowJobs } from "../calls/row-jobs.ts";

test("finds an end without an event: the waiting caller is answered, and the end is reported once", async () => {
  const { clock, pass } = handClock();
  const kept = new RowJobs({ clock });
  // The event feed of jobs breaks at the start.
  const deaf: JobQueue = new Proxy(kept, {
    get(queue, name) {
      if (name === "subscribe") return () => () => undefined;
      const value: unknown = Reflect.get(queue, name, queue);
      return typeof value === "function" ? value.bind(queue) : value;
    },
  });
  const haft = createHaft({ clock, jobs: deaf });
  onTestFinished(() => haft.shutdown());
  haft.register({
    name: "look",
    description: "Looks",
    async: true,
    parameters: [],
    needsApproval: false,
    run: () => "seen",
  });
  const reported: string[] = [];
  haft.on("tool_call_completed", ({ callId }) => void reported.push(callId));
  const requested = await Promise.all(Array.from({ length: 120 }, (_, i) => haft.execute("look", {}, { id: `c${i}` })));
  const waiting = haft.jobs.wait(requested[119]!.status === "pending" ? requested[119]!.pending.id : "");
  while ((await kept.counts()).completed < 120) await new Promise((resolve) => setImmediate(resolve));
  expect(reported).toEqual([]);
  for (let round = 0; round < 10 && reported.length < 120; round++) await pass();
  expect(await waiting).toMatchObject({ status: "completed", callId: "c119" });
  expect([...reported].sort()).toEqual(requested.map(({ callId }) => callId).sort());
});

/** A clock that the test advances. */
function handClock(): { clock: Clock; pass(): Promise<void> } {
  const timers = new Map<object, { ms: number; fire: () => void }>();
  const clock: Clock = {
    ...systemClock,
    after(ms, fire) {
      const timer = { cancel: () => void timers.delete(timer), setRef: () => undefined };
      timers.set(timer, { ms, fire });
      return timer;
    },
  };
  return {
    clock,
    async pass() {
      for (const [timer, { ms, fire }] of [...timers]) {
        if (ms > 60_000) continue;
        timers.delete(timer);
        fire();
      }
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
