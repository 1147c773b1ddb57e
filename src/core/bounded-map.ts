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

/** The items by their key, in the order of their first. */
export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item, at: number) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  let at = 0;
  for (const item of items) {
    const key = keyOf(item, at++);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
