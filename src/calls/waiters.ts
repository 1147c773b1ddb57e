import type { Clock } from "../core/clock.ts";

interface Wait {
  /** Default: no limit. */
  maxMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Whether the time limit keeps the process alive. Default: true. */
  keepsAlive?: boolean;
}

export interface Listener {
  next(wait: Wait): Promise<void>;
  stop(): void;
}

/** Wakes callers that wait for a change of something with an id. */
export class Waiters {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What somebody waits for. */
  get ids(): string[] {
    return [...this.#waiting.keys()];
  }

  notify(id: string): void {
    for (const wake of this.#waiting.get(id) ?? []) wake();
  }

  /** Listens from now on: `next` also resolves if the change was before it. */
  listen(id: string): Listener {
    let wake!: () => void;
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const wakes = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, wakes.add(wake));
    return {
      next: async ({ maxMs, signal, keepsAlive = true }) => {
        const timer = maxMs === undefined ? undefined : this.#clock.after(maxMs, wake);
        if (!keepsAlive) timer?.setRef(false);
        signal?.addEventListener("abort", wake, { once: true });
        if (signal?.aborted) wake();
        await woken;
        timer?.cancel();
        signal?.removeEventListener("abort", wake);
      },
      stop: () => {
        wakes.delete(wake);
        if (wakes.size === 0 && this.#waiting.get(id) === wakes) this.#waiting.delete(id);
      },
    };
  }
}
