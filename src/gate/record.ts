import { type Call, note, toolOf } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { failureOf } from "../core/error.ts";
import { callEvent, type EventEmitter } from "../core/events.ts";
import { toPlainData } from "../core/json.ts";
import { failed, type ToolResult } from "../core/result.ts";
import type { Stage } from "../core/stage.ts";
import type { CallLog } from "./audit-log.ts";
import type { Statistics } from "./statistics.ts";

export interface RecordOptions {
  log: CallLog;
  clock: Clock;
  events: EventEmitter;
  statistics: Statistics;
}

/** The first stage in and the last one out: what is not recorded here did not pass the gate. */
export function record({ log, clock, events, statistics }: RecordOptions): Stage {
  return {
    name: "record",
    enter(call) {
      // Of a second pass it was said in the first.
      if (!call.secondPass && events.hasListeners("tool_call_requested")) {
        events.emit(callEvent(call, "tool_call_requested", clock.now(), { input: toPlainData(call.input).value }));
      }
    },
    leave(call, result) {
      const isEnd = !call.secondPass?.again?.(call, result);
      const durationMs = count(call, result, isEnd);
      // A terminal event is emitted after the state it speaks of can be read. What happened has happened, also where the
      // end of it cannot be written down.
      try {
        const closed = log.closed(call, result);
        if (closed instanceof Promise) {
          const done = (): ToolResult => announce(call, result, durationMs);
          return closed.then(done, done);
        }
      } catch {
        // Said by the log itself, whose business it is.
      }
      return announce(call, result, durationMs);
    },
  };

  function count(call: Call, result: ToolResult, isEnd: boolean): number {
    const durationMs = clock.monotonic() - call.startedMonotonic;
    if (result.status !== "pending") {
      result.durationMs = durationMs;
      result.completedAt = call.startedAt + Math.round(durationMs);
    }
    // A call that waits has not ended; it is counted when it has.
    if (result.status !== "pending" && isEnd) statistics.count(call, result, durationMs);
    return durationMs;
  }

  function announce(call: Call, result: ToolResult, durationMs: number): ToolResult {
    // Told when the job itself has ended: after this, or not yet.
    if (call.secondPass?.kind === "job") return result;
    switch (result.status) {
      case "completed":
        if (events.hasListeners("tool_call_completed")) {
          events.emit(callEvent(call, "tool_call_completed", clock.now(), { result, durationMs }));
        }
        break;
      case "failed":
        if (events.hasListeners("tool_call_failed")) {
          events.emit(callEvent(call, "tool_call_failed", clock.now(), { result, error: result.error, durationMs }));
        }
        break;
      case "pending":
        if (events.hasListeners("tool_call_pending")) {
          events.emit(callEvent(call, "tool_call_pending", clock.now(), { result }));
        }
        break;
    }
    return result;
  }
}

/** The last stage before the tool: the record is written before the effect, and where it cannot be, there is none. */
export function writeAhead(log: CallLog): Stage {
  return {
    name: "begin",
    enter(call) {
      try {
        const begun = log.begun(call);
        return begun instanceof Promise ? begun.then(nothing, (cause) => unwritten(call, cause)) : undefined;
      } catch (cause) {
        return unwritten(call, cause);
      }
    },
  };
}

/** A read-only call may run although it was not recorded; the result says so. */
function unwritten(call: Call, cause: unknown): ToolResult | undefined {
  const why = cause instanceof Error ? cause.message : String(cause);
  if (toolOf(call).isReadOnly) {
    note(call, "unrecorded", why);
    return undefined;
  }
  const message = `The call was not run because it could not be recorded (${why}). Free the store, then call again.`;
  return failed(call, failureOf("not_recorded", message));
}

function nothing(): undefined {
  return undefined;
}
