import { expect, test } from "vitest";
import { queryJson } from "./json-path.ts";

const data = { items: [{ id: 1, "a b": true }, { id: 2 }, { id: 3 }], $ref: "#/x", __proto__: {} };

test.each([
  ["$", data],
  ["", data],
  ["items[0].id", 1],
  ["$.items[-1].id", 3],
  ["items[1:3].id", [2, 3]],
  ["items[*].id", [1, 2, 3]],
  ["items[:1]", [{ id: 1, "a b": true }]],
  ['items[0]["a b"]', true],
  ["$ref", "#/x"],
])("%s", (path, value) => expect(queryJson(data, path)).toEqual(value));

test.each([
  ["items[9]", "$.items has no item 9: it is a list of 3"],
  ["items.id", "$.items has no key"],
  ["name", '$ has no key "name": it is an object with the keys items, $ref'],
  ["constructor", "has no key"],
  ["items[0].id.x", "it is a number"],
  ["$..id", "cannot be read"],
  ["items[?(@.id)]", "cannot be read"],
])("%s is refused and says what is there", (path, message) => {
  expect(() => queryJson(data, path)).toThrow(message);
});
