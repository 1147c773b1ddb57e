import { z } from "zod";
import {
  Caller,
  CallSubject,
  Count,
  cursor,
  limit,
  page,
  Progress,
  RiskLevel,
  Text,
  Time,
  ToolResult,
  Update,
} from "./basics.ts";
import { call, eventStream, named, namedObject, read } from "./contract.ts";

const ENDED_STATES = ["completed", "failed", "denied", "cancelled", "unknown"] as const;
export const JobState = z.enum(["delayed", "queued", "running", ...ENDED_STATES]);
export type JobState = z.infer<typeof JobState>;

/** What an open job waits for: its time, its next attempt, a free worker, or a person who must answer about a call of it. */
export const JobWait = z.discriminatedUnion("type", [
  z.strictObject({ type: z.enum(["time", "retry"]), until: Time }),
  z.strictObject({ type: z.literal("worker") }),
  z.strictObject({ type: z.literal("approval"), approvalId: z.string(), toolName: z.string(), subject: CallSubject }),
]);
export type JobWait = z.infer<typeof JobWait>;

export const JobInfo = namedObject("JobInfo", {
  id: z.string(),
  callId: z.string(),
  toolName: z.string(),
  subject: CallSubject,
  risk: RiskLevel,
  caller: Caller,
  state: JobState,
  waitsFor: JobWait.optional(),
  priority: z.number(),
  createdAt: Time,
  /** A delayed job starts no earlier. */
  runAt: Time,
  startedAt: Time.optional(),
  endedAt: Time.optional(),
  /** How many attempts were started, and how many are allowed. */
  attempt: Count,
  attempts: Count,
  /** How many times its worker disappeared; such a try is not an attempt. */
  lost: Count,
  /** 1, plus one for each manual retry. */
  round: Count,
  /** The worker that runs it or ran it last. */
  worker: z.string().optional(),
  progress: Progress.optional(),
  /** The result in one line. */
  display: z.string().optional(),
});
export type JobInfo = z.infer<typeof JobInfo>;

export const JobDetail = named(
  "JobDetail",
  JobInfo.extend({
    input: z.unknown(),
    /** After it has ended. */
    result: ToolResult.optional(),
  }),
);
export type JobDetail = z.infer<typeof JobDetail>;

export const JobPage = namedObject("JobPage", {
  items: z.array(JobInfo),
  next: z.string().optional(),
  /** The number of jobs in each state. */
  counts: z.record(JobState, Count),
});
export type JobPage = z.infer<typeof JobPage>;

/** A streamed update, or a note about the job. */
export const JobLogLine = namedObject("JobLogLine", {
  number: Count,
  at: Time,
  update: Update.optional(),
  note: z.string().optional(),
});
export type JobLogLine = z.infer<typeof JobLogLine>;

/** The log of a job and its changes. The last frame is `job`, after it has ended. */
export const JobFrame = named(
  "JobFrame",
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("line"), line: JobLogLine }),
    z.strictObject({ type: z.literal("job"), job: JobDetail }),
  ]),
);
export type JobFrame = z.infer<typeof JobFrame>;

export const JobCancelRequest = namedObject("JobCancelRequest", { reason: Text.optional() });
export type JobCancelRequest = z.infer<typeof JobCancelRequest>;

export const jobs = {
  list: read("GET /api/jobs", {
    summary: "Background calls, newest first, and the number in each state",
    query: z.strictObject({
      state: z.array(JobState).optional().describe("Only in one of these states"),
      tool: z.string().optional().describe("Only of this tool"),
      session: z.string().optional().describe("Only of this session"),
      limit,
      cursor,
    }),
    output: JobPage,
  }),
  get: read("GET /api/jobs/{id}", {
    summary: "One job, with its input and, after it has ended, its result",
    output: JobDetail,
  }),
  log: read("GET /api/jobs/{id}/log", {
    summary: "The log of a job, oldest line first",
    query: z.strictObject({ after: Count.optional().describe("Only lines with a higher number") }),
    output: page("JobLogPage", JobLogLine),
  }),
  watch: read("GET /api/jobs/{id}/updates", {
    summary: "Follow a job from its first log line until it ends",
    stream: eventStream(JobFrame),
  }),
  cancel: call("POST /api/jobs/{id}/cancel", {
    summary: "Cancel a job; a running one ends soon",
    body: JobCancelRequest,
    output: JobDetail,
  }),
  retry: call("POST /api/jobs/{id}/retry", {
    summary: "Run an ended job again, as a call of its own",
    output: JobDetail,
  }),
};
