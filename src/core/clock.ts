/** Time as a dependency: everything that waits or measures takes one, so that tests move it by hand. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  now(): number;
  /** Milliseconds that never jump; for durations and deadlines. */
  monotonic(): number;
  after(ms: number, fire: () => void): Timer;
}

export interface Timer {
  cancel(): void;
  /** Whether this timer alone keeps the process alive. */
  hold(keepsAlive: boolean): void;
}

/** setTimeout holds at most 2^31-1 ms and fires at once beyond it. */
const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fire) {
    const timer = setTimeout(fire, Math.min(Math.max(ms, 0), LONGEST_TIMER_MS));
    return {
      cancel: () => clearTimeout(timer),
      hold: (keepsAlive) => void (keepsAlive ? timer.ref() : timer.unref()),
    };
  },
};
