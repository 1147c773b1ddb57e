/** Frames that are pushed by listeners and read as an async iterable, once. */
export class FrameQueue<Frame> implements AsyncIterable<Frame> {
  readonly #frames: Frame[] = [];
  readonly #signal: AbortSignal;
  #hasEnded = false;
  #wake: (() => void) | undefined;

  /** The queue ends when the signal is aborted. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake?.(), { once: true });
  }

  push(frame: Frame): void {
    if (this.#hasEnded) return;
    this.#frames.push(frame);
    this.#wake?.();
  }

  /** After the frames that were pushed. */
  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void, undefined> {
    while (!this.#signal.aborted) {
      for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) {
        yield frame;
        if (this.#signal.aborted) return;
      }
      if (this.#hasEnded) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }
}
