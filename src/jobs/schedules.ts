import { randomBytes } from "node:crypto";
import { withDefaults } from "../core/options.ts";
import type { CallAuthority, Caller } from "../core/call.ts";
import { canonicalJson } from "../core/json.ts";
import type { Clock } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import type { Schedule, ScheduleRequest, ScheduleRun, ScheduleStatus, ScheduleTarget } from "../core/schedule.ts";
import type { MaybePromise } from "../core/stage.ts";
import { checkTiming, nextTime } from "./schedule-times.ts";
import { noSessions, type Scheduler, type WakeSession } from "./scheduler.ts";

/**
 * Schedules and their runs, of all processes that share one store. A change gives a schedule the next revision, and is only
 * stored if the stored one has the revision before: if two processes change it at once, one succeeds.
 */
export interface ScheduleStore {
  /** False if there are `max` already. */
  add(schedule: Schedule, max: number): MaybePromise<boolean>;
  get(id: string): MaybePromise<Schedule | undefined>;
  /** In the order of creation. */
  list(): MaybePromise<Schedule[]>;
  replace(schedule: Schedule): MaybePromise<boolean>;
  /** With its runs. */
  remove(id: string): MaybePromise<boolean>;
  /** Due at this time or before, without paused ones; earliest first, at most `max`. */
  due(now: number, max: number): MaybePromise<Schedule[]>;
  /** The earliest time of all schedules that are not paused. */
  nextAt(): MaybePromise<number | undefined>;
  /** Replaces the schedule and stores the run, both or none. Keeps the last `max` runs of the schedule. */
  begin(schedule: Schedule, run: ScheduleRun, max: number): MaybePromise<boolean>;
  /** Stores the outcome of a run that is running or waiting. Does not change any other. */
  end(run: ScheduleRun): MaybePromise<boolean>;
  /** Newest first. */
  runs(scheduleId: string, query: RunQuery): MaybePromise<ScheduleRun[]>;
  /** Runs that have not ended. */
  open(scheduleId: string): MaybePromise<ScheduleRun[]>;
  /** Running runs of processes that are gone. They belong to this process from now on. */
  takeLost(): MaybePromise<ScheduleRun[]>;
  /** Records that a scheduler is running. */
  heartbeat(now: number): MaybePromise<void>;
  lastBeat(): MaybePromise<number | undefined>;
}

export interface RunQuery {
  limit: number;
  /** Only runs with a lower number. */
  before?: number;
}

export interface SchedulesOptions {
  store: ScheduleStore;
  scheduler: Scheduler;
  clock: Clock;
  /** Throws if this authority may not make the call. */
  check: (target: Extract<ScheduleTarget, { type: "call" }>, authority: CallAuthority) => MaybePromise<void>;
  wake?: WakeSession | undefined;
}

const MAX_SCHEDULES = 1000;
const MAX_NAME_LENGTH = 200;
const MAX_BYTES = 64 * 1024;
const MAX_ATTEMPTS = 5;
const DEFAULT_RUNS = 50;
/** A few heartbeats. */
const RUNNING_WITHIN_MS = 30_000;

/** Creates, lists and changes schedules. With `as`, only those of that caller. */
export class Schedules {
  readonly #options: SchedulesOptions;

  constructor(options: SchedulesOptions) {
    this.#options = options;
  }

  /** Starts to run due schedules in this process. */
  start(): void {
    this.#options.scheduler.start();
  }

  /** Starts no more runs; resolves when the running ones have ended. */
  stop(): Promise<void> {
    return this.#options.scheduler.stop();
  }

  async status(as?: CallAuthority): Promise<ScheduleStatus> {
    const { store, clock } = this.#options;
    const all = await this.list(as);
    const times = all.flatMap(({ nextAt, isPaused }) => (nextAt === undefined || isPaused ? [] : [nextAt]));
    const heartbeat = await store.lastBeat();
    return {
      schedules: all.length,
      paused: all.filter(({ isPaused }) => isPaused).length,
      nextAt: times.length > 0 ? Math.min(...times) : undefined,
      isRunning: heartbeat !== undefined && Math.abs(clock.now() - heartbeat) < RUNNING_WITHIN_MS,
    };
  }

  async list(as?: CallAuthority): Promise<Schedule[]> {
    const all = await this.#options.store.list();
    return as ? all.filter((schedule) => isOwnSchedule(schedule, as.caller)) : all;
  }

  async get(id: string, as?: CallAuthority): Promise<Schedule> {
    // Some characters, such as NUL, would make the store fail.
    const schedule = /^[\w-]{1,64}$/.test(id) ? await this.#options.store.get(id) : undefined;
    if (schedule && (!as || isOwnSchedule(schedule, as.caller))) return schedule;
    throw toolError("no_match", `There is no schedule "${id.slice(0, 64)}"`, { next: "List them to see their ids." });
  }

