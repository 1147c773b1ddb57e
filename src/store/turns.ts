/**
 * So many at a time, in the order they came. Stands before a pool of connections: its time limit for connecting also counts
 * while somebody waits for a free one, and would refuse whoever comes with many others.
 */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Handed on, so that nobody comes in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
