// Story ids: fa-025 (the clock jumps).
import { describe, expect, onTestFinished, test } from "vitest";
import type { CallOptions } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { MAX_MISSED, type ScheduleTiming, showMissed } from "../core/schedule.ts";
import { openInMemory } from "../store/memory-store.fixture.ts";
import { schedulesModule } from "../store/schedules.ts";
import { createFakeClock, type FakeClock } from "../testing/fake-clock.ts";
import { createHaft } from "../runtime.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler.ts";
import { scheduleFor } from "./schedule-store.suite.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const ALL = { limit: 100 };
const START = Date.UTC(2026, 10, 15, 8);

/** A clock whose wall time can be set while monotonic time continues. */
function createSettableClock(): Clock & Pick<FakeClock, "advance"> & { set(by: number): void } {
  const fake = createFakeClock(START);
  let offset = 0;
  return {
    now: () => fake.now() + offset,
    monotonic: () => fake.monotonic(),
    wallTimeAt: (monotonic) => fake.wallTimeAt(monotonic) + offset,
    after: (ms, fire) => fake.after(ms, fire),
    advance: (ms) => fake.advance(ms),
    set: (by) => void (offset += by),
  };
}

async function open(more: Partial<SchedulerOptions> = {}) {
  const clock = createSettableClock();
  const haft = createHaft({ clock });
  const times: number[] = [];
  haft.register({
    name: "keep",
    description: "Keeps a text",
    kind: "write",
    parameters: [{ name: "text", type: "string", required: true }],
    needsApproval: false,
    run: () => void times.push(clock.now() - START),
  });
  const store = await openInMemory(schedulesModule);
  const seen: CallOptions[] = [];
  const options: SchedulerOptions = {
    store,
    clock,
    execute: (name, input, call) => {
      seen.push(call ?? {});
      return haft.execute(name, input, call);
    },
    onProblem: (error) => expect.unreachable(String(error)),
    ...more,
  };
  const scheduler = new Scheduler(options);
  onTestFinished(() => scheduler.stop());
  const add = async (timing: ScheduleTiming, change: Parameters<typeof scheduleFor>[1] = {}): Promise<void> => {
    const nextAt = timing.type === "at" ? timing.at : timing.type === "every" ? START + timing.everyMs : START + HOUR;
    await store.add(scheduleFor("s", { timing, nextAt, ...change }), 10);
  };
  return { clock, haft, store, scheduler, options, seen, add, times };
}

const everyTenMinutes: ScheduleTiming = { type: "every", everyMs: 10 * MINUTE };
const hourly: ScheduleTiming = { type: "cron", expression: "0 * * * *", timeZone: "UTC" };

