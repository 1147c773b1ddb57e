import { type Call, elapsedMs, note, toolOf } from "../core/call.ts";
import { LimitReachedError } from "../calls/limits.ts";
import type { Clock } from "../core/clock.ts";
import { failureOf, toFailure } from "../core/error.ts";
import { callEvent, type EventEmitter } from "../core/events.ts";
import { toPlainData } from "../core/json.ts";
import { failed, type ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import type { CallLog } from "./audit-log.ts";
import type { Statistics } from "./statistics.ts";

export interface RecordOptions {
  log: CallLog;
  clock: Clock;
  events: EventEmitter;
  statistics: Statistics;
  /** Whether the call was requested before, and runs now because a person has answered. */
  isContinued?(call: Call): boolean;
}

/** The first stage to enter and the last to leave: it records every call. */
export function record({ log, clock, events, statistics, isContinued }: RecordOptions): Stage {
  return {
    name: "record",
    enter(call) {
      // The first pass has reported it.
      if (!call.secondPass && !isContinued?.(call) && events.hasListeners("tool_call_requested")) {
        events.emit(callEvent(call, "tool_call_requested", clock.now(), { input: toPlainData(call.input).value }));
      }
    },
    leave(call, result) {
      const isEnd = !call.secondPass?.again?.(call, result);
      const durationMs = count(call, result, isEnd);
      // A terminal event is emitted after its state can be read. It is emitted even if the
      // end cannot be recorded.
      try {
        const closed = log.closed(call, result);
        if (closed instanceof Promise) {
          const done = (): ToolResult => announce(call, result, durationMs);
          return closed.then(done, done);
        }
      } catch {
        // The log itself reports this error.
      }
      return announce(call, result, durationMs);
    },
    late: (call, result) => log.corrected?.(call, result),
  };

  function count(call: Call, result: ToolResult, isEnd: boolean): number {
    const now = clock.monotonic();
    const durationMs = elapsedMs(call, now);
    if (result.status !== "pending") {
      result.durationMs = durationMs;
      result.completedAt = call.startedAt + Math.round(now - call.startedMonotonic);
    }
    // A pending call has not ended; it is counted at its end.
    if (result.status !== "pending" && isEnd) statistics.count(call, result, durationMs);
    return durationMs;
  }

  function announce(call: Call, result: ToolResult, durationMs: number): ToolResult {
    // Emitted when the job itself has ended.
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

/** The last stage before the tool: the record is written before the effect. If that fails, the tool does not run. */
export function writeAhead(begin: (call: Call) => MaybePromise<ToolResult | undefined | void>): Stage {
  return {
    name: "begin",
    enter(call) {
      try {
        const begun = begin(call);
        return begun instanceof Promise
          ? begun.then(
              (known) => known ?? undefined,
              (cause) => unwritten(call, cause),
            )
          : (begun ?? undefined);
      } catch (cause) {
        return unwritten(call, cause);
      }
    },
  };
}

/** Whether it takes from a grant or a limit, so that it must not run if that cannot be written. */
export function isCharged({ verdict }: Call): boolean {
  return verdict?.grants !== undefined || verdict?.limits !== undefined;
}

/** A read-only call runs even if it cannot be recorded; the result says so. */
function unwritten(call: Call, cause: unknown): ToolResult | undefined {
  const failure = toFailure(cause);
  const { code, message: why } = failure;
  // The call is not permitted, or waits until it is.
  if (cause instanceof LimitReachedError) throw cause;
  // A grant that does not count any more.
  if (call.verdict?.grants && code === "conflict") return failed(call, failure);
  if (toolOf(call).isReadOnly && !isCharged(call)) {
    note(call, "unrecorded", why);
    return undefined;
  }
  const message = `The call was not run because it could not be recorded (${why})`;
  const next = "Make the store writable, then call again.";
  return failed(call, failureOf("not_recorded", message, { next, data: { cause: code } }));
}

/** What a store reports if it cannot be written. Other errors end the call. */
const STORE_FAILURES: ReadonlySet<string> = new Set(["io_error", "unavailable"]);

/** For a stage that stores something: a read-only call passes also if the store cannot be written, and says so. */
export function passIfUnwritten(stage: Stage): Stage {
  const pass = (call: Call, cause: unknown): undefined => {
    if (!toolOf(call).isReadOnly || isCharged(call) || !STORE_FAILURES.has(toFailure(cause).code)) throw cause;
    note(call, "unrecorded", toFailure(cause).message);
  };
  return {
    name: stage.name,
    enter(call) {
      try {
        const early = stage.enter?.(call);
        return early instanceof Promise ? early.catch((cause: unknown) => pass(call, cause)) : early;
      } catch (cause) {
        return pass(call, cause);
      }
    },
    leave: stage.leave?.bind(stage),
    late: stage.late?.bind(stage),
    ended: stage.ended?.bind(stage),
    around: stage.around?.bind(stage),
  };
}
