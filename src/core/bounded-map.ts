/** A map of at most `max` entries. What is set becomes the newest; the oldest are dropped. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size <= this.#max) return this;
    // Several at once in a large map: V8 walks over all that were deleted before to find the first.
    const kept = this.#max - Math.floor(this.#max / 16);
    for (const oldest of this.keys()) {
      if (this.size <= kept) break;
      this.delete(oldest);
    }
    return this;
  }
}
