import type { Caller, CallOptions, Verdict } from "../core/call.ts";
import { firstLine } from "../core/content.ts";
import { toFailure, toolError, type ToolError } from "../core/error.ts";
import type { Update } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";

/** A `failed` job has a result that says why, and has no attempts left. An unknown outcome is `failed`, too. */
export type JobState = "delayed" | "queued" | "running" | "completed" | "failed" | "cancelled";

export const JOB_STATES: readonly JobState[] = ["delayed", "queued", "running", "completed", "failed", "cancelled"];

/** What a worker needs to run the call in its second pass. Plain JSON. */
export interface JobCall {
  callId: string;
  toolName: string;
  toolVersion: string;
  /** As the caller sent it: the worker validates again. */
  input: unknown;
  caller: Caller;
  /** `policy` also contains the limits of the caller's toolkit. */
  options: Pick<CallOptions, "mode" | "allowedPaths" | "policy" | "timeoutMs">;
  /** Of the caller. If omitted, the id of the job is the key. */
  idempotencyKey?: string;
  /** The decision of the first pass. The worker applies deny rules again, and never asks. */
  verdict: Verdict;
  /** Whether the call may safely run again. */
  idempotent: boolean;
}

export interface JobRequest {
  call: JobCall;
  /** Requests with the same key share a job until it has ended. */
  key?: string;
  priority: number;
  delayMs: number;
  attempts: number;
}

/** A durable background call. */
export interface Job {
  id: string;
  call: JobCall;
  key?: string;
  state: JobState;
  priority: number;
  createdAt: number;
  /** A `delayed` job is not taken before this time. */
  runAt: number;
  startedAt?: number;
  endedAt?: number;
  /** How often it was started, without starts that do not count. */
  attempt: number;
  attempts: number;
  /** How often its worker disappeared. That does not count as an attempt; another worker takes the job. */
  lost: number;
  /** 1, plus one for each retry after its end. */
  round: number;
  /** The worker that runs it or ran it last. */
  worker?: string;
  progress?: Update["progress"];
  /** Set when the job has ended. */
  result?: ToolResult;
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
  return state === "completed" || state === "failed" || state === "cancelled";
}

/** The state of a job that ended with this result. A call that now waits for a person is `completed` for its worker. */
export function endStateOf(result: ToolResult): JobState {
  if (result.status !== "failed") return "completed";
  return result.error.code === "cancelled" ? "cancelled" : "failed";
}

/**
 * An ended job as it is queued again. It is another call, with another id and key: the journal and the conversation must not
 * confuse its result with the first one.
 */
export function nextRound(job: Job, now: number): Job {
  const { id, key, priority, createdAt, attempts } = job;
  const round = job.round + 1;
  const first = (name: string): string => (job.round > 1 ? name.slice(0, -`#${job.round}`.length) : name);
  const { callId, idempotencyKey } = job.call;
  const call: JobCall = {
    ...job.call,
    callId: `${first(callId)}#${round}`,
    idempotencyKey: idempotencyKey === undefined ? undefined : `${first(idempotencyKey)}#${round}`,
  };
  return { id, call, key, priority, createdAt, attempts, state: "queued", runAt: now, attempt: 0, lost: 0, round };
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
  return {
    callId: call.callId,
    toolName: call.toolName,
    status: "failed",
    success: false,
    content: [{ type: "text", text: error.message }],
    display: firstLine(error.message),
    error,
    metadata: {},
    startedAt,
    completedAt: now,
    // The clock may have been set back since.
    durationMs: Math.max(0, now - startedAt),
  };
}
