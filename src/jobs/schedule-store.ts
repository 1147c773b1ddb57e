import type { Schedule, ScheduleRun } from "../core/schedule.ts";
import type { MaybePromise } from "../core/stage.ts";

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
