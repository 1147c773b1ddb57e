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

/** Clocks of several machines differ by less. A larger difference means that one of them is wrong. */
export const SKEW_MS = 5 * 60_000;
let correctionMs = 0;

/**
 * Sets the system clock of this process by one that all processes of a store share, if they differ much. Otherwise a process
 * with a wrong clock would end what others wait for. Returns by how much it was wrong.
 */
export function correctClock(sharedNow: number): number {
  const aheadMs = Date.now() - sharedNow;
  correctionMs = Math.abs(aheadMs) < SKEW_MS ? 0 : -aheadMs;
  syncedAt = Number.NEGATIVE_INFINITY;
  return correctionMs === 0 ? 0 : aheadMs;
}

export const systemClock: Clock = {
  now: () => Date.now() + correctionMs,
  monotonic: () => performance.now(),
  wallTimeAt(monotonic) {
    if (monotonic - syncedAt > RESYNC_MS) {
      wallOffset = Date.now() + correctionMs - monotonic;
      syncedAt = monotonic;
    }
    return Math.round(monotonic + wallOffset);
  },
  after(ms, fire) {
    if (ms > MAX_TIMER_MS) return afterLong(ms, fire);
    const timer = setTimeout(fire, Math.max(ms, 0));
    // A number in edge runtimes, which have no process that it could keep alive.
    const handle = timer as { ref?(): unknown; unref?(): unknown };
    return {
      cancel: () => clearTimeout(timer),
      setRef: (isRef) => void (isRef ? handle.ref?.() : handle.unref?.()),
    };
  },
};

/** In several steps. A delayed job may wait for a year. */
function afterLong(ms: number, fire: () => void): Timer {
  let left = ms;
  let isRef = true;
  let timer: Timer;
  const next = (): void => {
    const step = Math.min(left, MAX_TIMER_MS);
    left -= step;
    timer = systemClock.after(step, left > 0 ? next : fire);
    timer.setRef(isRef);
  };
  next();
  return { cancel: () => timer.cancel(), setRef: (value) => timer.setRef((isRef = value)) };
}

/** Resolves after the time, or when the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined, clock: Clock = systemClock): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(ms, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** The work, until the signal aborts; then rejects with its reason. A value that comes later goes to `onTooLate`. */
export function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  onTooLate: (value: T) => void = () => undefined,
): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work
      .then((value) => (signal.aborted ? onTooLate(value) : resolve(value)), reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Eight buckets per power of two microseconds: percentiles are accurate to 10 %, in 2 KB per tool. */
const SUB_BITS = 3;
export const BUCKETS = 32 << SUB_BITS;

/** The number of the bucket that a duration is counted in. */
export function bucketOf(durationMs: number): number {
  const micros = Math.min(Math.max(Math.round(durationMs * 1000), 1), 0x7fffffff);
  const power = 31 - Math.clz32(micros);
  const sub = power >= SUB_BITS ? (micros >>> (power - SUB_BITS)) & ((1 << SUB_BITS) - 1) : 0;
  return (power << SUB_BITS) | sub;
}

/** The duration in the middle of a bucket, in milliseconds. */
export function middleOf(bucket: number): number {
  const low = 2 ** (bucket >> SUB_BITS);
  const step = low / (1 << SUB_BITS);
  return (low + ((bucket & ((1 << SUB_BITS) - 1)) + 0.5) * step) / 1000;
}

/** In the local time zone, in a form that sorts: `2026-11-16 05:30`. */
export function showTime(at: number, { seconds = false }: { seconds?: boolean } = {}): string {
  const date = new Date(at);
  const two = (number: number): string => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return seconds ? `${day} ${time}:${two(date.getSeconds())}` : `${day} ${time}`;
}

export function showDuration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return showMinutes(ms);
}

/** The time between two moments, without fractions: `40 s`, `3 min`, `23 h`, `5 days`. */
export function showSpan(ms: number): string {
  return ms < 60_000 ? `${Math.max(0, Math.round(ms / 1000))} s` : showMinutes(ms);
}

function showMinutes(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
