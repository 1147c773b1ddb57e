import { type Call, toolOf } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { toolError, type ToolError } from "../core/error.ts";
import type { Stage } from "../core/stage.ts";
import { Admission, type ConcurrencyLimits } from "./admission.ts";
import { Alarm, type Deadlines } from "./deadlines.ts";
import { type WaitingCall, AdmissionQueue } from "./waiting-room.ts";

export interface AdmitOptions {
  limits: ConcurrencyLimits;
  clock: Clock;
  deadlines: Deadlines;
}

export interface AdmitStage extends Stage {
  /** A call's tool has really ended, also when its caller was answered long before: its locks are free. */
  ended(call: Call): void;
  load(): { running: number; waiting: number };
}

/** Lets calls run when their limits and locks allow it; until then they wait their turn. */
export function admit({ limits, clock, deadlines }: AdmitOptions): AdmitStage {
  const admission = new Admission(limits);
  const admissionQueue = new AdmissionQueue();
  const admitWaiting = (): void => {
    if (admissionQueue.size > 0)
      admissionQueue.admitWaiting(
        ({ call, locks }) => admission.tryAdmit(call, locks),
        () => admission.hasCapacity,
      );
  };

  return {
    name: "admit",
    enter(call) {
      // Asked once: it is the tool's code, and must not fail in the middle of another call's way out.
      const locks = toolOf(call).locks?.(call.input);
      // Who comes while others wait does not overtake them, but for nested calls, which others may be waiting for.
      if ((admissionQueue.size === 0 || call.parent) && admission.tryAdmit(call, locks)) return undefined;
      return wait(call, locks ?? []);
    },
    leave(call, result) {
      if (admission.leave(call)) admitWaiting();
      return result;
    },
    ended(call) {
      if (admission.locks.release(call)) admitWaiting();
    },
    load: () => ({ running: admission.running, waiting: admissionQueue.size }),
  };

  function wait(call: Call, locks: readonly string[]): Promise<undefined> {
    if (admissionQueue.size >= limits.maxWaiting) throw busy(`${limits.maxWaiting} calls are waiting already`);
    if (admission.locks.waits(call, locks)) throw deadlocked(locks);
    return new Promise((resolve, reject) => {
      const waiting: WaitingCall = {
        call,
        locks,
        admit() {
          deadlines.disarm(deadline);
          call.onAbort = undefined;
          resolve(undefined);
        },
      };
      const giveUp = (why: ToolError): void => {
        deadlines.disarm(deadline);
        call.onAbort = undefined;
        admissionQueue.remove(waiting);
        admission.locks.release(call);
        reject(why);
        admitWaiting();
      };
      const deadline = new Alarm(() => giveUp(waitedTooLong(call, locks)));
      deadlines.arm(deadline, limits.maxWaitMs, clock.monotonic());
      call.onAbort = giveUp;
      admissionQueue.add(waiting);
      admitWaiting();
    });
  }

  function waitedTooLong(call: Call, locks: readonly string[]): ToolError {
    for (const key of locks) {
      const holder = admission.locks.holderOf(key);
      if (holder && holder !== call) return busy(`call ${holder.id} of "${toolOf(holder).name}" still holds ${key}`);
    }
    return busy(`no turn came within ${limits.maxWaitMs} ms`);
  }
}

function busy(why: string): ToolError {
  return toolError("busy", `The call was not run: ${why}`, { next: "Wait for other calls to end, then call again." });
}

function deadlocked(locks: readonly string[]): ToolError {
  return toolError(
    "deadlock",
    `The call was not run: it waits for ${locks.join(", ")}, held by a call that waits for it`,
    {
      next: "Call again when the other call has ended.",
    },
  );
}
