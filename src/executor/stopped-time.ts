import type { Clock } from "../core/clock.ts";
import type { Deadline, Deadlines } from "./deadlines.ts";

/** Time limits that stand still while a person is asked: how long people think is not the tool's fault. */
export class PausedTimeLimits {
  readonly #stopped = new WeakMap<Deadline, { holds: number; leftMs: number }>();
  readonly #deadlines: Deadlines;
  readonly #clock: Clock;

  constructor(deadlines: Deadlines, clock: Clock) {
    this.#deadlines = deadlines;
    this.#clock = clock;
  }

  /** Until the function that it gives is called; where several hold it, until the last of them lets go. */
  hold(deadline: Deadline, isOver: () => boolean): () => void {
    const stopped = this.#stopped.get(deadline) ?? this.#stop(deadline);
    // One that is not running: the call has not begun, or is being ended.
    if (!stopped) return () => undefined;
    stopped.holds++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (--stopped.holds > 0) return;
      this.#stopped.delete(deadline);
      if (!isOver()) this.#deadlines.arm(deadline, stopped.leftMs, this.#clock.monotonic());
    };
  }

  #stop(deadline: Deadline): { holds: number; leftMs: number } | undefined {
    if (!deadline.list) return undefined;
    const stopped = { holds: 0, leftMs: Math.max(1, Math.ceil(deadline.at - this.#clock.monotonic())) };
    this.#deadlines.disarm(deadline);
    this.#stopped.set(deadline, stopped);
    return stopped;
  }
}
