import type { CallData } from "../core/call.ts";
import { firstLine } from "../core/content.ts";
import { failureText, toFailure, toolError, type ToolError } from "../core/error.ts";
import type { Update } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";
import type { QueuedJob, StoredCall } from "./stored-call.ts";
import { storedResult } from "./stored-result.ts";

/** A `failed` job has a result that says why, and has no attempts left. `denied`: nothing ran. `unknown`: it may have run. */
const ENDED_STATES = ["completed", "failed", "denied", "cancelled", "unknown"] as const;
export type JobState = "delayed" | "queued" | "running" | (typeof ENDED_STATES)[number];

export const JOB_STATES: readonly JobState[] = ["delayed", "queued", "running", ...ENDED_STATES];

export interface JobRequest {
  /** Its input is plain JSON. */
  call: CallData;
  /** Requests with the same key share a job. A job that was cancelled before it ran releases its key. */
  key?: string;
  /** The row of the call, if a person approved it: it becomes the row of the job. */
  claimed?: StoredCall;
  priority: number;
  delayMs: number;
  attempts: number;
}

/** A durable background call, as its row says. */
export interface Job extends Omit<QueuedJob, "seq" | "cancel"> {
  call: CallData;
  state: JobState;
  createdAt: number;
  endedAt?: number;
  /** How often its worker disappeared. That does not count as an attempt; another worker takes the job. */
  lost: number;
  /** Set when the job has ended. */
  result?: ToolResult;
}

export interface JobQuery {
  states?: readonly JobState[];
  toolName?: string;
  session?: string;
  /** Default: 100. */
  limit?: number;
  /** Only jobs older than this one. */
  before?: string;
}

/** One line of a job's log: a streamed update or a note. */
export interface JobLogLine {
  /** Grows within one job. */
  number: number;
  at: number;
  update?: Update;
  note?: string;
}

export function hasEnded({ state }: Pick<Job, "state">): boolean {
  return ENDED_STATES.some((ended) => ended === state);
}

/** The job of a row; undefined if the call is none, or was queued again as another row. */
export function toJob(row: StoredCall | undefined, now: number): Job | undefined {
  if (!row?.job) return undefined;
  const { id, priority, runAt, attempt, attempts, round, worker, startedAt, progress } = row.job;
  const state = stateOf(row, now);
  return {
    id,
    call: row.request ?? unreadCall(row),
    state,
    priority,
    createdAt: row.createdAt,
    runAt,
    startedAt,
    endedAt: row.endedAt,
    attempt,
    attempts,
    lost: row.lost,
    round,
    worker,
    progress,
    result: row.state === "ended" ? storedResult(row) : undefined,
  };
}

/** What is left of a call that cannot be read any more. No worker runs it. */
function unreadCall({ callId, toolName, caller, repeatable }: StoredCall): CallData {
  return { callId, toolName, toolVersion: "", caller, options: {}, idempotent: repeatable };
}

function stateOf({ state, outcome, holder, job }: StoredCall, now: number): JobState {
  if (state === "ended") return ENDED_STATES.find((ended) => ended === outcome) ?? "failed";
  if (state !== "approved" || holder !== undefined) return "running";
  return job && job.runAt > now ? "delayed" : "queued";
}

/** What a change of a row means for its job. Starting the call of a taken job is no news. */
export function jobNewsOf(
  before: StoredCall | undefined,
  after: StoredCall,
): "queued" | "started" | "ended" | undefined {
  const step = ({ job, state, holder }: StoredCall): "queued" | "started" | "ended" | undefined => {
    if (!job) return undefined;
    if (state === "ended") return "ended";
    return state === "approved" && holder === undefined ? "queued" : "started";
  };
  const now = step(after);
  return before && step(before) === now ? undefined : now;
}

/**
 * An ended job as it is queued again. It is another call, with another row and id: its result must not be confused with the
 * first one. It has no key of its caller: any that is made of the first one may belong to another call.
 */
export function nextRound(row: StoredCall, now: number): { request: CallData; job: QueuedJob } | undefined {
  const { request, job } = row;
  if (!request || !job) return undefined;
  const { id, seq, priority, attempts } = job;
  const round = job.round + 1;
  const { callId } = request;
  const first = job.round > 1 ? callId.slice(0, -`#${job.round}`.length) : callId;
  const call: CallData = { ...request, callId: `${first}#${round}`, idempotencyKey: undefined };
  return { request: call, job: { id, seq, priority, runAt: now, attempt: 0, attempts, round } };
}

export function unknownJob(id: string): ToolError {
  return toolError("invalid_input", `There is no job "${id}"`, {
    next: "List the jobs; ended ones are deleted after some time.",
  });
}

export function notEnded({ id, state }: Job): ToolError {
  return toolError("conflict", `Job "${id}" is ${state} and cannot be retried yet`, {
    next: "Wait until it has ended, or cancel it first.",
  });
}

export function unreadableJob(id: string): ToolError {
  return toolError("conflict", `Job "${id}" cannot be retried: what was stored about it cannot be read any more`, {
    next: "Make the call again.",
  });
}

export function cancelledJob(id: string, reason?: string): ToolError {
  return toolError("cancelled", `Job "${id}" was cancelled${reason ? `: ${reason}` : ""}`, {
    next: "Submit the call again if it is still wanted.",
  });
}

/** The abort reason when a worker closes: the call ends in a way that allows another attempt. */
export function closingWorker(): ToolError {
  return toolError("shutdown", "The worker that ran this job is shutting down", {
    next: "Call again when it is back.",
  });
}

/** The result of a job that did not end in the gate. */
export function failedJob({ call, createdAt, startedAt = createdAt }: Job, why: ToolError, now: number): ToolResult {
  const error = toFailure(why);
  const shown = failureText(error);
  return {
    callId: call.callId,
    toolName: call.toolName,
    status: "failed",
    success: false,
    content: [{ type: "text", text: shown }],
    display: firstLine(shown),
    error,
    metadata: {},
    startedAt,
    completedAt: now,
    // The clock may have been set back since.
    durationMs: Math.max(0, now - startedAt),
  };
}
