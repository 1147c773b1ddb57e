import { pending, type ToolResult } from "../core/result.ts";
import { callEvent, type EventEmitter } from "../core/events.ts";
import {
  allowOnlyTools,
  type BackgroundOptions,
  type Call,
  type CallData,
  note,
  toCallData,
  toolOf,
} from "../core/call.ts";
import { canonicalJson, toPlainData } from "../core/json.ts";
import type { Clock } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { Stage } from "../core/stage.ts";
import { keyConflict } from "../calls/calls.ts";
import { hasEnded, type Job, type JobRequest } from "../calls/job.ts";

export interface BackgroundStageOptions {
  clock: Clock;
  events: EventEmitter;
  registry: Pick<ToolRegistry, "get">;
  /** The key of this call in the journal: repeated calls with one key are one call. */
  keyOf(call: Call): string | undefined;
  submit(request: JobRequest, call: Call): Promise<Job>;
}

const MAX_DELAY_MS = 366 * 24 * 60 * 60 * 1000;
const MAX_ATTEMPTS = 100;
const DEFAULT_ATTEMPTS = 3;

/** Background calls leave the gate here: validated, permitted and recorded, but not started. */
export function background({ clock, events, registry, keyOf, submit }: BackgroundStageOptions): Stage {
  return {
    name: "background",
    compile: (tool) => (tool.mode === "background" ? undefined : {}),
    enter(call) {
      if (call.secondPass) return undefined;
      const wish = backgroundOptionsOf(call);
      if (!wish) return undefined;
      const tool = toolOf(call);
      // A worker finds tools by name.
      if (registry.get(`${tool.name}@${tool.version}`) !== tool) {
        note(call, "waited", `"${tool.name}" is not registered, so no worker could find it.`);
        return undefined;
      }
      return queue(call, wish);
    },
  };

  async function queue(call: Call, wish: BackgroundOptions): Promise<ToolResult> {
    const key = keyOf(call);
    const jobCall = jobCallOf(call);
    const { idempotent } = jobCall;
    const job = await submit(
      {
        call: jobCall,
        key,
        priority: whole(wish.priority ?? 0, -1_000_000, 1_000_000),
        delayMs: whole(wish.delayMs ?? 0, 0, MAX_DELAY_MS),
        attempts: idempotent ? whole(wish.attempts ?? DEFAULT_ATTEMPTS, 1, MAX_ATTEMPTS) : 1,
      },
      call,
    );
    if (!isSame(job.call, jobCall)) throw keyConflict(call);
    // It was made before, and has ended since this call began.
    if (hasEnded(job) && job.result) {
      return { ...job.result, callId: call.id, metadata: { ...job.result.metadata, known: "replay" } };
    }
    if (events.hasListeners("job_queued")) events.emit(callEvent(call, "job_queued", clock.now(), { jobId: job.id }));
    return pending(call, { kind: "job", id: job.id }, toModel(job));
  }
}

/** A nested call waits for its result by default: it runs in the slot of its parent. */
function backgroundOptionsOf({ options, parent, tool }: Call): BackgroundOptions | undefined {
  const wish = options.background ?? (!parent && tool?.mode === "background");
  if (wish === false) return undefined;
  return wish === true ? {} : wish;
}

function jobCallOf(call: Call): CallData {
  const { toolkit, ...data } = toCallData(call);
  const { value: input, faults } = toPlainData(data.input);
  if (faults.length > 0) {
    throw toolError("invalid_input", `The input cannot wait for a worker: ${faults.join("; ")}`, {
      next: "Send plain JSON data, or call with background: false.",
    });
  }
  // Nested calls of the tool must stay in the toolkit of its caller. Workers of every version know policies.
  const policy = [data.options.policy ?? [], toolkit ? allowOnlyTools(toolkit) : []].flat();
  return { ...data, input, options: { ...data.options, policy: policy.length === 0 ? undefined : policy } };
}

function isSame(one: CallData, other: CallData): boolean {
  const facts = ({ toolName, toolVersion, input }: CallData): string => canonicalJson([toolName, toolVersion, input]);
  return facts(one) === facts(other);
}

function toModel({ id, state, call }: Job): string {
  const when = state === "delayed" ? "will run later" : "runs in the background";
  return (
    `"${call.toolName}" ${when} as job ${id}. Its result arrives on its own when it ends. ` +
    "Do not make this call again; continue with what does not need its result."
  );
}

function whole(value: number, min: number, max: number): number {
  return Number.isNaN(value) ? min : Math.min(Math.max(Math.round(value), min), max);
}
