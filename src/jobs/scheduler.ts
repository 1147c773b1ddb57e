import type { CallAuthority, ExecuteByName } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { failedState, toFailure, toolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import { MAX_MISSED, type Schedule, type ScheduleRun } from "../core/schedule.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { ScheduleStore } from "./schedules.ts";
import { timesPassed } from "./schedule-times.ts";

/** Two messages with the same `id` are one. */
export type WakeSession = (session: string, text: string, authority: CallAuthority, id?: string) => Promise<void>;

export interface SchedulerOptions {
  store: ScheduleStore;
  clock: Clock;
  /** The gate: calls have the authority of the schedule. */
  execute: ExecuteByName;
  wake?: WakeSession | undefined;
  /** The result of a call that returned `pending`; `open` if it still waits, undefined if nothing is known. */
  resultOf?: (run: ScheduleRun, schedule: Schedule) => MaybePromise<ToolResult | "open" | undefined>;
  /** Called for errors outside of a call, such as a store that cannot be read. */
  onProblem?: (error: unknown) => void;
}

/** Other processes add schedules, and the clock may be set: the longest time between two checks. */
const CHECK_INTERVAL_MS = 1000;
const HEARTBEAT_INTERVAL_MS = 5000;
/** After a due schedule that could not be started. */
const RETRY_MS = 250;
/** A run that starts later than this was missed: no scheduler was running, or the clock jumped. */
const LATE_AFTER_MS = 60_000;
/** How often runs of processes that are gone are looked for. */
const RECOVER_EVERY_MS = 30_000;
const MAX_KEPT_RUNS = 100;
const MAX_BATCH_SIZE = 100;
const JUMP_MS = 2000;

/** Runs due schedules. Several processes may do so on one store: each run is claimed by one of them. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #running = new Set<Promise<void>>();
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;
  #checkAgain = false;
  #isStarted = false;
  #heartbeatAt = Number.NEGATIVE_INFINITY;
  #recoveredAt = Number.NEGATIVE_INFINITY;
  /** Both clocks at the last check. */
  #seen: { wall: number; monotonic: number } | undefined;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  start(): void {
    this.#isStarted = true;
    this.recheck();
  }

  /** Call after a change: checks now. */
  recheck(): void {
    if (!this.#isStarted) return;
    this.#timer?.cancel();
    this.#checkAgain = true;
    this.#looking ??= this.#look();
  }

  /** Starts no more runs; resolves when the running ones have ended. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    this.#timer?.cancel();
    await this.#looking;
    await Promise.all(this.#running);
  }

  /** Runs it now, independent of its timing. Resolves when it has started. */
  async run(schedule: Schedule, by: string | undefined): Promise<ScheduleRun> {
    const now = this.#options.clock.now();
    const run = this.#runOf(schedule, { trigger: "request", dueAt: now, state: "running", missed: 0 });
    if (by !== undefined) run.by = by;
    if (!(await this.#options.store.begin(advanced(schedule), run, MAX_KEPT_RUNS))) {
      throw toolError("stale", `The schedule "${schedule.id}" was changed at the same time`, { next: "Try again." });
    }
    this.#track(this.#perform(schedule, run));
    return run;
  }

  /** The current state of a run that waits for a person. */
  async refresh(run: ScheduleRun, schedule: Schedule): Promise<ScheduleRun> {
    if (run.state !== "waiting") return run;
    const result = await this.#options.resultOf?.(run, schedule);
    if (result === "open" || result?.status === "pending") return run;
    const ended = result ? this.#endOf(run, result) : this.#forgotten(run);
    return (await this.#options.store.end(ended)) ? ended : run;
  }

  async #look(): Promise<void> {
    let nextAt: number | undefined;
    try {
      while (this.#checkAgain && this.#isStarted) {
        this.#checkAgain = false;
        await this.#checkOnce();
      }
      nextAt = await this.#options.store.nextAt();
    } catch (error) {
      this.#options.onProblem?.(error);
    }
    this.#looking = undefined;
    if (this.#checkAgain) this.recheck();
    else if (this.#isStarted) this.#scheduleCheck(nextAt);
  }

  #scheduleCheck(nextAt = Infinity): void {
    const { clock } = this.#options;
    const left = nextAt - clock.now();
    this.#timer = clock.after(left > 0 ? Math.min(CHECK_INTERVAL_MS, left) : RETRY_MS, () => this.recheck());
    this.#timer.setRef(false);
  }

  async #checkOnce(): Promise<void> {
    const { store, clock } = this.#options;
    if (clock.monotonic() - this.#heartbeatAt >= HEARTBEAT_INTERVAL_MS) {
      this.#heartbeatAt = clock.monotonic();
      await store.heartbeat(clock.now());
    }
    if (this.#hasClockMovedBack()) await this.#rescheduleEarlier();
    if (clock.monotonic() - this.#recoveredAt >= RECOVER_EVERY_MS) {
      this.#recoveredAt = clock.monotonic();
      for (const run of await store.takeLost()) this.#track(this.#resume(run));
    }
    for (const schedule of await store.due(clock.now(), MAX_BATCH_SIZE)) {
      if (!this.#isStarted) return;
      // A failure must not affect the other schedules.
      await this.#fire(schedule).catch((error: unknown) => this.#options.onProblem?.(error));
    }
  }

  /** Assumed at the first check. */
  #hasClockMovedBack(): boolean {
    const { clock } = this.#options;
    const before = this.#seen;
    this.#seen = { wall: clock.now(), monotonic: clock.monotonic() };
    if (!before) return true;
    return this.#seen.wall - before.wall < this.#seen.monotonic - before.monotonic - JUMP_MS;
  }

  /** If the clock was set back, an interval must not wait until the old time comes again. */
  async #rescheduleEarlier(): Promise<void> {
    const { store, clock } = this.#options;
    for (const schedule of await store.list()) {
      const { timing, nextAt } = schedule;
      if (timing.type !== "every" || nextAt === undefined) continue;
      const latest = Math.max(clock.now() + timing.everyMs, timing.from ?? 0);
      if (nextAt > latest) await store.replace({ ...schedule, nextAt: latest, revision: schedule.revision + 1 });
    }
  }

  async #fire(schedule: Schedule): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const { last, count, next } = timesPassed(schedule.timing, schedule.nextAt ?? now, now);
    const isMissed = schedule.missed === "skip" && now - last > LATE_AFTER_MS;
    const before = isMissed ? undefined : await this.#unfinished(schedule);
    const run = this.#runOf(schedule, {
      trigger: "time",
      dueAt: last,
      state: isMissed ? "missed" : before ? "skipped" : "running",
      missed: isMissed ? Math.min(count, MAX_MISSED) : count - 1,
    });
    if (before) run.outcome = `Run ${before.number} had not ended (${before.state}).`;
    if (!(await store.begin(advanced(schedule, { nextAt: next }), run, MAX_KEPT_RUNS))) return;
    if (run.state === "running") this.#track(this.#perform(schedule, run));
  }

  async #unfinished(schedule: Schedule): Promise<ScheduleRun | undefined> {
    for (const run of await this.#options.store.open(schedule.id)) {
      const { state } = await this.refresh(run, schedule);
      if (state === "running" || state === "waiting") return run;
    }
    return undefined;
  }

  /** Continues a run of a process that is gone. The call keeps its id, so the journal knows whether it was made. */
  async #resume(run: ScheduleRun): Promise<void> {
    const schedule = await this.#options.store.get(run.scheduleId);
    if (schedule) await this.#perform(schedule, run);
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.#options.onProblem?.(error))
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async #perform({ target, authority }: Schedule, run: ScheduleRun): Promise<void> {
    const { store, execute, wake } = this.#options;
    if (target.type === "wake") {
      try {
        if (!wake) throw noSessions();
        await wake(target.session, target.text, authority, `${run.scheduleId}.${run.number}`);
        await store.end(this.#ended(run, { state: "completed", outcome: `Woke ${target.session}.` }));
      } catch (error) {
        const { code, message } = toFailure(error);
        await store.end(this.#ended(run, { state: failedState(code), errorCode: code, outcome: message }));
      }
      return;
    }
    const { caller, ...rights } = authority;
    const result = await execute(target.toolName, target.input, {
      ...rights,
      id: run.callId,
      // Unique: no other run has it.
      idempotencyKey: run.callId,
      caller: { ...caller, task: caller.task ?? run.scheduleId },
    });
    // The process is shutting down: the next one that takes the run makes the same call.
    if (result.status === "failed" && result.error.code === "shutdown") return;
    await store.end(this.#endOf(run, result));
  }

  #endOf(run: ScheduleRun, result: ToolResult): ScheduleRun {
    const outcome = firstLine(result.display);
    if (result.status === "pending") return { ...run, state: "waiting", pending: result.pending, outcome };
    if (result.status === "completed") return this.#ended(run, { state: "completed", outcome });
    return this.#ended(run, {
      state: failedState(result.error.code),
      errorCode: result.error.code,
      outcome: firstLine(result.error.message),
    });
  }

  #forgotten(run: ScheduleRun): ScheduleRun {
    const outcome = "It was denied, or not answered in time. See the call.";
    return this.#ended(run, { state: "failed", outcome });
  }

  #ended(run: ScheduleRun, how: Pick<ScheduleRun, "state" | "errorCode" | "outcome">): ScheduleRun {
    const { pending: _pending, outcome: _outcome, ...begun } = run;
    return { ...begun, ...how, endedAt: this.#options.clock.now() };
  }

  #runOf(
    { id, runCount, target }: Schedule,
    how: Pick<ScheduleRun, "trigger" | "dueAt" | "state" | "missed">,
  ): ScheduleRun {
    const number = runCount + 1;
    const run: ScheduleRun = { scheduleId: id, number, ...how };
    if (how.state !== "running") return run;
    run.startedAt = this.#options.clock.now();
    if (target.type === "call") run.callId = `${id}.${number}`;
    return run;
  }
}

function advanced(schedule: Schedule, { nextAt }: Pick<Schedule, "nextAt"> = schedule): Schedule {
  return { ...schedule, nextAt, runCount: schedule.runCount + 1, revision: schedule.revision + 1 };
}

export function noSessions(): Error {
  return toolError("unavailable", "There are no sessions to wake in this process", {
    next: "Schedule a tool call instead.",
  });
}

function firstLine(text: string): string {
  const [line = ""] = text.split("\n");
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
