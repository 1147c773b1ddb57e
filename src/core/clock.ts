/** Time as a dependency: everything that waits or measures takes one, and tests move it by hand. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  now(): number;
  /** Milliseconds that never jump; for durations and deadlines. */
  monotonic(): number;
  /** The wall clock at a recent reading of `monotonic`: two clocks for the price of one. */
  wallTimeAt(monotonic: number): number;
  /** Calls `run` once, after so many milliseconds. */
  after(ms: number, fire: () => void): Timer;
}

export interface Timer {
  cancel(): void;
  /** Whether this timer alone keeps the process alive. */
  setRef(isRef: boolean): void;
}

/** setTimeout holds at most 2^31-1 ms and fires at once beyond it. */
const MAX_TIMER_MS = 2_147_483_647;

/** How long the distance between the two clocks is believed: the wall clock may be set meanwhile. */
const RESYNC_MS = 500;
let wallOffset = 0;
let syncedAt = Number.NEGATIVE_INFINITY;

export const systemClock: Clock = {
  now: () => Date.now(),
  // Bound: looking it up on the global object at each call takes a quarter longer.
  monotonic: performance.now.bind(performance),
  wallTimeAt(monotonic) {
    if (monotonic - syncedAt > RESYNC_MS) {
      wallOffset = Date.now() - monotonic;
      syncedAt = monotonic;
    }
    return Math.round(monotonic + wallOffset);
  },
  after(ms, fire) {
    const timer = setTimeout(fire, Math.min(Math.max(ms, 0), MAX_TIMER_MS));
    return {
      cancel: () => clearTimeout(timer),
      setRef: (isRef) => void (isRef ? timer.ref() : timer.unref()),
    };
  },
};
