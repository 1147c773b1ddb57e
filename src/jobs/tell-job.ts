import type { Clock } from "../core/clock.ts";
import type { EventEmitter } from "../core/emitter.ts";
import type { Update } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import type { Job } from "./job.ts";

/** Says of a call that was made here what its job does elsewhere, in the words of the gate. */
export class JobEventEmitter {
  readonly #events: EventEmitter;
  readonly #clock: Clock;

  constructor(events: EventEmitter, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  started(job: Job): void {
    if (!this.#events.hasListeners("tool_call_started")) return;
    this.#events.emit({ type: "tool_call_started", ...this.#base(job), input: job.call.input });
  }

  updated(job: Job, update: Update): void {
    if (!this.#events.hasListeners("tool_call_updated")) return;
    this.#events.emit({ type: "tool_call_updated", ...this.#base(job), update });
  }

  ended(job: Job, result: ToolResult): void {
    const base = { ...this.#base(job), callId: result.callId, result };
    const { durationMs = 0 } = result;
    if (result.status === "completed") this.#events.emit({ type: "tool_call_completed", ...base, durationMs });
    else if (result.status === "pending") this.#events.emit({ type: "tool_call_pending", ...base });
    else this.#events.emit({ type: "tool_call_failed", ...base, error: result.error, durationMs });
  }

  #base({ call: { callId, toolName, caller } }: Job) {
    return { at: this.#clock.now(), callId, toolName, caller };
  }
}
