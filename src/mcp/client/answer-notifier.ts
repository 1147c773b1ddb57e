import type { Clock } from "../../core/clock.ts";

/** Wakes callers that wait for an answer: at once if this process answers, otherwise every `pollMs`. */
export class AnswerNotifier {
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #clock: Clock;
  readonly #pollMs: number | undefined;

  /** Omit `pollMs` if only this process answers. */
  constructor(clock: Clock, pollMs: number | undefined) {
    this.#clock = clock;
    this.#pollMs = pollMs;
  }

  notify(id: string): void {
    for (const wake of this.#listeners.get(id) ?? []) wake();
  }

  listen(id: string): { next(maxMs: number, signal?: AbortSignal): Promise<void>; stop(): void } {
    let wake!: () => void;
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(wake));
    return {
      next: async (maxMs, signal) => {
        const timer = this.#clock.after(Math.min(maxMs, this.#pollMs ?? maxMs), wake);
        // The caller keeps the process alive by other means.
        timer.setRef(false);
        signal?.addEventListener("abort", wake, { once: true });
        if (signal?.aborted) wake();
        await woken;
        timer.cancel();
        signal?.removeEventListener("abort", wake);
      },
      stop: () => {
        listeners.delete(wake);
        if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id);
      },
    };
  }
}