  async add(request: ScheduleRequest, authority: CallAuthority): Promise<Schedule> {
    const { store, scheduler, clock } = this.#options;
    await this.check(request, authority);
    const now = clock.now();
    const { timing, target, missed = "run_once", isPaused = false } = request;
    const nextAt = nextTime(timing, now);
    const schedule: Schedule = {
      id: `sch_${randomBytes(6).toString("hex")}`,
      name:
        request.name ?? (target.type === "call" ? target.toolName : `wake ${target.session}`).slice(0, MAX_NAME_LENGTH),
      timing,
      target,
      missed,
      isPaused,
      authority,
      createdAt: now,
      updatedAt: now,
      nextAt,
      runCount: 0,
      revision: 1,
    };
    if (!(await store.add(schedule, MAX_SCHEDULES))) {
      throw toolError("busy", `There are ${MAX_SCHEDULES} schedules already`, { next: "Remove some that have ended." });
    }
    scheduler.recheck();
    return schedule;
  }

  /** The schedule gets the authority of the caller that changes it: a caller's rights never apply to another caller's text. */
  async update(
    id: string,
    changes: Partial<ScheduleRequest>,
    authority: CallAuthority,
    as: CallAuthority | undefined = authority,
  ): Promise<Schedule> {
    return this.#change(id, as, async (schedule) => {
      const {
        name = schedule.name,
        timing = schedule.timing,
        target = schedule.target,
        missed = schedule.missed,
        isPaused = schedule.isPaused,
      } = changes;
      const request = { name, timing, target, missed, isPaused };
      const changed = { ...schedule, ...request, authority };
      const isTimed = isPaused === schedule.isPaused && canonicalJson(timing) === canonicalJson(schedule.timing);
      await this.check(request, authority, { isTimed });
      return isTimed ? changed : this.#timed(changed);
    });
  }

  /** Times that pass while it is paused do not count as missed. */
  async pause(id: string, isPaused: boolean, as?: CallAuthority): Promise<Schedule> {
    return this.#change(id, as, (schedule) => {
      if (schedule.isPaused === isPaused) return schedule;
      if (!isPaused) checkTiming(schedule.timing, this.#options.clock.now());
      return this.#timed({ ...schedule, isPaused });
    });
  }

  async remove(id: string, as?: CallAuthority): Promise<Schedule> {
    const schedule = await this.get(id, as);
    await this.#options.store.remove(id);
    return schedule;
  }

  /** Starts a run now. `runs` reports its outcome. */
  async run(id: string, { by, as }: { by?: string; as?: CallAuthority } = {}): Promise<ScheduleRun> {
    const schedule = await this.get(id, as);
    if (as && rightsOf(as) !== rightsOf(schedule.authority)) {
      throw toolError("denied", `The schedule "${id}" was created with other rights than this call has`, {
        next: "Update it, which gives it yours, or let a person run it.",
      });
    }
    return this.#options.scheduler.run(schedule, by);
  }

  async runs(id: string, query: Partial<RunQuery> = {}, as?: CallAuthority): Promise<ScheduleRun[]> {
    const schedule = await this.get(id, as);
    const runs = await this.#options.store.runs(id, withDefaults({ limit: DEFAULT_RUNS }, query));
    return Promise.all(runs.map((run) => this.#options.scheduler.refresh(run, schedule)));
  }

  async wake(session: string, text: string, authority: CallAuthority): Promise<void> {
    if (!this.#options.wake) throw noSessions();
    await this.#options.wake(session, text, authority);
  }

  /** Throws if the schedule is not valid. */
  async check(
    { name, timing, target }: ScheduleRequest,
    authority: CallAuthority,
    { isTimed = false } = {},
  ): Promise<void> {
    if (name !== undefined && (name.length === 0 || name.length > MAX_NAME_LENGTH)) {
      throw toolError("invalid_input", `A schedule's name has 1 to ${MAX_NAME_LENGTH} characters`, {
        next: "Shorten it.",
      });
    }
    if (!isTimed) checkTiming(timing, this.#options.clock.now());
    if (Buffer.byteLength(JSON.stringify(target)) > MAX_BYTES) {
      throw toolError("input_too_large", `What a schedule runs has at most ${MAX_BYTES} bytes`, {
        next: "Keep the long part in a file, and name the file.",
      });
    }
    if (target.type === "call") await this.#options.check(target, authority);
    else if (!this.#options.wake) throw noSessions();
  }

  async #change(
    id: string,
    as: CallAuthority | undefined,
    change: (schedule: Schedule) => MaybePromise<Schedule>,
  ): Promise<Schedule> {
    const { store, scheduler, clock } = this.#options;
    for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
      const before = await this.get(id, as);
      const changed = await change(before);
      if (changed === before) return before;
      const next = { ...changed, updatedAt: clock.now(), revision: before.revision + 1 };
      if (!(await store.replace(next))) continue;
      scheduler.recheck();
      return next;
    }
    throw toolError("busy", `The schedule "${id}" is being changed by others`, { next: "Try again." });
  }

  #timed(schedule: Schedule): Schedule {
    const { nextAt: _before, ...rest } = schedule;
    const nextAt = nextTime(rest.timing, this.#options.clock.now());
    return nextAt === undefined ? rest : { ...rest, nextAt };
  }
}

function isOwnSchedule({ authority }: Schedule, caller: Caller): boolean {
  return authority.caller.user === caller.user;
}

/** All but the origin of the call. */
function rightsOf({ caller: { session: _session, task: _task, ...caller }, ...rights }: CallAuthority): string {
  return canonicalJson({ caller, ...rights });
}
