import { describe, expect, test } from "vitest";
import { compileJsonSchema } from "./compile-json-schema.ts";
import { isFormat } from "./formats.ts";
import type { JsonSchema } from "./json-schema.ts";

// Cases that are easy to get wrong; `npm run fixtures` runs the JSON Schema Test Suite from a folder.
describe("a value that a schema must not accept", () => {
  const node = { $id: "node", $dynamicAnchor: "n", properties: { next: { $dynamicRef: "#n" } } };
  test.each<[string, JsonSchema, unknown, unknown]>([
    [
      "properties that only a failed branch names",
      { anyOf: [{ properties: { a: { type: "string" } } }, {}], unevaluatedProperties: false },
      { a: 1 },
      { a: "x" },
    ],
    ["what a sibling evaluated", { properties: { a: {} }, allOf: [{ unevaluatedProperties: false }] }, { a: 1 }, {}],
    [
      "items after those that matched",
      { prefixItems: [{}], contains: { type: "string" }, unevaluatedItems: false },
      [1, "x", 2],
      [1, "x"],
    ],
    ["too many matches", { contains: { const: 1 }, maxContains: 1 }, [1, 1], [1, 2]],
    [
      "equal objects with other orders of keys",
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [{ a: 1 }, { a: "1" }],
    ],
    ["the text of a value", { enum: [[1], null] }, "[1]", [1]],
    ["a list with null instead of an empty one", { const: [] }, [null], []],
    ["an empty list instead of one with null", { enum: [[null]] }, [], [null]],
    ["a large odd number", { multipleOf: 2 }, Number.MAX_SAFE_INTEGER, 4],
    ["a large fraction", { multipleOf: 1 }, 1e15 + 0.5, 1e15],
    ["an inherited property", { required: ["toString"] }, {}, { toString: 1 }],
    [
      "a property next to a reference",
      { $defs: { a: { type: "object" } }, $ref: "#/$defs/a", required: ["x"] },
      {},
      { x: 1 },
    ],
    [
      "a node of the extended tree",
      { $id: "tree", $dynamicAnchor: "n", $ref: "node", unevaluatedProperties: false, $defs: { node } },
      { next: { nxt: 1 } },
      { next: { next: {} } },
    ],
    ["half a character", { minLength: 2 }, "😀", "😀😀"],
    ["a multiple only after rounding", { multipleOf: 0.01 }, 0.0075, 0.07],
    ["the dependency of draft 07", { dependencies: { a: ["b"] } }, { a: 1 }, { a: 1, b: 1 }],
    ["the tuple of draft 07", { items: [{ type: "string" }], additionalItems: false }, ["a", 1], ["a"]],
  ])("%s", (_, schema, invalid, valid) => {
    const { check, errors } = compileJsonSchema(schema);
    expect([check(invalid), check(valid)]).toEqual([false, true]);
    expect([errors(invalid, 9).length > 0, errors(valid, 9)]).toEqual([true, []]);
  });
});

describe("formats", () => {
  test.each([
    ["date", "2024-02-29", "2023-02-29"],
    ["time", "23:59:60Z", "22:59:60Z"],
    ["date-time", "2026-01-31t12:00:00.5+01:00", "2026-01-31 12:00:00"],
    ["duration", "P1DT12H", "P1Y2W"],
    ["email", '"joe bloggs"@example.com', "a..b@example.com"],
    ["hostname", "xn--4gbwdl.xn--wgbh1c", "-a.example"],
    ["idn-hostname", "실례.테스트", "a\u00b7l"],
    ["ipv4", "192.0.2.1", "087.10.0.1"],
    ["ipv6", "::ffff:192.0.2.1", "1:2:3:4:5:6:7"],
    ["uri", "http://[::1]:80/a?b#c", "//example.org"],
    ["uri-reference", "/a:b", "1:b"],
    ["iri", "http://ƒøø.ßår/", "http://[::g]/"],
    ["uri-template", "/a{?b*,c:3}", "/a{b"],
    ["uuid", "2EB8AA08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380"],
    ["json-pointer", "/a~1b/0", "a/b"],
    ["relative-json-pointer", "1/a", "01/a"],
    ["regex", "a{1,2}", "a{2"],
  ])("%s", (format, valid, invalid) => {
    expect([isFormat(format, valid), isFormat(format, invalid)]).toEqual([true, false]);
  });

  test("an unknown one accepts every text", () => expect(isFormat("colour", "x")).toBe(true));
});
