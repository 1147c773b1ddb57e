import type { ScheduleInfo, ScheduleRun } from "../http/wire.ts";
import { showTarget, showTiming } from "../tools/schedules/schedule-text.ts";
import { type Output, safeLine, type Style } from "./output.ts";
import { showColumns } from "./show-columns.ts";
import { showDuration, showTime } from "./show-time.ts";

export function showSchedules(schedules: readonly ScheduleInfo[], { paint, columns }: Output): string[] {
  return showColumns(
    schedules.map(({ id, name, timing, target, isPaused, nextAt, lastRun }) => [
      id,
      safeLine(name),
      safeLine(showTiming(timing)),
      isPaused ? "paused" : nextAt === undefined ? "over" : showTime(nextAt),
      lastRun?.state ?? "",
      safeLine(showTarget(target)),
    ]),
    { paint, columns, styles: ["bold"], styleOf: (cell, at) => (at === 4 ? styleOf(cell) : undefined) },
  );
}

export function showRuns(runs: readonly ScheduleRun[], { paint, columns }: Output): string[] {
  return showColumns(
    runs.map(({ number, dueAt, startedAt, endedAt, state, missed, trigger, by, errorCode, outcome }) => [
      `${number}`,
      showTime(dueAt),
      state,
      startedAt === undefined || endedAt === undefined ? "" : showDuration(endedAt - startedAt),
      [
        missed > 0 ? `${missed} missed` : "",
        trigger === "request" ? `asked for by ${by ?? "somebody"}` : "",
        errorCode ?? "",
        outcome ?? "",
      ]
        .filter(Boolean)
        .map(safeLine)
        .join("; "),
    ]),
    { paint, columns, styles: ["bold"], styleOf: (cell, at) => (at === 2 ? styleOf(cell) : undefined) },
  );
}

function styleOf(state: string): Style | undefined {
  const styles: Readonly<Record<string, Style>> = {
    running: "cyan",
    waiting: "yellow",
    completed: "green",
    failed: "red",
    missed: "yellow",
    skipped: "dim",
  };
  return styles[state];
}
