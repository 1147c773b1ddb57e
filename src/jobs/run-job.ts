import type { CallOptions, SecondPass } from "../core/call.ts";
import { toolError, type ToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Job } from "./job.ts";
import type { JobContext, JobOutcome } from "./job-queue.ts";

/** The gate, for what passes it a second time. */
export interface SecondPassGate {
  executeSecondPass(
    name: string,
    input: unknown,
    options: CallOptions,
    pass: SecondPass,
    refusal?: ToolError,
  ): Promise<ToolResult>;
}

/** So many workers may die with a job before it is taken for the reason. */
const MAX_LOST = 5;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;

/** Makes the call of a job, in its second pass through the gate, and says whether that was its end. */
export async function runJob(job: Job, { signal, update }: JobContext, gate: SecondPassGate): Promise<JobOutcome> {
  if (job.lost > MAX_LOST) return { result: await endJob(job, lostTooOften(job), gate) };
  let again: JobOutcome["again"];
  const { toolName, toolVersion, input, verdict } = job.call;
  const result = await gate.executeSecondPass(
    `${toolName}@${toolVersion}`,
    input,
    { ...optionsOf(job), signal, onUpdate: update },
    {
      ...{ kind: "job", id: job.id, verdict },
      again(call, ended) {
        again = nextTry(job, ended, call.began);
        return again !== undefined;
      },
    },
  );
  return again ? { result, again } : { result };
}

/** Records the end of a job that is not to run (any more). */
export function endJob(job: Job, why: ToolError, gate: SecondPassGate): Promise<ToolResult> {
  const { toolName, input, verdict } = job.call;
  return gate.executeSecondPass(toolName, input, optionsOf(job), { kind: "job", id: job.id, verdict }, why);
}

function optionsOf({ id, round, call }: Job): CallOptions {
  const ownKey = `job:${id}${round > 1 ? `#${round}` : ""}`;
  return { ...call.options, id: call.callId, caller: call.caller, idempotencyKey: call.idempotencyKey ?? ownKey };
}

function nextTry(job: Job, result: ToolResult, began: boolean): JobOutcome["again"] {
  if (result.status !== "failed" || !result.error.retryable) return undefined;
  if (began && !job.call.idempotent) return undefined;
  if (result.error.code === "shutdown") return { inMs: 0, counts: false };
  // Its turn has not come: the machine is full, or the same call still runs elsewhere.
  if (!began && result.error.code !== "not_recorded") return { inMs: FIRST_PAUSE_MS, counts: false };
  if (job.attempt >= job.attempts) return undefined;
  return { inMs: Math.min(FIRST_PAUSE_MS * 2 ** (job.attempt - 1), MAX_PAUSE_MS), counts: true };
}

function lostTooOften({ id, lost }: Job): ToolError {
  return toolError("unknown_outcome", `${lost} workers ended while they ran job "${id}", which is not tried again`, {
    next: "Check its effect first; what it was given may be more than a worker can bear.",
  });
}
