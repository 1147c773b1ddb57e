import type { Schedule, ScheduleRun } from "../core/schedule.ts";
import type { MaybePromise } from "../core/stage.ts";

/**
 * Schedules and their runs, of all processes that share one store. Whatever changes a schedule gives it the next revision,
 * and counts only where the one that is kept has the revision before: of two who try, one does.
 */
export interface ScheduleStore {
  /** False where there are `most` already. */
  add(schedule: Schedule, max: number): MaybePromise<boolean>;
  get(id: string): MaybePromise<Schedule | undefined>;
  /** In the order they were made. */
  list(): MaybePromise<Schedule[]>;
  replace(schedule: Schedule): MaybePromise<boolean>;
  /** With its runs. */
  remove(id: string): MaybePromise<boolean>;
  /** What is to run at this time or was before, paused ones excepted; the earliest first, at most so many. */
  due(now: number, max: number): MaybePromise<Schedule[]>;
  /** The earliest time of all that are not paused. */
  nextAt(): MaybePromise<number | undefined>;
  /** Replaces the schedule and keeps the run, both or none; of the runs of one schedule the last `most` stay. */
  begin(schedule: Schedule, run: ScheduleRun, max: number): MaybePromise<boolean>;
  /** Of a run that is running or waiting, what came of it; of any other nothing changes. */
  end(run: ScheduleRun): MaybePromise<boolean>;
  /** Newest first. */
  runs(scheduleId: string, query: RunQuery): MaybePromise<ScheduleRun[]>;
  /** Those that have not ended. */
  open(scheduleId: string): MaybePromise<ScheduleRun[]>;
  /** Running ones of processes that are gone: from now on they are those of this process. */
  takeLost(): MaybePromise<ScheduleRun[]>;
  /** Notes that somebody runs what is due. */
  heartbeat(now: number): MaybePromise<void>;
  lastBeat(): MaybePromise<number | undefined>;
}

export interface RunQuery {
  limit: number;
  /** Older than the one of this number. */
  before?: number;
}
