import type { Clock, Timer } from "../core/clock.ts";

/** A clock that only a test moves. */
export interface FakeClock extends Clock {
  /** Moves time on. Timers fire in the order they are due, each at its own time; what they set off runs before the next. */
  advance(ms: number): Promise<void>;
  /** How many timers are set: none, after a test that leaks none. */
  readonly pendingTimers: number;
  /** How many of them would keep a process alive. */
  readonly refTimers: number;
}

interface Armed {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
  isHeld: boolean;
}

/** Far enough from 0 that a time which was never set shows. */
const START = Date.UTC(2026, 0, 1);

/** Makes a clock that only the test moves. */
export function createFakeClock(start: number = START): FakeClock {
  const armed = new Set<Armed>();
  let elapsed = 0;
  let order = 0;

  const firstDue = (until: number): Armed | undefined => {
    let first: Armed | undefined;
    for (const timer of armed) {
      if (timer.at > until) continue;
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer;
    }
    return first;
  };

  return {
    now: () => start + Math.round(elapsed),
    monotonic: () => elapsed,
    wallTimeAt: (monotonic) => start + Math.round(monotonic),
    after(ms, fire): Timer {
      const timer: Armed = { at: elapsed + Math.max(ms, 0), order: order++, fire, isHeld: true };
      armed.add(timer);
      return {
        cancel: () => void armed.delete(timer),
        setRef(isRef) {
          timer.isHeld = isRef;
        },
      };
    },
    async advance(ms) {
      const until = elapsed + ms;
      await settle();
      for (let due = firstDue(until); due; due = firstDue(until)) {
        armed.delete(due);
        elapsed = Math.max(elapsed, due.at);
        due.fire();
        await settle();
      }
      elapsed = until;
    },
    get pendingTimers() {
      return armed.size;
    },
    get refTimers() {
      return Array.from(armed).filter((timer) => timer.isHeld).length;
    },
  };
}

/** A turn of the event loop begins when no promise has anything left to do. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