describe("a scheduler", () => {
  test("runs due schedules on time, repeatedly, and a date once", async () => {
    const { clock, scheduler, store, add, times } = await open();
    await add(everyTenMinutes);
    await store.add(
      scheduleFor("once", { timing: { type: "at", at: START + 15 * MINUTE }, nextAt: START + 15 * MINUTE }),
      10,
    );
    scheduler.start();
    await clock.advance(35 * MINUTE);
    expect(times).toEqual([10, 15, 20, 30].map((minutes) => minutes * MINUTE));
    expect(await store.get("once")).not.toHaveProperty("nextAt");
    expect(await store.runs("s", ALL)).toMatchObject([
      { number: 3, state: "completed", missed: 0, callId: "s.3" },
      { number: 2 },
      { number: 1 },
    ]);
  });

  test("makes each call with the authority of the schedule and its own id", async () => {
    const { clock, scheduler, add, seen } = await open();
    const authority = {
      caller: { depth: 1, user: "ada", session: "one" },
      mode: "acceptEdits",
      policy: [{ deny: ["exec"] }],
      allowedPaths: ["notes"],
    } as const;
    await add(everyTenMinutes, { authority });
    scheduler.start();
    await clock.advance(10 * MINUTE);
    expect(seen).toEqual([
      { ...authority, caller: { ...authority.caller, task: "s" }, id: "s.1", idempotencyKey: "s.1" },
    ]);
  });

  test("makes each run once if several schedulers share a store", async () => {
    const { clock, store, scheduler, options, add, times } = await open();
    const others = Array.from({ length: 3 }, () => new Scheduler(options));
    onTestFinished(async () => void (await Promise.all(others.map((one) => one.stop()))));
    await add(everyTenMinutes);
    for (const one of [scheduler, ...others]) one.start();
    await clock.advance(60 * MINUTE);
    expect(times).toEqual([10, 20, 30, 40, 50, 60].map((minutes) => minutes * MINUTE));
    expect(await store.runs("s", ALL)).toHaveLength(6);
  });

  test("reports the times that passed while no scheduler was running, and runs once", async () => {
    const { clock, store, scheduler, add, times } = await open();
    await add(everyTenMinutes);
    await clock.advance(37 * MINUTE);
    scheduler.start();
    await clock.advance(4 * MINUTE);
    expect(times).toEqual([37 * MINUTE, 40 * MINUTE]);
    expect(await store.runs("s", ALL)).toMatchObject([
      { number: 2, missed: 0, dueAt: START + 40 * MINUTE },
      { number: 1, missed: 2, dueAt: START + 30 * MINUTE, state: "completed" },
    ]);
  });

  test("makes no late run if that is configured, and reports it", async () => {
    const { clock, store, scheduler, add, times } = await open();
    await add(everyTenMinutes, { missed: "skip" });
    await clock.advance(37 * MINUTE);
    scheduler.start();
    await clock.advance(4 * MINUTE);
    expect(times).toEqual([40 * MINUTE]);
    expect((await store.runs("s", ALL)).at(-1)).toMatchObject({ number: 1, state: "missed", missed: 3 });
    expect((await store.runs("s", ALL)).at(-1)).not.toHaveProperty("callId");
  });

  test("does not start a run while the previous one is running", async () => {
    const { clock, haft, store, scheduler, add } = await open();
    let finish!: () => void;
    haft.register({
      name: "wait",
      description: "Waits",
      parameters: [],
      limits: { timeoutMs: HOUR },
      needsApproval: false,
      run: () => new Promise<void>((resolve) => (finish = resolve)),
    });
    await add(everyTenMinutes, { target: { type: "call", toolName: "wait", input: {} } });
    scheduler.start();
    await clock.advance(25 * MINUTE);
    expect(await store.runs("s", ALL)).toMatchObject([
      { number: 2, state: "skipped", outcome: "Run 1 had not ended (running)." },
      { number: 1, state: "running" },
    ]);
    finish();
    await clock.advance(10 * MINUTE);
    expect((await store.runs("s", ALL))[0]).toMatchObject({ number: 3, state: "running" });
    finish();
  });

  test("keeps the reason of a refused call", async () => {
    const { clock, store, scheduler, add, times } = await open();
    await add(everyTenMinutes, { authority: { caller: { depth: 0 }, policy: [{ deny: ["keep"] }] } });
    scheduler.start();
    await clock.advance(10 * MINUTE);
    expect(times).toEqual([]);
    expect(await store.runs("s", ALL)).toMatchObject([{ state: "denied", errorCode: "denied" }]);
  });

  test("waits for a person if the call must ask, and asks once", async () => {
    const { clock, haft, store, scheduler, add, times } = await open({
      resultOf: async ({ pending }) =>
        (await haft.approvals.get(pending!.id))?.state === "pending" ? "open" : undefined,
    });
    haft.register({
      name: "careful",
      description: "Asks first",
      kind: "write",
      permission: "confirm",
      parameters: [],
      run: () => void times.push(clock.now() - START),
    });
    await add(everyTenMinutes, {
      target: { type: "call", toolName: "careful", input: {} },
      authority: { caller: { depth: 0 } },
    });
    scheduler.start();
    await clock.advance(21 * MINUTE);
    expect(await store.runs("s", ALL)).toMatchObject([
      { state: "skipped" },
      { state: "waiting", pending: { kind: "approval" } },
    ]);
    const questions = await haft.approvals.list("pending");
    expect(questions).toHaveLength(1);
    await haft.approvals.approve(questions[0]!.id);
    expect(times).toHaveLength(1);
    expect(await scheduler.refresh((await store.open("s"))[0]!, (await store.get("s"))!)).toMatchObject({
      state: "failed",
    });
    expect(await store.open("s")).toEqual([]);
  });

  test("repeats an interrupted call of another process under its id, so it has one effect", async () => {
    const { clock, store, scheduler, add, times } = await open();
    await add(everyTenMinutes);
    scheduler.start();
    await clock.advance(10 * MINUTE);
    const [run] = await store.runs("s", ALL);
    store.takeLost = () => [{ ...run!, state: "running" }];
    await clock.advance(40_000);
    expect(times).toEqual([10 * MINUTE]);
  });

  test("releases a run that ends with its process", async () => {
    const { clock, haft, store, scheduler, add } = await open();
    await add(everyTenMinutes);
    scheduler.start();
    void haft.shutdown();
    await clock.advance(10 * MINUTE);
    await scheduler.stop();
    expect(await store.runs("s", ALL)).toMatchObject([{ state: "running", callId: "s.1" }]);
  });

  test("wakes a session, and reports the outcome", async () => {
    const woken: unknown[] = [];
    const { clock, store, scheduler, add } = await open({
      wake: async (session, text, { caller }) => {
        woken.push([session, text, caller.user]);
        if (woken.length > 1) throw new Error("It is gone.");
      },
    });
    await add(everyTenMinutes, { target: { type: "wake", session: "one", text: "Look again" } });
    scheduler.start();
    await clock.advance(20 * MINUTE);
    expect(woken).toEqual(Array.from({ length: 2 }, () => ["one", "Look again", "ada"]));
    expect(await store.runs("s", ALL)).toMatchObject([
      { state: "failed", outcome: "It is gone." },
      { state: "completed" },
    ]);
  });
});

