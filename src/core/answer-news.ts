import type { Clock } from "../core/clock.ts";

/** Tells those who wait for an answer to look: at once when it was given in this process, else now and then. */
export class AnswerNews {
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #clock: Clock;
  readonly #pollMs: number | undefined;

  /** Without `pollMs` nobody but this process answers. */
  constructor(clock: Clock, pollMs: number | undefined) {
    this.#clock = clock;
    this.#pollMs = pollMs;
  }

  tell(id: string): void {
    for (const hear of this.#listeners.get(id) ?? []) hear();
  }

  listen(id: string): { next(mostMs: number, signal?: AbortSignal): Promise<void>; stop(): void } {
    let hear!: () => void;
    const heard = new Promise<void>((resolve) => (hear = resolve));
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(hear));
    return {
      next: async (mostMs, signal) => {
        const timer = this.#clock.after(Math.min(mostMs, this.#pollMs ?? mostMs), hear);
        // Who waits holds the process by other means.
        timer.hold(false);
        signal?.addEventListener("abort", hear, { once: true });
        if (signal?.aborted) hear();
        await heard;
        timer.cancel();
        signal?.removeEventListener("abort", hear);
      },
      stop: () => {
        listeners.delete(hear);
        if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id);
      },
    };
  }
}
