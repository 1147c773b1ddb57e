import type { CallOptions, Caller, Verdict } from "../core/call.ts";
import type { Update } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";

/** `failed` with a result that says why: tried as often as it may be. What nobody knows the outcome of is failed, too. */
export type JobState = "delayed" | "queued" | "running" | "completed" | "failed" | "cancelled";

/** What a worker needs to make the call in its second pass. Plain JSON. */
export interface JobCall {
  callId: string;
  toolName: string;
  toolVersion: string;
  input: unknown;
  caller: Caller;
  options: Pick<CallOptions, "mode" | "allowedPaths" | "policy" | "timeoutMs">;
  /** What the first pass decided; the worker applies deny rules again, and never asks. */
  verdict: Verdict;
  idempotent: boolean;
}

export interface JobRequest {
  call: JobCall;
  /** Two requests with one key are one job. */
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
  /** Not taken before. */
  runAt: number;
  startedAt?: number;
  endedAt?: number;
  /** How often it was begun. */
  attempt: number;
  attempts: number;
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
