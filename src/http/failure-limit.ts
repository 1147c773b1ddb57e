import type { Clock } from "../core/clock.ts";

const MAX_ADDRESSES = 10_000;

/**
 * Counts wrong tokens by address. Whoever is over the limit is told to wait instead of being told "wrong"; who presents a
 * right one is never kept out by somebody else's guesses.
 */
export class FailureLimit {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #refillMs: number;
  readonly #spent = new Map<string, { failures: number; at: number }>();

  constructor(clock: Clock, { burst = 10, refillMs = 6000 }: { burst?: number; refillMs?: number } = {}) {
    this.#clock = clock;
    this.#burst = burst;
    this.#refillMs = refillMs;
  }

  /** Notes a failure; the milliseconds to wait once there were too many. */
  failed(address: string): number | undefined {
    const at = this.#clock.monotonic();
    const before = this.#spent.get(address);
    const left = before ? Math.max(0, before.failures - (at - before.at) / this.#refillMs) : 0;
    const failures = Math.min(left + 1, this.#burst + 1);
    // To the end of the map: the oldest addresses go first.
    this.#spent.delete(address);
    this.#spent.set(address, { failures, at });
    if (this.#spent.size > MAX_ADDRESSES) this.#spent.delete(this.#spent.keys().next().value!);
    return failures > this.#burst ? Math.ceil((failures - this.#burst) * this.#refillMs) : undefined;
  }
}
