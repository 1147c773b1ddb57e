import { describe, expect, test } from "vitest";
import type { Schedule, ScheduleRun } from "../core/schedule.ts";
import type { ScheduleStore } from "./schedules.ts";

const MAX = 5;
const ALL = { limit: 100 };

export function scheduleFor(id: string, more: Partial<Schedule> = {}): Schedule {
  return {
    id,
    name: "the night's \0 check 夜间 '; DROP TABLE schedules; --",
    timing: { type: "every", everyMs: 60_000 },
    target: { type: "call", toolName: "keep", input: { text: "\0" } },
    missed: "run_once",
    isPaused: false,
    authority: { caller: { depth: 0, user: "ada" }, mode: "dontAsk", policy: [{ deny: ["exec"] }] },
    createdAt: 1_800_000_000_000,
    updatedAt: 1_800_000_000_000,
    nextAt: 1_800_000_060_000,
    runCount: 0,
    revision: 1,
    ...more,
  };
}

function runFor(scheduleId: string, number: number, more: Partial<ScheduleRun> = {}): ScheduleRun {
  return { scheduleId, number, trigger: "time", dueAt: 1_800_000_060_000, state: "running", missed: 0, ...more };
}

/** The contract of every schedule store. `open` returns an empty one. */
export function describeScheduleStore(name: string, open: () => Promise<ScheduleStore> | ScheduleStore): void {
  describe(`schedules in ${name}`, () => {
    test("are kept unchanged, in order of creation, up to a limit", async () => {
      const store = await open();
      for (let i = 0; i < MAX; i++) expect(await store.add(scheduleFor(`s${9 - i}`), MAX)).toBe(true);
      expect(await store.add(scheduleFor("more"), MAX)).toBe(false);
      expect((await store.list()).map(({ id }) => id)).toEqual(["s9", "s8", "s7", "s6", "s5"]);
      expect(await store.get("s9")).toEqual(scheduleFor("s9"));
      expect(await store.get("more")).toBeUndefined();
    });

    test("are changed only with the latest revision", async () => {
      const store = await open();
      await store.add(scheduleFor("s"), MAX);
      expect(await store.replace(scheduleFor("s", { name: "second", revision: 2 }))).toBe(true);
      expect(await store.replace(scheduleFor("s", { name: "late", revision: 2 }))).toBe(false);
      expect(await store.replace(scheduleFor("none", { revision: 2 }))).toBe(false);
      expect((await store.get("s"))?.name).toBe("second");
    });

    test("are due at their time, earliest first, unless paused or over", async () => {
      const store = await open();
      await store.add(scheduleFor("late", { nextAt: 300 }), MAX);
      await store.add(scheduleFor("early", { nextAt: 100 }), MAX);
      await store.add(scheduleFor("paused", { nextAt: 50, isPaused: true }), MAX);
      const { nextAt: _none, ...over } = scheduleFor("over");
      await store.add(over, MAX);
      expect(await store.nextAt()).toBe(100);
      expect((await store.due(99, MAX)).map(({ id }) => id)).toEqual([]);
      expect((await store.due(300, MAX)).map(({ id }) => id)).toEqual(["early", "late"]);
      expect((await store.due(300, 1)).map(({ id }) => id)).toEqual(["early"]);
      await store.remove("early");
      await store.remove("late");
      expect(await store.nextAt()).toBeUndefined();
    });

    test("start a run once under concurrent attempts", async () => {
      const store = await open();
      await store.add(scheduleFor("s"), MAX);
      const begun = await Promise.all(
        Array.from({ length: 8 }, async (_, i) =>
          store.begin(scheduleFor("s", { revision: 2, runCount: 1 }), runFor("s", 1, { outcome: `${i}` }), MAX),
        ),
      );
      expect(begun.filter(Boolean)).toHaveLength(1);
      expect(await store.runs("s", ALL)).toEqual([runFor("s", 1, { outcome: `${begun.indexOf(true)}` })]);
      expect(await store.get("s")).toMatchObject({ revision: 2, runCount: 1 });
    });

    test("keep their last runs, and all that have not ended", async () => {
      const store = await open();
      await store.add(scheduleFor("s"), MAX);
      for (let number = 1; number <= 9; number++) {
        const isOpen = number === 2;
        const run = runFor("s", number, { state: isOpen ? "waiting" : "missed" });
        await store.begin(scheduleFor("s", { revision: number + 1, runCount: number }), run, MAX);
      }
      expect((await store.runs("s", ALL)).map(({ number }) => number)).toEqual([9, 8, 7, 6, 5, 2]);
      expect((await store.runs("s", { limit: 2, before: 8 })).map(({ number }) => number)).toEqual([7, 6]);
      expect((await store.open("s")).map(({ number }) => number)).toEqual([2]);
    });

    test("end a run once, also after it has waited", async () => {
      const store = await open();
      await store.add(scheduleFor("s"), MAX);
      await store.begin(scheduleFor("s", { revision: 2, runCount: 1 }), runFor("s", 1), MAX);
      const waiting = runFor("s", 1, { state: "waiting", pending: { kind: "job", id: "j" } });
      expect(await store.end(waiting)).toBe(true);
      expect(await store.open("s")).toEqual([waiting]);
      expect(await store.end(runFor("s", 1, { state: "completed", endedAt: 5 }))).toBe(true);
      expect(await store.end(runFor("s", 1, { state: "failed" }))).toBe(false);
      expect(await store.runs("s", ALL)).toMatchObject([{ state: "completed", endedAt: 5 }]);
      expect(await store.open("s")).toEqual([]);
    });

    test("are removed with their runs", async () => {
      const store = await open();
      await store.add(scheduleFor("s"), MAX);
      await store.begin(scheduleFor("s", { revision: 2, runCount: 1 }), runFor("s", 1), MAX);
      expect([await store.remove("s"), await store.remove("s")]).toEqual([true, false]);
      expect(await store.runs("s", ALL)).toEqual([]);
    });

    test("keep the runs of a live process with it, and name the process", async () => {
      const store = await open();
      await store.add(scheduleFor("s"), MAX);
      await store.begin(scheduleFor("s", { revision: 2, runCount: 1 }), runFor("s", 1), MAX);
      expect(await store.takeLost()).toEqual([]);
      expect(await store.lastBeat()).toBeUndefined();
      await store.heartbeat(1_800_000_000_000);
      await store.heartbeat(1_800_000_000_001);
      expect(await store.lastBeat()).toBe(1_800_000_000_001);
    });
  });
}
