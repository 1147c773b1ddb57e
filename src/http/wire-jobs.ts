// A part of wire.ts: what runs later.
import type { CallMode, CallPolicy, Caller } from "../core/call.ts";
import type { ToolResult } from "../core/result.ts";
import type { Schedule, ScheduleRequest, ScheduleRun, ScheduleStatus } from "../core/schedule.ts";
import type { Job, JobLogLine, JobState } from "../calls/job.ts";
import type { Page } from "./wire.ts";

export type { JobLogLine, JobState, ScheduleRun, ScheduleStatus };

// Jobs: GET /api/jobs?state=&tool=&session=&limit=&cursor=, GET /api/jobs/{id}, GET /api/jobs/{id}/log?after=,
// GET /api/jobs/{id}/updates (event stream), POST /api/jobs/{id}/cancel, POST /api/jobs/{id}/retry

/** A row of the list. */
export interface JobInfo extends Omit<Job, "call" | "key" | "result"> {
  callId: string;
  toolName: string;
  caller: Caller;
  /** Of its result, in a line. */
  display?: string;
}

export interface JobDetail extends JobInfo {
  input: unknown;
  /** Once it has ended. */
  result?: ToolResult;
}

/** With how many there are in each state. */
export interface JobPage extends Page<JobInfo> {
  counts: Record<JobState, number>;
}

export interface JobCancelRequest {
  reason?: string;
}

/** Server-sent events of one job: its log, then what comes to it. The last one is `job`, once it has ended. */
export type JobFrame = { type: "line"; line: JobLogLine } | { type: "job"; job: JobDetail };

// Schedules: GET|POST /api/schedules, GET|POST|DELETE /api/schedules/{id}, POST /api/schedules/{id}/pause,
// POST /api/schedules/{id}/run, GET /api/schedules/{id}/runs?limit=&before=

export interface ScheduleInfo extends Omit<Schedule, "revision"> {
  /** The next few times, where it is not paused. */
  upcoming: number[];
  lastRun?: ScheduleRun;
}

export interface SchedulePage extends Page<ScheduleInfo> {
  status: ScheduleStatus;
}

/** It runs with the rights of the token that adds it, which these narrow. */
export interface NewScheduleRequest extends ScheduleRequest {
  session?: string;
  /** `acceptEdits` and `bypassPermissions` need the scope `approve`. */
  mode?: CallMode;
  policy?: CallPolicy;
  allowedPaths?: string[];
}

/** Whoever changes it gives it their own rights. */
export type ScheduleChangeRequest = Partial<NewScheduleRequest>;

export interface SchedulePauseRequest {
  isPaused: boolean;
}
