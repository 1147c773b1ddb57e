import { describe, expect, test } from "vitest";
import { lintJsonSchema } from "./lint-json-schema.ts";
import { toSchema } from "./json-schema-validator.ts";

function nest(depth: number): Record<string, unknown> {
  return depth === 0 ? { type: "string" } : { items: nest(depth - 1) };
}

/** Each schema refers to the next, so every search visits all of them. */
function entangle(count: number): Record<string, unknown> {
  const entries = Array.from({ length: count }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }]);
  return { $defs: { ...Object.fromEntries(entries), [`d${count}`]: {} } };
}

const CYCLIC: Record<string, unknown> = { type: "object" };
CYCLIC["properties"] = { self: CYCLIC };

describe("a problem of a schema is reported with its path and reason", () => {
  test.each([
    ["no object", 5, "#", /must be an object/],
    ["an unknown type", { properties: { a: { type: "text" } } }, "#/properties/a/type", /"text" is not a JSON type/],
    ["an unknown type in a list", { type: ["string", "date"] }, "#/type", /"date"/],
    ["no type", { type: [] }, "#/type", /at least one/],
    [
      "required as true",
      { properties: { a: { required: true } } },
      "#/properties/a/required",
      /list of property names/,
    ],
    ["required with a number", { required: [1] }, "#/required", /list of property names/],
    ["properties as a list", { properties: [] }, "#/properties", /must be an object/],
    ["a property that is not a schema", { properties: { a: "string" } }, "#/properties/a", /must be a schema/],
    ["a broken pattern", { pattern: "(" }, "#/pattern", /regular expression/],
    ["a broken pattern as a key", { patternProperties: { "[": {} } }, "#/patternProperties/[", /regular expression/],
    ["a costly pattern", { pattern: "(a+)+$" }, "#/pattern", /exponential time/],
    [
      "a costly pattern as a key",
      { patternProperties: { "^(a|aa)+$": {} } },
      "#/patternProperties/^(a|aa)+$",
      /exponential/,
    ],
    ["a dangling reference", { $ref: "#/$defs/a" }, "#/$ref", /points to nothing/],
    ["a dangling anchor", { items: { $dynamicRef: "#node" } }, "#/items/$dynamicRef", /points to nothing/],
    ["a remote reference", { $ref: "https://example.org/a.json" }, "#/$ref", /remote references are not loaded/],
    ["a reference to itself", { $ref: "#" }, "#/$ref", /leads back to itself/],
    [
      "a detour to itself",
      { $defs: { a: { allOf: [{ not: { $ref: "#/$defs/a" } }] } } },
      "#/$defs/a/allOf/0/not/$ref",
      /itself/,
    ],
    ["very many entangled references", entangle(1000), "#", /too complex/],
    ["a negative length", { minLength: -1 }, "#/minLength", /non-negative/],
    ["a fractional count", { maxItems: 1.5 }, "#/maxItems", /integer/],
    ["a limit as text", { minimum: "3" }, "#/minimum", /number/],
    ["draft 04's exclusive minimum", { exclusiveMinimum: true }, "#/exclusiveMinimum", /number/],
    ["a step of zero", { multipleOf: 0 }, "#/multipleOf", /above 0/],
    ["an empty enum", { enum: [] }, "#/enum", /at least one/],
    ["an enum of one value", { enum: "a" }, "#/enum", /list/],
    ["an empty anyOf", { anyOf: [] }, "#/anyOf", /at least one schema/],
    ["dependent names as text", { dependentRequired: { a: "b" } }, "#/dependentRequired", /list of property names/],
    ["a cycle", CYCLIC, "#/properties/self", /\$ref/],
    ["a cycle in a default", { default: CYCLIC }, "#/default/properties/self", /contains it/],
    ["more than 64 schemas of depth", nest(65), "#", /64 schemas deep/],
    ["endless depth", nest(5000), "#", /levels deep/],
    ["more than 20,000 nodes", { enum: Array.from({ length: 20_001 }, () => ({})) }, "#", /20000 nodes/],
    ["a __proto__ key", JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), "#/properties", /__proto__/],
    ["a function", { default: () => 1 }, "#/default", /plain JSON, got a function/],
    ["a class instance", { const: new Date(0) }, "#/const", /plain JSON/],
    ["TypeBox's bigint", { type: "bigint" }, "#/type", /Type\.Integer/],
  ])("%s", (_, schema, path, message) => {
    const problems = lintJsonSchema(schema);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ path, message: expect.stringMatching(message) });
  });
});

test("every problem is listed", () => {
  const problems = lintJsonSchema({ type: "foo", properties: { "a/b": { minLength: -1 }, c: { enum: [] } } });
  expect(problems.map(({ path }) => path)).toEqual(["#/type", "#/properties/a~1b/minLength", "#/properties/c/enum"]);
});

describe("a sound schema has no problems, and validates", () => {
  test.each([
    ["draft 07 definitions", { $ref: "#/definitions/a", definitions: { a: { type: "string" } } }, "x", 1],
    ["$defs", { items: { $ref: "#/$defs/a" }, $defs: { a: { type: "string" } } }, ["x"], [1]],
    ["an escaped pointer", { $ref: "#/$defs/a~1b%25", $defs: { "a/b%": { type: "string" } } }, "x", 1],
    ["an anchor", { $ref: "#a", $defs: { x: { $anchor: "a", type: "string" } } }, "x", 1],
    ["a draft 07 anchor", { $ref: "#a", definitions: { x: { $id: "#a", type: "string" } } }, "x", 1],
    [
      "an embedded $id",
      { $ref: "a.json", $id: "https://example.org/", $defs: { x: { $id: "a.json", type: "string" } } },
      "x",
      1,
    ],
    [
      "recursion through a property",
      { type: "object", properties: { next: { $ref: "#" } } },
      { next: {} },
      { next: 1 },
    ],
    [
      "a dynamic reference",
      { $dynamicAnchor: "n", type: "object", properties: { n: { $dynamicRef: "#n" } } },
      { n: {} },
      { n: 1 },
    ],
    ["a draft 07 tuple", { items: [{ type: "string" }], additionalItems: false }, ["x"], ["x", 1]],
    ["dependencies", { dependencies: { a: ["b"] } }, { a: 1, b: 1 }, { a: 1 }],
    ["boolean schemas", { properties: { a: true, b: false } }, { a: 1 }, { b: 1 }],
    ["an unknown format", { type: "string", format: "mood" }, "x", 1],
    ["64 schemas of depth", nest(64), [], nestValue(64)],
  ])("%s", (_, schema, good, bad) => {
    expect(lintJsonSchema(schema)).toEqual([]);
    const made = toSchema(schema as Record<string, unknown>);
    expect(made.validate(good)).toEqual({ value: good });
    expect(made.validate(bad)).toHaveProperty("issues");
  });
});

/** Nested lists around a number, although `nest` requires a string. */
function nestValue(depth: number): unknown {
  return depth === 0 ? 1 : [nestValue(depth - 1)];
}
