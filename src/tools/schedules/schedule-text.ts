import { toolError } from "../../core/error.ts";
import {
  type Schedule,
  type ScheduleRun,
  type ScheduleTarget,
  type ScheduleTiming,
  showMissed,
} from "../../core/schedule.ts";

/** When something runs, as text; one of the first three. */
export interface TimingText {
  at?: string;
  every?: string;
  cron?: string;
  timeZone?: string;
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Undefined if nothing is given. Throws if it is invalid. */
export function readTiming({ at, every, cron, timeZone }: TimingText, now: number): ScheduleTiming | undefined {
  const given = [at, every, cron].filter((word) => word !== undefined);
  if (given.length > 1) throw refusal("Only one of at, every and cron can be given", "Give one of them.");
  if (at !== undefined) return { type: "at", at: readMoment(at, now) };
  if (every !== undefined) return { type: "every", everyMs: readDuration(every) };
  if (cron === undefined) return undefined;
  return { type: "cron", expression: cron.trim(), timeZone: timeZone ?? localTimeZone() };
}

function localTimeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function readMoment(text: string, now: number): number {
  const relative = /^(?:in )?(\d+(?:\.\d+)?[smhdw])$/.exec(text.trim())?.[1];
  if (relative !== undefined) return now + readDuration(relative);
  // A time without a zone is ambiguous.
  const isExact = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/.test(text.trim());
  const moment = isExact ? Date.parse(text.trim()) : Number.NaN;
  if (!Number.isNaN(moment)) return moment;
  throw refusal(
    `"${text}" is not a valid time`,
    "Write 2026-11-16T08:30:00Z, 2026-11-16T09:30:00+01:00, or 20m for in 20 minutes.",
  );
}

function readDuration(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)([smhdw])$/.exec(text.trim()) ?? [];
  if (amount === undefined) throw refusal(`"${text}" is not a valid duration`, "Write 30s, 5m, 2h, 1d or 1w.");
  return Math.round(Number(amount) * (UNITS[unit] ?? 0));
}

function refusal(message: string, next: string): Error {
  return toolError("invalid_input", message, { next });
}

const SHOWN_UNITS = [
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
      const unit = SHOWN_UNITS.find(([ms]) => timing.everyMs % ms === 0);
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

/** Several lines, for a model: a long target is cut. */
export function showSchedule(schedule: Schedule): string {
  return linesOf(schedule, cut(showTarget(schedule.target)));
}

/** The same for a person who decides about it: nothing is cut. */
export function showWholeSchedule(schedule: Schedule): string {
  return linesOf(schedule, showTarget(schedule.target));
}

function linesOf(schedule: Schedule, target: string): string {
  const { id, name, timing, isPaused, nextAt, runCount, missed } = schedule;
  const next = isPaused ? "paused" : nextAt === undefined ? "over" : `next run ${showMoment(nextAt)}`;
  return [
    `${id} "${name}": ${showTiming(timing)}, ${next}, ${runCount} ${runCount === 1 ? "run" : "runs"} so far`,
    `  runs: ${target}`,
    ...(missed === "skip" ? ["  late runs are skipped"] : []),
  ].join("\n");
}

export function showRun(run: ScheduleRun): string {
  const { number, state, dueAt, missed, callId, errorCode, outcome, trigger, by } = run;
  const facts = [
    trigger === "request" ? `requested${by === undefined ? "" : ` by ${by}`}` : "",
    missed > 0 ? `${showMissed(missed)} ${missed === 1 ? "time" : "times"} missed` : "",
    callId === undefined ? "" : `call ${callId}`,
    errorCode ?? "",
  ].filter(Boolean);
  const line = `${number} ${showMoment(dueAt)} ${state}${facts.length > 0 ? ` (${facts.join(", ")})` : ""}`;
  return outcome === undefined ? line : `${line}: ${outcome}`;
}

function cut(text: string): string {
  return text.length > 500 ? `${text.slice(0, 499)}…` : text;
}
