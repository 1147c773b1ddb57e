import { hash, randomBytes } from "node:crypto";
import type { JobsOptions } from "bullmq";
import { toolError } from "../core/error.ts";
import type { Update } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import { failedJob } from "../jobs/job-failure.ts";
import { endStateOf, type Job, type JobLogLine, type JobRequest } from "../jobs/job.ts";
import type { BullJob } from "./bullmq-engine.ts";

/** What BullMQ does not know of a job itself: kept as its data. */
export interface JobData extends Pick<Job, "call" | "key" | "priority" | "createdAt" | "runAt" | "attempts" | "round"> {
  /** Grows with each submission, also within a millisecond: the order of lists. */
  order: number;
  /** Tries that did not count, and those that were lost in earlier rounds. */
  uncounted: number;
  lostBefore: number;
  /** Somebody cancelled it: how it ends where nobody has begun it. */
  cancelled?: ToolResult;
}

export interface Progress {
  callId: string;
  /** The last that was said, also by an update before these. */
  progress?: Update["progress"];
  updates: Update[];
}

export type BullState = "waiting" | "prioritized" | "delayed" | "active" | "completed" | "failed";

const MAX_ENDED = 5_000;
const ENDED_RETENTION_S = 7 * 24 * 60 * 60;
const MAX_LOG_ROWS = 200;

let lastOrder = 0;

export function jobDataOf({ call, key, priority, delayMs, attempts }: JobRequest, now: number): JobData {
  lastOrder = Math.max(lastOrder + 1, now * 1000);
  const createdAt = now;
  const base = { call, ...(key === undefined ? {} : { key }), priority, createdAt, runAt: now + delayMs, attempts };
  return { ...base, round: 1, order: lastOrder, uncounted: 0, lostBefore: 0 };
}

/** BullMQ's 1 is its highest; its 0, which stands above all, is for those who have no priorities. */
const MIDDLE_PRIORITY = 1_000_000;

export function bullOptions(id: string, jobData: JobData): JobsOptions {
  const priority = MIDDLE_PRIORITY - Math.round(jobData.priority);
  return {
    jobId: id,
    timestamp: jobData.createdAt,
    priority: Math.min(Math.max(priority, 1), 2 * MIDDLE_PRIORITY),
    ...(jobData.runAt > jobData.createdAt ? { delay: jobData.runAt - jobData.createdAt } : {}),
    ...(jobData.key === undefined ? {} : { deduplication: { id: hash("sha256", jobData.key) } }),
    // How often it is tried, the one who runs it decides.
    attempts: 1,
    removeOnComplete: { age: ENDED_RETENTION_S, count: MAX_ENDED },
    removeOnFail: { age: ENDED_RETENTION_S, count: MAX_ENDED },
    keepLogs: MAX_LOG_ROWS,
    stackTraceLimit: 0,
  };
}

export function readJobData(bull: BullJob): JobData {
  return JSON.parse(bull.data) as JobData;
}

export function readJob(bull: BullJob, state: BullState): Job {
  const jobData = readJobData(bull);
  const { call, key, priority, createdAt, runAt, attempts, round } = jobData;
  const lost = bull.stalledCounter - jobData.lostBefore;
  const attempt = bull.attemptsStarted - lost - jobData.uncounted;
  const progress = readProgress(bull)?.progress;
  const hasBegun = bull.attemptsStarted > 0;
  const job: Job = {
    id: bull.id!,
    call,
    ...(key === undefined ? {} : { key }),
    state: "queued",
    priority,
    createdAt,
    runAt,
    ...(hasBegun && bull.processedOn !== undefined ? { startedAt: bull.processedOn } : {}),
    attempt,
    attempts,
    lost,
    round,
    ...(hasBegun && bull.processedBy !== undefined ? { worker: bull.processedBy } : {}),
    ...(progress === undefined ? {} : { progress }),
  };
  if (state === "active") return { ...job, state: "running" };
  if (isOver(state)) {
    const result = state === "completed" ? (JSON.parse(bull.returnvalue) as ToolResult) : readFailure(bull, job);
    // Between the moment that somebody asks for it again and the one that it is queued, the result is that of the last round.
    if (round === 1 || result.callId === call.callId) return ended(job, result, bull.finishedOn);
  }
  if (jobData.cancelled) return ended(job, jobData.cancelled, jobData.cancelled.completedAt);
  return { ...job, state: state === "delayed" ? "delayed" : "queued" };
}

function ended(job: Job, result: ToolResult, endedAt: number | undefined): Job {
  return { ...job, state: endStateOf(result), endedAt, result };
}

/** What we say of a failure is a result; what is said of one that lost its worker too often is BullMQ's. */
function readFailure(bull: BullJob, job: Job): ToolResult {
  try {
    return JSON.parse(bull.failedReason) as ToolResult;
  } catch {
    const why = toolError("unknown_outcome", `The job ended without a result (${bull.failedReason})`, {
      next: "Check its effect first; to make it again, retry the job.",
    });
    return failedJob(job, why, bull.finishedOn ?? job.createdAt);
  }
}

function readProgress(bull: Pick<BullJob, "progress">): Progress | undefined {
  return typeof bull.progress === "string" ? (JSON.parse(bull.progress) as Progress) : undefined;
}

export function readLog(rows: readonly string[]): JobLogLine[] {
  return rows.flatMap((row) => JSON.parse(row) as JobLogLine[]);
}

export function isOver(state: BullState): boolean {
  return state === "completed" || state === "failed";
}

/** Tells the tool, so that a job is found by its id alone; fit for file names and addresses. */
export function newJobId(toolName: string): string {
  return `${queueNameOf(toolName)}.${randomBytes(12).toString("hex")}`;
}

export function toolOfId(id: string): string | undefined {
  const [, lane] = /^([\w~-]+)\.[0-9a-f]{24}$/.exec(id) ?? [];
  return lane?.replace(/~([0-9a-f]+)~/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
}

/** A tool's name as a part of others: BullMQ's names hold no colon. */
export function queueNameOf(toolName: string): string {
  return toolName.replace(/[^A-Za-z0-9_-]/gu, (character) => `~${character.codePointAt(0)!.toString(16)}~`);
}
