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

export class MemoryScheduleStore implements ScheduleStore {
  readonly #schedules = new Map<string, Schedule>();
  readonly #runs = new Map<string, ScheduleRun[]>();
  #heartbeat: number | undefined;

  add(schedule: Schedule, max: number): boolean {
    if (this.#schedules.size >= max) return false;
    this.#schedules.set(schedule.id, structuredClone(schedule));
    return true;
  }

  get(id: string): Schedule | undefined {
    return structuredClone(this.#schedules.get(id));
  }

  list(): Schedule[] {
    return structuredClone([...this.#schedules.values()]);
  }

  replace(schedule: Schedule): boolean {
    if (this.#schedules.get(schedule.id)?.revision !== schedule.revision - 1) return false;
    this.#schedules.set(schedule.id, structuredClone(schedule));
    return true;
  }

  remove(id: string): boolean {
    this.#runs.delete(id);
    return this.#schedules.delete(id);
  }

  due(now: number, max: number): Schedule[] {
    const due = this.#timed().filter(({ nextAt }) => nextAt <= now);
    return structuredClone(due.sort((a, b) => a.nextAt - b.nextAt).slice(0, max));
  }

  nextAt(): number | undefined {
    const times = this.#timed().map(({ nextAt }) => nextAt);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  begin(schedule: Schedule, run: ScheduleRun, max: number): boolean {
    if (!this.replace(schedule)) return false;
    const kept = (this.#runs.get(schedule.id) ?? []).filter((one) => isOpen(one) || one.number > run.number - max);
    this.#runs.set(schedule.id, [...kept, structuredClone(run)]);
    return true;
  }

  end(run: ScheduleRun): boolean {
    const runs = this.#runs.get(run.scheduleId) ?? [];
    const at = runs.findIndex((one) => one.number === run.number && isOpen(one));
    if (at >= 0) runs[at] = structuredClone(run);
    return at >= 0;
  }

  runs(scheduleId: string, { limit, before = Infinity }: RunQuery): ScheduleRun[] {
    const runs = (this.#runs.get(scheduleId) ?? []).filter(({ number }) => number < before);
    return structuredClone(runs.reverse().slice(0, limit));
  }

  open(scheduleId: string): ScheduleRun[] {
    return structuredClone((this.#runs.get(scheduleId) ?? []).filter(isOpen));
  }

  /** What is in memory is gone with its process. */
  takeLost(): ScheduleRun[] {
    return [];
  }

  heartbeat(now: number): void {
    this.#heartbeat = now;
  }

  lastBeat(): number | undefined {
    return this.#heartbeat;
  }

  #timed(): (Schedule & { nextAt: number })[] {
    return [...this.#schedules.values()].flatMap((schedule) =>
      schedule.nextAt === undefined || schedule.isPaused ? [] : [{ ...schedule, nextAt: schedule.nextAt }],
    );
  }
}

function isOpen({ state }: ScheduleRun): boolean {
  return state === "running" || state === "waiting";
}
