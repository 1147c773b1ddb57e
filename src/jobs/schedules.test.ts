import { expect, onTestFinished, test } from "vitest";
import type { CallAuthority } from "../core/call.ts";
import { toolError } from "../core/error.ts";
import type { ScheduleRequest } from "../core/schedule.ts";
import { openInMemory } from "../store/memory-store.fixture.ts";
import { schedulesModule } from "../store/schedules.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { Scheduler } from "./scheduler.ts";
import { Schedules } from "./schedules.ts";

const HOUR = 3_600_000;
const ada: CallAuthority = { caller: { depth: 0, user: "ada" } };
const hourly: ScheduleRequest = {
  timing: { type: "every", everyMs: HOUR },
  target: { type: "call", toolName: "keep", input: {} },
};

async function open() {
  const clock = createFakeClock();
  const store = await openInMemory(schedulesModule);
  const called: string[] = [];
  const scheduler = new Scheduler({
    store,
    clock,
    execute: async (toolName, _input, options) => {
      called.push(`${toolName} ${options?.caller?.user}`);
      const callId = options?.id ?? "";
      const base = { callId, toolName, content: [], display: "kept", metadata: {}, startedAt: clock.now() };
      return { ...base, status: "completed", success: true, details: undefined };
    },
  });
  onTestFinished(() => scheduler.stop());
  const schedules = new Schedules({
    store,
    scheduler,
    clock,
    check({ toolName }) {
      if (toolName === "forbidden") throw toolError("denied", "It may not be called");
    },
  });
  return { clock, store, schedules, called };
}

test("a schedule that wakes is refused without sessions, and so is waking", async () => {
  const { schedules } = await open();
  const target = { type: "wake", session: "s", text: "up" } as const;
  await expect(schedules.add({ ...hourly, target }, ada)).rejects.toMatchObject({ code: "unavailable" });
  await expect(schedules.wake("s", "up", ada)).rejects.toThrow(/no sessions/);
});

test("refuses a call that is denied, unnamed or too large", async () => {
  const { schedules } = await open();
  const forbidden = { type: "call", toolName: "forbidden", input: {} } as const;
  const large = { type: "call", toolName: "keep", input: { text: "x".repeat(70_000) } } as const;
  await expect(schedules.add({ ...hourly, target: forbidden }, ada)).rejects.toMatchObject({ code: "denied" });
  await expect(schedules.add({ ...hourly, name: "" }, ada)).rejects.toMatchObject({ code: "invalid_input" });
  await expect(schedules.add({ ...hourly, target: large }, ada)).rejects.toMatchObject({ code: "input_too_large" });
  const { id } = await schedules.add(hourly, ada);
  await expect(schedules.update(id, { target: forbidden }, ada)).rejects.toMatchObject({ code: "denied" });
  expect(await schedules.list()).toHaveLength(1);
});

test("times that pass while it is paused are not missed", async () => {
  const { clock, schedules, called } = await open();
  const { id } = await schedules.add(hourly, ada);
  schedules.start();
  await schedules.pause(id, true);
  await clock.advance(5 * HOUR);
  expect(called).toEqual([]);
  expect(await schedules.pause(id, false)).toMatchObject({ nextAt: clock.now() + HOUR });
  await clock.advance(HOUR);
  expect(called).toEqual(["keep ada"]);
  expect(await schedules.runs(id)).toMatchObject([{ number: 1, missed: 0 }]);
});

test("a schedule that is over is not resumed: the error says that its time has passed", async () => {
  const { clock, schedules } = await open();
  const timing = { type: "at", at: clock.now() + HOUR } as const;
  const { id } = await schedules.add({ ...hourly, timing, isPaused: true }, ada);
  await clock.advance(2 * HOUR);
  await expect(schedules.pause(id, false)).rejects.toThrow(/in the past/);
});

test("a change gives it the rights of the changing caller, and two concurrent changes both succeed", async () => {
  const { schedules } = await open();
  const { id } = await schedules.add(hourly, { ...ada, mode: "bypassPermissions" });
  const narrow = { ...ada, mode: "plan" } as const;
  await Promise.all([schedules.update(id, { name: "one" }, narrow), schedules.update(id, { missed: "skip" }, narrow)]);
  expect(await schedules.get(id)).toMatchObject({
    name: "one",
    missed: "skip",
    authority: { mode: "plan" },
    revision: 3,
  });
});

test("reports whether a process runs due schedules", async () => {
  const { clock, schedules } = await open();
  await schedules.add(hourly, ada);
  expect(await schedules.status()).toMatchObject({ schedules: 1, isRunning: false });
  schedules.start();
  await clock.advance(1);
  expect(await schedules.status(ada)).toMatchObject({ schedules: 1, isRunning: true, nextAt: clock.now() + HOUR - 1 });
  await schedules.stop();
  await clock.advance(HOUR / 2);
  expect((await schedules.status()).isRunning).toBe(false);
  expect(await schedules.status({ caller: { depth: 0, user: "eve" } })).toMatchObject({ schedules: 0 });
});
