import { type Call, type CallIn, toolOf } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { toolError, type ToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import { hooksOf } from "./call-plan.ts";
import { Admission, type ConcurrencyLimits } from "./concurrency.ts";
import { Deadline, type Deadlines } from "./timeouts.ts";
import { answerInTime, askTool } from "./tool-answers.ts";

export interface AdmitOptions {
  limits: ConcurrencyLimits;
  clock: Clock;
  deadlines: Deadlines;
}

export interface AdmitStage extends Stage {
  /** The tool's code has ended, perhaps long after its caller was answered: its locks are free. */
  ended(call: Call): void;
  load(): { running: number; waiting: number };
  enter(call: CallIn<"admit">): MaybePromise<ToolResult | undefined | void>;
  /** The call waits for something else: its slot and its locks are free until it enters again. */
  release(call: CallIn<"admit">): void;
}

/** Runs calls when limits and locks allow it; until then they wait in a queue. */
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
    compile(tool) {
      const { enter, leave, ended } = hooksOf(this);
      return tool.locks ? { enter, leave, ended } : { enter, leave };
    },
    enter(call) {
      // Called once: it is the tool's code, and must not throw while another call is being released.
      const tool = toolOf(call);
      const locks = tool.locks && askTool(tool, "locks", () => tool.locks?.(call.input));
      if (!(locks instanceof Promise)) return enter(call, locks);
      return answerInTime(call, clock, locks).then((answered) => enter(call, answered));
    },
    leave(call, result) {
      if (admission.leave(call)) admitWaiting();
      return result;
    },
    ended(call) {
      if (admission.locks.release(call)) admitWaiting();
    },
    release(call) {
      const isFree = [admission.leave(call), admission.locks.release(call)];
      if (isFree.includes(true)) admitWaiting();
    },
    load: () => ({ running: admission.running, waiting: admissionQueue.size }),
  };

  function enter(call: CallIn<"admit">, locks: readonly string[] | undefined): MaybePromise<undefined> {
    call.locks = locks;
    // A new call does not overtake waiting calls. Nested calls do: others may be waiting for them.
    if ((admissionQueue.size === 0 || call.parent) && admission.tryAdmit(call, locks)) return undefined;
    return wait(call, locks ?? []);
  }

  function wait(call: CallIn<"admit">, locks: readonly string[]): Promise<undefined> {
    if (admissionQueue.size >= limits.maxWaiting) throw busy(`${limits.maxWaiting} calls are waiting already`);
    if (admission.locks.waits(call, locks)) throw deadlocked(locks);
    const since = clock.monotonic();
    return new Promise((resolve, reject) => {
      const waiting: WaitingCall = {
        call,
        locks,
        admit() {
          deadlines.disarm(deadline);
          call.onAbort = undefined;
          call.queuedMs = clock.monotonic() - since;
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
      const deadline = new Deadline(() => giveUp(waitedTooLong(call, locks)));
      deadlines.arm(deadline, limits.maxWaitMs, since);
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
    return busy(`it waited ${limits.maxWaitMs} ms and could not start`);
  }
}

function busy(why: string): ToolError {
  return toolError("busy", `The call was not run: ${why}`, { next: "Wait for other calls to end, then call again." });
}

function deadlocked(locks: readonly string[]): ToolError {
  return toolError(
    "deadlock",
    `The call was not run: it needs ${locks.join(", ")}, locked by a call that waits for this one`,
    {
      next: "Call again when the other call has ended.",
    },
  );
}

/** A waiting call. */
interface WaitingCall {
  readonly call: Call;
  readonly locks: readonly string[];
  admit(): void;
}

/** How many places behind its session's first waiting call a call may be and still be admitted before it. */
const LOOK_AHEAD = 32;

/** The waiting calls. Sessions take turns; within a session the oldest call is first. */
class AdmissionQueue {
  readonly #sessions = new Map<string, Line>();
  /** Nested calls wait for locks only. They get their own queue: behind calls that wait for their parent they would deadlock. */
  readonly #nested = new Line();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(waiting: WaitingCall): void {
    this.#size++;
    if (waiting.call.parent) {
      this.#nested.push(waiting);
      return;
    }
    const key = waiting.call.caller.session ?? "";
    let queue = this.#sessions.get(key);
    if (!queue) this.#sessions.set(key, (queue = new Line()));
    queue.push(waiting);
  }

  remove(waiting: WaitingCall): void {
    const key = waiting.call.caller.session ?? "";
    const queue = waiting.call.parent ? this.#nested : this.#sessions.get(key);
    const at = queue?.indexOf(waiting) ?? -1;
    if (!queue || at < 0) return;
    queue.removeAt(at);
    this.#size--;
    if (queue.length === 0 && queue !== this.#nested) this.#sessions.delete(key);
  }

  /** Admits the calls that `tryAdmit` accepts: nested ones first, then one of each session in turn, until none fits. */
  admitWaiting(tryAdmit: (waiting: WaitingCall) => boolean, hasCapacity: () => boolean): void {
    for (let next = nextOf(this.#nested, tryAdmit, Infinity); next; next = nextOf(this.#nested, tryAdmit, Infinity)) {
      this.#size--;
      next.admit();
    }
    for (let progress = true; progress && this.#sessions.size > 0;) {
      progress = false;
      for (const [key, queue] of this.#sessions) {
        if (!hasCapacity()) return;
        const next = nextOf(queue, tryAdmit, LOOK_AHEAD);
        if (!next) continue;
        progress = true;
        this.#size--;
        // The session has had its turn: move it to the end.
        this.#sessions.delete(key);
        if (queue.length > 0) this.#sessions.set(key, queue);
        next.admit();
      }
    }
  }
}

/** No call overtakes one that waits for the session to be idle, or for a lock that both need. */
function nextOf(queue: Line, tryAdmit: (waiting: WaitingCall) => boolean, lookAhead: number): WaitingCall | undefined {
  const wantedBefore = new Set<string>();
  for (let i = 0; i < Math.min(queue.length, lookAhead); i++) {
    const waiting = queue.at(i);
    const isOvertaking = !waiting.call.parent && waiting.locks.some((key) => wantedBefore.has(key));
    if (!isOvertaking && tryAdmit(waiting)) {
      queue.removeAt(i);
      return waiting;
    }
    if (!waiting.call.parent && toolOf(waiting.call).concurrency === "exclusive") return undefined;
    for (const key of waiting.locks) wantedBefore.add(key);
  }
  return undefined;
}

/** A list with cheap removal near the front: an array would move the whole queue each time. */
class Line {
  readonly #items: (WaitingCall | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  at(index: number): WaitingCall {
    return this.#items[this.#head + index]!;
  }

  indexOf(waiting: WaitingCall): number {
    const found = this.#items.indexOf(waiting, this.#head);
    return found < 0 ? -1 : found - this.#head;
  }

  push(waiting: WaitingCall): void {
    this.#items.push(waiting);
  }

  removeAt(index: number): void {
    this.#items.copyWithin(this.#head + 1, this.#head, this.#head + index);
    this.#items[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
  }
}
