import { z } from "zod";
import {
  CallErrorCode,
  Caller,
  CallMode,
  CallPolicy,
  CallSubject,
  Count,
  limit,
  Name,
  page,
  Pending,
  RiskLevel,
  Text,
  Time,
} from "./basics.ts";
import { call, named, namedObject, read } from "./contract.ts";

export const ScheduleTiming = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("at"), at: Time }),
  /** `from`: the first time. Default: one period from now. */
  z.strictObject({ type: z.literal("every"), everyMs: Time, from: Time.optional() }),
  z.strictObject({ type: z.literal("cron"), expression: Name, timeZone: Name }),
]);
export type ScheduleTiming = z.infer<typeof ScheduleTiming>;

export const ScheduleTarget = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("call"), toolName: Name, input: z.unknown() }),
  z.strictObject({ type: z.literal("wake"), session: Name, text: Text }),
]);
export type ScheduleTarget = z.infer<typeof ScheduleTarget>;

/** What happens to times that passed while no process was running: one late run, or none. */
export const MissedRuns = z.enum(["run_once", "skip"]);

/** It runs with the rights of the token that adds it, restricted by `session`, `mode`, `policy` and `allowedPaths`. */
export const NewScheduleRequest = namedObject("NewScheduleRequest", {
  name: Name.optional(),
  timing: ScheduleTiming,
  target: ScheduleTarget,
  missed: MissedRuns.optional(),
  isPaused: z.boolean().optional(),
  session: Name.optional(),
  /** `acceptEdits` and `bypassPermissions` need the scope `approve`. */
  mode: CallMode.optional(),
  policy: CallPolicy.optional(),
  allowedPaths: z.array(z.string().max(4096)).max(100).optional(),
});
export type NewScheduleRequest = z.infer<typeof NewScheduleRequest>;

/** The schedule gets the rights of the token that changes it. */
export const ScheduleChangeRequest = named("ScheduleChangeRequest", NewScheduleRequest.partial());
export type ScheduleChangeRequest = z.infer<typeof ScheduleChangeRequest>;

export const SchedulePauseRequest = namedObject("SchedulePauseRequest", { isPaused: z.boolean() });
export type SchedulePauseRequest = z.infer<typeof SchedulePauseRequest>;

export const ScheduleRun = namedObject("ScheduleRun", {
  scheduleId: z.string(),
  /** Incremented by one within a schedule. */
  number: Count,
  trigger: z.enum(["time", "request"]),
  /** Who requested it. */
  by: z.string().optional(),
  dueAt: Time,
  startedAt: Time.optional(),
  endedAt: Time.optional(),
  /** `waiting`: for a person or a job. `missed`: no process was running. `skipped`: the run before had not ended. */
  state: z.enum(["running", "waiting", "completed", "failed", "denied", "unknown", "missed", "skipped"]),
  /** How many times before `dueAt` passed without a run; 1000 means 1000 or more. */
  missed: Count,
  callId: z.string().optional(),
  pending: Pending.optional(),
  errorCode: CallErrorCode.optional(),
  /** One line for a person. */
  outcome: z.string().optional(),
});
export type ScheduleRun = z.infer<typeof ScheduleRun>;

export const ScheduleInfo = namedObject("ScheduleInfo", {
  id: z.string(),
  name: z.string(),
  timing: ScheduleTiming,
  target: ScheduleTarget,
  /** Of a call. */
  subject: CallSubject.optional(),
  risk: RiskLevel.optional(),
  missed: MissedRuns,
  isPaused: z.boolean(),
  authority: z.strictObject({
    caller: Caller,
    mode: CallMode.optional(),
    policy: z.array(CallPolicy).optional(),
    allowedPaths: z.array(z.string()).optional(),
  }),
  createdAt: Time,
  updatedAt: Time,
  /** Omitted if it will not run again. */
  nextAt: Time.optional(),
  runCount: Count,
  /** The next few times, unless it is paused. */
  upcoming: z.array(Time),
  lastRun: ScheduleRun.optional(),
});
export type ScheduleInfo = z.infer<typeof ScheduleInfo>;

export const ScheduleStatus = z.strictObject({
  schedules: Count,
  paused: Count,
  nextAt: Time.optional(),
  /** Whether a process runs what is due. */
  isRunning: z.boolean(),
});
export type ScheduleStatus = z.infer<typeof ScheduleStatus>;

export const SchedulePage = namedObject("SchedulePage", {
  items: z.array(ScheduleInfo),
  next: z.string().optional(),
  status: ScheduleStatus,
});
export type SchedulePage = z.infer<typeof SchedulePage>;

export const ScheduleTimes = namedObject("ScheduleTimes", { upcoming: z.array(Time) });
export type ScheduleTimes = z.infer<typeof ScheduleTimes>;

export const schedules = {
  list: read("GET /api/schedules", {
    summary: "Schedules with their next times, and whether a process runs them",
    output: SchedulePage,
  }),
  create: call("POST /api/schedules", {
    summary: "Add a schedule; it runs with the rights of the token",
    body: NewScheduleRequest,
    output: ScheduleInfo,
  }),
  times: read("GET /api/schedule-times", {
    summary: "The next times of a cron expression; nothing is saved",
    query: z.strictObject({
      expression: Name.describe("Minute, hour, day, month, weekday"),
      timeZone: Name.describe("Of the IANA database, such as Europe/Berlin"),
    }),
    output: ScheduleTimes,
  }),
  get: read("GET /api/schedules/{id}", { summary: "One schedule", output: ScheduleInfo }),
  update: call("POST /api/schedules/{id}", {
    summary: "Change a schedule; from now on it runs with the rights of the token",
    body: ScheduleChangeRequest,
    output: ScheduleInfo,
  }),
  remove: call("DELETE /api/schedules/{id}", { summary: "Remove a schedule and its runs", output: ScheduleInfo }),
  pause: call("POST /api/schedules/{id}/pause", {
    summary: "Pause or resume a schedule",
    body: SchedulePauseRequest,
    output: ScheduleInfo,
  }),
  run: call("POST /api/schedules/{id}/run", {
    summary: "Run a schedule now, with the rights that it has",
    output: ScheduleRun,
  }),
  runs: read("GET /api/schedules/{id}/runs", {
    summary: "The runs of a schedule and the missed times, newest first",
    query: z.strictObject({
      limit,
      before: z.number().int().min(1).optional().describe("Only runs with a lower number"),
    }),
    output: page("ScheduleRunPage", ScheduleRun),
  }),
};
