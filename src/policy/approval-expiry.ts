import type { Clock } from "../core/clock.ts";
import type { Approval } from "./approval.ts";

/** Clocks of several machines differ by less; who is further back was set back. */
const SKEW_MS = 5 * 60_000;
const MAX_REMEMBERED = 10_000;

/**
 * When a question is over. The wall clock is asked once, when this process first sees a question: from then on only time
 * that never jumps counts, so that setting the clock neither ends a question early nor brings one back.
 */
export class ApprovalExpiry {
  readonly #clock: Clock;
  readonly #maxDelayMs: number;
  readonly #deadlines = new Map<string, number>();

  constructor(clock: Clock, maxDelayMs: number) {
    this.#clock = clock;
    this.#maxDelayMs = maxDelayMs;
  }

  /** Milliseconds; zero or less: it is over. */
  remaining(approval: Approval): number {
    const now = this.#clock.monotonic();
    let deadline = this.#deadlines.get(approval.id);
    if (deadline === undefined) this.#remember(approval.id, (deadline = now + this.#leftByWallClock(approval)));
    return deadline - now;
  }

  forget(id: string): void {
    this.#deadlines.delete(id);
  }

  #leftByWallClock({ askedAt, answeredAt = askedAt, expiresAt }: Approval): number {
    const wall = this.#clock.now();
    // Asked or answered in the future: the clock was set back since, and how long ago that was cannot be told.
    if (wall < Math.max(askedAt, answeredAt) - SKEW_MS) return 0;
    return Math.min(expiresAt - wall, this.#maxDelayMs);
  }

  #remember(id: string, deadline: number): void {
    for (const oldest of this.#deadlines.keys()) {
      if (this.#deadlines.size < MAX_REMEMBERED) break;
      this.#deadlines.delete(oldest);
    }
    this.#deadlines.set(id, deadline);
  }
}
