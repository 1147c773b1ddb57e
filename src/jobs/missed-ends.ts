import type { Clock, Timer } from "../core/clock.ts";
import { hasEnded, type Job } from "./job.ts";

export interface MissedJobResultsOptions {
  clock: Clock;
  /** Ids of the jobs whose end is to be told here. */
  awaited(): Iterable<string>;
  find(id: string): Promise<Job | undefined>;
  notify(job: Job): void;
}

const CHECK_AFTER_MS = 5_000;
const MAX_BATCH_SIZE = 50;

/**
 * Asks now and then for the jobs that are waited for: that one has ended is told, but what tells it may break, be restarted
 * or forget, and then nobody would ever hear.
 */
export class MissedJobResults {
  readonly #options: MissedJobResultsOptions;
  #next = 0;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: MissedJobResultsOptions) {
    this.#options = options;
  }

  /** Something is waited for; it looks for as long as anything is. */
  watch(): void {
    if (this.#timer || this.#isClosed) return;
    this.#timer = this.#options.clock.after(CHECK_AFTER_MS, () => void this.#look());
    this.#timer.setRef(false);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const { awaited, find, notify } = this.#options;
    const ids = [...new Set(awaited())];
    await Promise.all(
      this.#nextOf(ids).map(async (id) => {
        // Where nobody can be asked now, one is asked again.
        const job = await find(id).catch(() => undefined);
        if (job && hasEnded(job) && !this.#isClosed) notify(job);
      }),
    );
    this.#timer = undefined;
    if (ids.length > 0) this.watch();
  }

  /** Another part each time, so that everybody has his turn. */
  #nextOf(ids: readonly string[]): string[] {
    const from = ids.length > MAX_BATCH_SIZE ? this.#next % ids.length : 0;
    this.#next = from + MAX_BATCH_SIZE;
    return [...ids.slice(from), ...ids.slice(0, from)].slice(0, MAX_BATCH_SIZE);
  }
}
