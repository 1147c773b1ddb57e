import type { CallStore } from "./call-store.ts";
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

/** Wakes callers that wait for a row: at once if this process changes it, otherwise when the next look finds a change. */
export class RowWatch extends Waiters {
  readonly #store: CallStore;
  #seen: ReadonlyMap<string, number> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;
  #isLooking = false;
  #isStale = false;
  isClosed = false;

  constructor(store: CallStore, clock: Clock) {
    super(clock);
    this.#store = store;
  }

  override listen(id: string): Listener {
    const { next, stop } = super.listen(id);
    const look = (): void => this.#lookLater();
    return { next: (wait) => (look(), next(wait)), stop };
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.#timer);
    this.#unwatch?.();
    for (const id of this.ids) this.notify(id);
  }

  #lookLater(): void {
    const { pollMs } = this.#store;
    if (this.#timer || pollMs === undefined || this.isClosed) return;
    this.#unwatch ??= this.#store.watch?.(() => void this.#look());
    // In real time, not by the injected clock: other processes have their own.
    this.#timer = setTimeout(() => void this.#look(), pollMs);
  }

  /** One query for all rows that somebody waits for. */
  async #look(): Promise<void> {
    this.#isStale = this.#isLooking;
    if (this.#isLooking) return;
    this.#isLooking = true;
    clearTimeout(this.#timer);
    const { ids } = this;
    try {
      const versions = ids.length === 0 ? new Map<string, number>() : await this.#store.versions(ids);
      for (const [id, version] of versions) if (this.#seen.get(id) !== version) this.notify(id);
      this.#seen = versions;
    } catch {
      // The store cannot be read now. The next look follows.
    }
    this.#isLooking = false;
    this.#timer = undefined;
    // Something changed while it looked.
    if (this.#isStale && !this.isClosed) return this.#look();
    if (this.ids.length > 0) return this.#lookLater();
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}
