import type { CallAuthority } from "./call.ts";
import type { ErrorCode } from "./error.ts";
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

/** What happens to times that passed while nothing was running: one late run, or none. `runs` lists both. */
export type MissedRuns = "run_once" | "skip";

/** What somebody asks for. */
export interface ScheduleRequest {
  /** For people. */
  name?: string;
  timing: ScheduleTiming;
  target: ScheduleTarget;
  missed?: MissedRuns;
  isPaused?: boolean;
}

/** Work for certain times, with the authority of the caller who asked for it. Plain JSON. */
export interface Schedule extends Required<ScheduleRequest> {
  id: string;
  authority: CallAuthority;
  createdAt: number;
  updatedAt: number;
  /** Absent where it will not run again. */
  nextAt?: number;
  /** The number of its last run. */
  runCount: number;
  /** Grows with each change: of two who change it at once, one does. */
  revision: number;
}

/**
 * `waiting`: for a person or a job. `missed`: nobody was running at the time. `skipped`: the run before had not ended.
 */
export type ScheduleRunState = "running" | "waiting" | "completed" | "failed" | "missed" | "skipped";

export interface ScheduleRun {
  scheduleId: string;
  /** Grows by one within a schedule. */
  number: number;
  trigger: "time" | "request";
  /** Who asked for it, where it was not the time. */
  by?: string;
  dueAt: number;
  startedAt?: number;
  endedAt?: number;
  state: ScheduleRunState;
  /** How many times before `dueAt` passed without a run; of a missed one also this. */
  missed: number;
  /** Of the call that it made. */
  callId?: string;
  /** What a waiting one waits for. */
  pending?: PendingResult["pending"];
  errorCode?: ErrorCode;
  /** In a line, for a person. */
  outcome?: string;
}

export interface ScheduleStatus {
  schedules: number;
  paused: number;
  nextAt?: number;
  /** Whether a process runs what is due; absent where nobody has said so for a while. */
  isRunning: boolean;
}
