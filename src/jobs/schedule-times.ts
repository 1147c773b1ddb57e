import { Cron } from "croner";
import { errorMessage, toolError } from "../core/error.ts";
import { MAX_MISSED, type ScheduleTiming } from "../core/schedule.ts";

/** Frequent enough for an agent, and not so frequent that runs fill the log. */
const MIN_INTERVAL_MS = 1000;
const MAX_INTERVAL_MS = 10 * 365 * 86_400_000;
/** The last time and so many before it: after a jump of the clock, an exact number would mean nothing. */
const MAX_COUNTED = MAX_MISSED + 1;

/** Throws if the timing can never occur, with a correct example. */
export function checkTiming(timing: ScheduleTiming, now: number): void {
  switch (timing.type) {
    case "at":
      if (timing.at > now) return;
      throw refusal(`${new Date(timing.at).toISOString()} is in the past`, `It is ${new Date(now).toISOString()} now.`);
    case "every":
      if (timing.everyMs >= MIN_INTERVAL_MS && timing.everyMs <= MAX_INTERVAL_MS) return;
      throw refusal(`A schedule cannot run every ${timing.everyMs} ms`, "Use 1 second to 10 years.");
    case "cron": {
      const cron = readCron(timing);
      if (!cron.nextRun(new Date(now))) throw refusal(`"${timing.expression}" never runs again`, "Change its date.");
    }
  }
}

/** The first time after `after`; undefined if there is none. */
export function nextTime(timing: ScheduleTiming, after: number): number | undefined {
  switch (timing.type) {
    case "at":
      return timing.at > after ? timing.at : undefined;
    case "every": {
      const { everyMs, from = after + everyMs } = timing;
      return from > after ? from : from + (Math.floor((after - from) / everyMs) + 1) * everyMs;
    }
    case "cron":
      return readCron(timing).nextRun(new Date(after))?.getTime();
  }
}

/** Of the times from `first` to `now`: the last one, and how many there are, counted up to `MAX_COUNTED`. */
export function timesPassed(
  timing: ScheduleTiming,
  first: number,
  now: number,
): { last: number; count: number; next: number | undefined } {
  if (timing.type === "at") return { last: first, count: 1, next: undefined };
  if (timing.type === "every") {
    const passed = Math.floor((now - first) / timing.everyMs);
    const last = first + passed * timing.everyMs;
    return { last, count: Math.min(passed + 1, MAX_COUNTED), next: last + timing.everyMs };
  }
  const cron = readCron(timing);
  let last = first;
  let count = 1;
  for (;;) {
    const next = cron.nextRun(new Date(last))?.getTime();
    if (next === undefined || next > now) return { last, count, next };
    last = next;
    if (++count < MAX_COUNTED) continue;
    // The library searches before a whole second.
    const second = (Math.floor(now / 1000) + 1) * 1000;
    const latest = cron.previousRuns(1, new Date(second))[0]?.getTime() ?? last;
    return { last: latest, count, next: nextTime(timing, now) };
  }
}

function readCron({ expression, timeZone }: Extract<ScheduleTiming, { type: "cron" }>): Cron {
  if (!isTimeZone(timeZone)) {
    throw refusal(`There is no time zone "${timeZone}"`, "Write it as Europe/Berlin or UTC.");
  }
  let cron: Cron | undefined;
  let why = "it is a date";
  try {
    cron = new Cron(expression, { timezone: timeZone, paused: true, mode: "5-or-6-parts" });
  } catch (error) {
    why = errorMessage(error).replace(/^CronPattern: /, "");
  }
  // The library also accepts dates, which run once.
  if (cron && !cron.getOnce()) return cron;
  throw refusal(
    `"${expression}" is not a cron expression: ${why}`,
    'Write minute, hour, day, month and weekday, as in "30 8 * * 1-5".',
  );
}

function isTimeZone(name: string): boolean {
  try {
    void new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function refusal(message: string, next: string): Error {
  return toolError("invalid_input", message, { next });
}