describe("fa-025: when the clock jumps", () => {
  test("an hour forward, skipped times run once, and the rest continues", async () => {
    const { clock, store, scheduler, add, times } = await open();
    await add(hourly);
    await store.add(
      scheduleFor("once", { timing: { type: "at", at: START + HOUR + 1 }, nextAt: START + HOUR + 1 }),
      10,
    );
    scheduler.start();
    await clock.advance(30 * MINUTE);
    clock.set(HOUR);
    await clock.advance(10_000);
    expect(times).toHaveLength(2);
    await clock.advance(HOUR);
    expect(await store.runs("once", ALL)).toMatchObject([{ number: 1, state: "completed" }]);
    expect((await store.runs("s", ALL)).map(({ dueAt }) => (dueAt - START) / HOUR)).toEqual([2, 1]);
  });

  test("half a day forward, a schedule of every second runs once, and the missed times are a bounded number", async () => {
    const { clock, store, scheduler, add, times } = await open();
    await add({ type: "every", everyMs: 1000 });
    scheduler.start();
    await clock.advance(2500);
    const before = times.length;
    clock.set(12 * HOUR);
    await clock.advance(600);
    expect(times.length - before).toBe(1);
    const [run] = await store.runs("s", ALL);
    expect(run).toMatchObject({ state: "completed", missed: MAX_MISSED });
    expect(showMissed(run!.missed)).toBe("1000 or more");
    await clock.advance(2000);
    expect((await store.runs("s", ALL)).slice(0, 2)).toMatchObject([{ missed: 0 }, { missed: 0 }]);
  });

  test("an hour back, past runs are not repeated, and intervals continue", async () => {
    const { clock, store, scheduler, add } = await open();
    await add(hourly);
    const { timing, nextAt } = { timing: everyTenMinutes, nextAt: START + 10 * MINUTE };
    await store.add(scheduleFor("often", { timing, nextAt }), 10);
    scheduler.start();
    await clock.advance(65 * MINUTE);
    expect(await store.runs("s", ALL)).toHaveLength(1);
    expect(await store.runs("often", ALL)).toHaveLength(6);
    clock.set(-HOUR);
    await clock.advance(60 * MINUTE);
    expect(await store.runs("s", ALL)).toHaveLength(1);
    expect((await store.runs("often", ALL)).length).toBeGreaterThanOrEqual(11);
    expect((await store.runs("often", ALL)).length).toBeLessThanOrEqual(12);
    await clock.advance(60 * MINUTE);
    expect((await store.runs("s", ALL)).map(({ dueAt }) => (dueAt - START) / HOUR)).toEqual([2, 1]);
  });
});
