import { z } from "zod";
import { JOB_STATES } from "../../calls/job.ts";
import type * as wire from "../wire.ts";
import {
  any,
  CallErrorCode,
  Caller,
  count,
  fields,
  Mode,
  name,
  next,
  text,
  time,
  ToolResult,
  typed,
  Update,
} from "./basics.ts";

const JobState = z.enum(JOB_STATES as [wire.JobState, ...wire.JobState[]]);

const job = {
  id: z.string(),
  callId: z.string(),
  toolName: z.string(),
  caller: Caller,
  state: JobState,
  priority: z.number(),
  createdAt: time,
  runAt: time,
  startedAt: time.optional(),
  endedAt: time.optional(),
  attempt: count,
  attempts: count,
  lost: count,
  round: count,
  worker: z.string().optional(),
  progress: z
    .strictObject({ done: z.number(), total: z.number().optional(), message: z.string().optional() })
    .optional(),
  display: z.string().optional(),
};

const JobInfo = typed<wire.JobInfo>(z.strictObject(job));

export const JobDetail = typed<wire.JobDetail>(z.strictObject({ ...job, input: any, result: ToolResult.optional() }));

export const JobPage = typed<wire.JobPage>(
  z.strictObject({ items: z.array(JobInfo), next, counts: z.record(JobState, count) }),
);

export const JobLogLine = typed<wire.JobLogLine>(
  z.strictObject({ number: count, at: time, update: Update.optional(), note: z.string().optional() }),
);

export const JobFrame = typed<wire.JobFrame>(
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("line"), line: JobLogLine }),
    z.strictObject({ type: z.literal("job"), job: JobDetail }),
  ]),
);

export const JobCancelRequest = typed<wire.JobCancelRequest>(z.strictObject({ reason: text.optional() }));

const Timing = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("at"), at: time }),
  z.strictObject({ type: z.literal("every"), everyMs: time, from: time.optional() }),
  z.strictObject({ type: z.literal("cron"), expression: name, timeZone: name }),
]);

const Target = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("call"), toolName: name, input: any }),
  z.strictObject({ type: z.literal("wake"), session: name, text }),
]);

const Policy = z.strictObject({ allow: z.array(name).optional(), deny: z.array(name).optional() });

const requested = {
  name: name.optional(),
  timing: Timing,
  target: Target,
  missed: z.enum(["run_once", "skip"]).optional(),
  isPaused: z.boolean().optional(),
  session: name.optional(),
  mode: Mode.optional(),
  policy: Policy.optional(),
  allowedPaths: z.array(z.string().max(4096)).max(100).optional(),
};

export const NewScheduleRequest = typed<wire.NewScheduleRequest>(z.strictObject(requested));
export const ScheduleChangeRequest = typed<wire.ScheduleChangeRequest>(z.strictObject(requested).partial());
export const SchedulePauseRequest = typed<wire.SchedulePauseRequest>(z.strictObject({ isPaused: z.boolean() }));

export const ScheduleRun = typed<wire.ScheduleRun>(
  z.strictObject({
    scheduleId: z.string(),
    number: count,
    trigger: z.enum(["time", "request"]),
    by: z.string().optional(),
    dueAt: time,
    startedAt: time.optional(),
    endedAt: time.optional(),
    state: z.enum(["running", "waiting", "completed", "failed", "missed", "skipped"]),
    missed: count,
    callId: z.string().optional(),
    pending: z.strictObject({ kind: z.enum(["job", "approval", "client"]), id: z.string() }).optional(),
    errorCode: CallErrorCode.optional(),
    outcome: z.string().optional(),
  }),
);

export const ScheduleInfo = typed<wire.ScheduleInfo>(
  z.strictObject({
    id: z.string(),
    name: z.string(),
    timing: Timing,
    target: Target,
    missed: z.enum(["run_once", "skip"]),
    isPaused: z.boolean(),
    authority: z.strictObject({
      caller: Caller,
      mode: Mode.optional(),
      policy: z.array(fields).optional(),
      allowedPaths: z.array(z.string()).optional(),
    }),
    createdAt: time,
    updatedAt: time,
    nextAt: time.optional(),
    runCount: count,
    upcoming: z.array(time),
    lastRun: ScheduleRun.optional(),
  }),
);

export const SchedulePage = typed<wire.SchedulePage>(
  z.strictObject({
    items: z.array(ScheduleInfo),
    next,
    status: z.strictObject({ schedules: count, paused: count, nextAt: time.optional(), isRunning: z.boolean() }),
  }),
);
