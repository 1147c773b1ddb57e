/** Frames that are pushed by listeners and read as an async iterable, once. */
export class FrameQueue<Frame> implements AsyncIterable<Frame> {
  readonly #batches: (readonly Frame[])[] = [];
  readonly #signal: AbortSignal;
  #hasEnded = false;
  #wake: (() => void) | undefined;

  /** The queue ends when the signal is aborted. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake?.(), { once: true });
  }

  push(...frames: Frame[]): void {
    this.pushAll(frames);
  }

  /** The list itself is what `batches` returns. */
  pushAll(frames: readonly Frame[]): void {
    if (this.#hasEnded) return;
    this.#batches.push(frames);
    this.#wake?.();
  }

  /** After the frames that were pushed. */
  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void, undefined> {
    for await (const batch of this.batches()) {
      for (const frame of batch) {
        yield frame;
        if (this.#signal.aborted) return;
      }
    }
  }

  /** The frames as they were pushed together. */
  async *batches(): AsyncGenerator<readonly Frame[], void, undefined> {
    while (!this.#signal.aborted) {
      for (let batch = this.#batches.shift(); batch !== undefined; batch = this.#batches.shift()) {
        yield batch;
        if (this.#signal.aborted) return;
      }
      if (this.#hasEnded) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }
}
