import { expect, test } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

test("drops the entry that was set longest ago", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  expect([...map]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
});

test("never has more entries than its maximum, and keeps most of them", () => {
  const map = new BoundedMap<number, number>(1000);
  for (let key = 0; key < 5000; key++) {
    map.set(key, key);
    expect(map.size).toBeLessThanOrEqual(1000);
  }
  expect(map.size).toBeGreaterThan(900);
  expect(map.has(4999)).toBe(true);
});
