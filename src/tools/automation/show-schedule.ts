import type { Schedule, ScheduleRun, ScheduleTarget, ScheduleTiming } from "../../core/schedule.ts";

const UNITS = [
  [604_800_000, "w"],
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1000, "s"],
] as const;

export function showTiming(timing: ScheduleTiming): string {
  switch (timing.type) {
    case "at":
      return `once at ${showMoment(timing.at)}`;
    case "every": {
      const unit = UNITS.find(([ms]) => timing.everyMs % ms === 0);
      return `every ${unit ? `${timing.everyMs / unit[0]}${unit[1]}` : `${timing.everyMs} ms`}`;
    }
    case "cron":
      return `${timing.expression} (${timing.timeZone})`;
  }
}

export function showTarget(target: ScheduleTarget): string {
  return target.type === "call"
    ? `${target.toolName} ${JSON.stringify(target.input)}`
    : `wake ${target.session}: ${target.text}`;
}

export function showMoment(at: number): string {
  return new Date(at).toISOString().replace(".000Z", "Z");
}

/** Over several lines, for a model. */
export function showSchedule(schedule: Schedule): string {
  const { id, name, timing, target, isPaused, nextAt, runCount, missed } = schedule;
  const next = isPaused ? "paused" : nextAt === undefined ? "over" : `next run ${showMoment(nextAt)}`;
  return [
    `${id} "${name}": ${showTiming(timing)}, ${next}, ${runCount} ${runCount === 1 ? "run" : "runs"} so far`,
    `  runs: ${cut(showTarget(target))}`,
    ...(missed === "skip" ? ["  late runs are skipped"] : []),
  ].join("\n");
}

export function showRun(run: ScheduleRun): string {
  const { number, state, dueAt, missed, callId, errorCode, outcome, trigger, by } = run;
  const facts = [
    trigger === "request" ? `asked for${by === undefined ? "" : ` by ${by}`}` : "",
    missed > 0 ? `${missed} ${missed === 1 ? "time" : "times"} missed` : "",
    callId === undefined ? "" : `call ${callId}`,
    errorCode ?? "",
  ].filter(Boolean);
  const line = `${number} ${showMoment(dueAt)} ${state}${facts.length > 0 ? ` (${facts.join(", ")})` : ""}`;
  return outcome === undefined ? line : `${line}: ${outcome}`;
}

function cut(text: string): string {
  return text.length > 500 ? `${text.slice(0, 499)}…` : text;
}
