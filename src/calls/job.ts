import type { Caller, CallOptions, Verdict } from "../core/call.ts";
import { firstLine } from "../core/content.ts";
import { toFailure, toolError, type ToolError } from "../core/error.ts";
import type { Update } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";

/** `failed` with a result that says why: tried as often as it may be. What nobody knows the outcome of is failed, too. */
export type JobState = "delayed" | "queued" | "running" | "completed" | "failed" | "cancelled";

export const JOB_STATES: readonly JobState[] = ["delayed", "queued", "running", "completed", "failed", "cancelled"];

/** What a worker needs to make the call in its second pass. Plain JSON. */
export interface JobCall {
  callId: string;
  toolName: string;
  toolVersion: string;
  /** As the caller sent it: the worker validates again. */
  input: unknown;
  caller: Caller;
  /** `policy` also holds what the caller's toolkit left. */
  options: Pick<CallOptions, "mode" | "allowedPaths" | "policy" | "timeoutMs">;
  /** The caller's own; a job without one is its own key. */
  idempotencyKey?: string;
  /** What the first pass decided; the worker applies deny rules again, and never asks. */
  verdict: Verdict;
  /** Whether making the call again does no harm. */
  idempotent: boolean;
}

export interface JobRequest {
  call: JobCall;
  /** Two requests with one key are one job, until it has ended. */
  key?: string;
  priority: number;
  delayMs: number;
  attempts: number;
}

/** A background call, durable. */
export interface Job {
  id: string;
  call: JobCall;
  key?: string;
  state: JobState;
  priority: number;
  createdAt: number;
  /** Not taken before, while it is `delayed`. */
  runAt: number;
  startedAt?: number;
  endedAt?: number;
  /** How often it was begun, without those that did not count. */
  attempt: number;
  attempts: number;
  /** How often its worker vanished with it: such a try is no attempt, and somebody else gets the job. */
  lost: number;
  /** 1, and one more each time somebody asked for it to be made again after its end. */
  round: number;
  /** Who runs it, or ran it last. */
  worker?: string;
  progress?: Update["progress"];
  /** Joined to `call.callId`; there once the job has ended. */
  result?: ToolResult;
}

/** One line of a job's log: a streamed update, or what happened to it. */
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

/** The state of a job that ended with this result. Where the call now waits for a person, its worker has nothing left to do. */
export function endStateOf(result: ToolResult): JobState {
  if (result.status !== "failed") return "completed";
  return result.error.code === "cancelled" ? "cancelled" : "failed";
}

/**
 * An ended job as it is queued again. It is a call of its own, with an id and a key of its own: neither the journal nor a
 * conversation may take its result for the one that they have.
 */
export function nextRound(job: Job, now: number): Job {
  const { id, key, priority, createdAt, attempts } = job;
  const round = job.round + 1;
  const first = (name: string): string => (job.round > 1 ? name.slice(0, -`#${job.round}`.length) : name);
  const { callId, idempotencyKey } = job.call;
  const call: JobCall = {
    ...job.call,
    callId: `${first(callId)}#${round}`,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey: `${first(idempotencyKey)}#${round}` }),
  };
  const kept = { id, call, key, priority, createdAt, attempts };
  return { ...kept, state: "queued", runAt: now, attempt: 0, lost: 0, round };
}

export function unknownJob(id: string): ToolError {
  return toolError("invalid_input", `There is no job "${id}"`, {
    next: "List the jobs to see those that are kept; ended ones are dropped after some time.",
  });
}

export function notEnded({ id, state }: Job): ToolError {
  return toolError("conflict", `Job "${id}" is ${state} and cannot be made again yet`, {
    next: "Wait for its end, or cancel it first.",
  });
}

export function cancelledJob(id: string, reason?: string): ToolError {
  return toolError("cancelled", `Job "${id}" was cancelled${reason ? `: ${reason}` : ""}`, {
    next: "Submit the call again if it is still wanted.",
  });
}

/** The reason of the signal of a job whose worker closes: the call ends in a way that lets it be made again. */
export function closingWorker(): ToolError {
  return toolError("shutdown", "The worker that ran this job is shutting down", {
    next: "Call again when it is back.",
  });
}

/** How a job ends that no gate has seen to its end. */
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
    // The clock may have been set back meanwhile.
    durationMs: Math.max(0, now - startedAt),
  };
}
