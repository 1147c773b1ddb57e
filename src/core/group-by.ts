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
