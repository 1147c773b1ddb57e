import type { CallAuthority } from "./call.ts";
import type { ErrorCode, FailedState } from "./error.ts";
import type { PendingResult } from "./result.ts";

/** When something runs. */
export type ScheduleTiming =
  | { type: "at"; at: number }
  /** `from`: the first time. Default: one period from now. */
  | { type: "every"; everyMs: number; from?: number }
  | { type: "cron"; expression: string; timeZone: string };

/** What is done then. */
export type ScheduleTarget =
  | { type: "call"; toolName: string; input: unknown }
  | { type: "wake"; session: string; text: string };

/** What happens to times that passed while no process was running: one late run, or none. `runs` lists both. */
export type MissedRuns = "run_once" | "skip";

/** A requested schedule. */
export interface ScheduleRequest {
  /** For people. */
  name?: string;
  timing: ScheduleTiming;
  target: ScheduleTarget;
  missed?: MissedRuns;
  isPaused?: boolean;
}

/** Scheduled work, with the authority of the caller that created it. Plain JSON. */
export interface Schedule extends Required<ScheduleRequest> {
  id: string;
  authority: CallAuthority;
  createdAt: number;
  updatedAt: number;
  /** Absent if it will not run again. */
  nextAt?: number;
  /** The number of its last run. */
  runCount: number;
  /** Incremented with each change: of two concurrent changes one fails. */
  revision: number;
}

/**
 * `waiting`: for a person or a job. `missed`: no process was running at the time. `skipped`: the previous run had not ended.
 */
export type ScheduleRunState = "running" | "waiting" | "completed" | FailedState | "missed" | "skipped";

export interface ScheduleRun {
  scheduleId: string;
  /** Incremented by one within a schedule. */
  number: number;
  trigger: "time" | "request";
  /** Who requested the run, if it was not started by the schedule. */
  by?: string;
  dueAt: number;
  startedAt?: number;
  endedAt?: number;
  state: ScheduleRunState;
  /** How many times before `dueAt` passed without a run, up to `MAX_MISSED`; for a missed run it includes this one. */
  missed: number;
  /** Id of the call. */
  callId?: string;
  /** What a waiting run waits for. */
  pending?: PendingResult["pending"];
  errorCode?: ErrorCode;
  /** One line for a person. */
  outcome?: string;
}

export interface ScheduleStatus {
  schedules: number;
  paused: number;
  nextAt?: number;
  /** The process that runs due schedules; absent if none has reported for a while. */
  isRunning: boolean;
}

/** Missed times are counted up to this: `missed` then means "this many or more". */
export const MAX_MISSED = 1000;

/** `3`, or `1000 or more`. */
export function showMissed(missed: number): string {
  return missed < MAX_MISSED ? String(missed) : `${MAX_MISSED} or more`;
}
