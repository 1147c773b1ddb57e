import type { JobEvent } from "./job-queue.ts";

/** Those who hear what happens to jobs. One that throws harms nobody. */
export class JobListeners {
  readonly #listeners = new Set<(event: JobEvent) => void>();

  get size(): number {
    return this.#listeners.size;
  }

  add(listener: (event: JobEvent) => void): () => void {
    // Wrapped, so that one who listens twice hears twice and may leave once.
    const own = (event: JobEvent): void => listener(event);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  notify(event: JobEvent): void {
    for (const listener of this.#listeners) {
      try {
        const returned: unknown = listener(event);
        if (returned instanceof Promise) returned.catch(() => undefined);
      } catch {
        // The listener's trouble, not the job's.
      }
    }
  }
}
