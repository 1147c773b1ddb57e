import { expect, test } from "vitest";
import type { ScheduleTiming } from "../core/schedule.ts";
import { checkTiming, nextTime, timesPassed } from "./schedule-times.ts";

const at = (text: string): number => Date.parse(text);
const berlin = (expression: string): ScheduleTiming => ({ type: "cron", expression, timeZone: "Europe/Berlin" });
const shown = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString();

test("a cron expression uses its time zone, also for the missing and the repeated hour", () => {
  const daily = berlin("30 2 * * *");
  const following = (start: string): (string | undefined)[] => {
    const first = nextTime(daily, at(start));
    return [shown(first), shown(nextTime(daily, first!))];
  };
  expect(following("2027-03-27T12:00:00Z")).toEqual(["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"]);
  expect(following("2027-10-30T12:00:00Z")).toEqual(["2027-10-31T00:30:00.000Z", "2027-11-01T01:30:00.000Z"]);
});

test("an interval starts at its first time, and a date occurs once", () => {
  const every: ScheduleTiming = { type: "every", everyMs: 1000, from: 5000 };
  expect([1, 5000, 5001, 6999, 7000].map((time) => nextTime(every, time))).toEqual([5000, 6000, 6000, 7000, 8000]);
  expect(nextTime({ type: "every", everyMs: 1000 }, 7)).toBe(1007);
  expect([nextTime({ type: "at", at: 5 }, 4), nextTime({ type: "at", at: 5 }, 5)]).toEqual([5, undefined]);
});

test("reports the last passed time, how many passed, and the next one", () => {
  expect(timesPassed({ type: "at", at: 5 }, 5, 500)).toEqual({ last: 5, count: 1, next: undefined });
  expect(timesPassed({ type: "every", everyMs: 10 }, 100, 135)).toEqual({ last: 130, count: 4, next: 140 });
  const hourly = berlin("0 * * * *");
  const first = at("2026-11-15T08:00:00Z");
  expect(timesPassed(hourly, first, first)).toEqual({ last: first, count: 1, next: first + 3_600_000 });
  expect(timesPassed(hourly, first, first + 3 * 3_600_000 + 5)).toEqual({
    last: first + 3 * 3_600_000,
    count: 4,
    next: first + 4 * 3_600_000,
  });
});

test("counts at most a thousand missed times, and the last one is still correct", () => {
  const everySecond: ScheduleTiming = { type: "cron", expression: "* * * * * *", timeZone: "UTC" };
  const first = at("2026-11-15T08:00:00Z");
  const now = first + 86_400_000 + 500;
  const counted = { last: now - 500, count: 1001, next: now + 500 };
  expect(timesPassed(everySecond, first, now)).toEqual(counted);
  expect(timesPassed({ type: "every", everyMs: 1000 }, first, now)).toEqual(counted);
});

test.each<[ScheduleTiming, RegExp]>([
  [{ type: "at", at: 10 }, /in the past/],
  [{ type: "every", everyMs: 10 }, /cannot run every 10 ms/],
  [berlin("61 * * * *"), /not a cron expression/],
  [berlin("2027-01-01T00:00:00"), /it is a date/],
  [berlin("0 0 30 2 *"), /never runs again/],
  [{ type: "cron", expression: "* * * * *", timeZone: "Mars/Olympus" }, /no time zone "Mars\/Olympus"/],
])("%j is refused with what to write instead", (timing, why) => {
  expect(() => checkTiming(timing, 1_800_000_000_000)).toThrow(why);
});
