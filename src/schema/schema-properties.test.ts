import { describe, expect, test } from "vitest";
import { admitsUnknown, propertiesOf, schemaAt, typesOf } from "./schema-properties.ts";
import { type JsonSchema, resolveRef } from "./json-schema.ts";

const TREE: JsonSchema = {
  type: "object",
  properties: {
    name: { type: "string" },
    kids: { type: "array", items: { $ref: "#" } },
    size: { $ref: "#/$defs/size" },
  },
  $defs: {
    size: { $ref: "#/$defs/number" },
    number: { type: "number" },
    loop: { $ref: "#/$defs/back" },
    back: { $ref: "#/$defs/loop" },
  },
};

describe("resolveRef", () => {
  test("follows references to their end", () => {
    expect(resolveRef(TREE, { $ref: "#/$defs/size" })).toEqual({ type: "number" });
    expect(resolveRef(TREE, { $ref: "#" })).toBe(TREE);
    const plain = { type: "string" };
    expect(resolveRef(TREE, plain)).toBe(plain);
  });
  test("returns undefined for circular, dangling and remote references", () => {
    expect(resolveRef(TREE, { $ref: "#/$defs/loop" })).toBeUndefined();
    expect(resolveRef(TREE, { $ref: "#/$defs/none" })).toBeUndefined();
    expect(resolveRef(TREE, { $ref: "#/__proto__" })).toBeUndefined();
    expect(resolveRef(TREE, { $ref: "https://example.org/a" })).toBeUndefined();
    expect(resolveRef(TREE, { $ref: "#%" })).toBeUndefined();
  });
  test("reads boolean schemas as objects", () => {
    expect(resolveRef({ $defs: { no: false } }, { $ref: "#/$defs/no" })).toEqual({ not: {} });
  });
  test("resolves against the nearest $id", () => {
    const root = {
      $id: "https://example.org/root.json",
      $defs: { a: { $id: "sub/a.json", $defs: { b: { const: 1 } } } },
    };
    expect(resolveRef(root, { $ref: "sub/a.json#/$defs/b" })).toEqual({ const: 1 });
  });
});

describe("propertiesOf", () => {
  test("merges declarations in branches, references and conditions", () => {
    const root = {
      properties: { own: { type: "string" } },
      allOf: [{ $ref: "#/$defs/more" }],
      anyOf: [{ properties: { a: { type: "number" } } }, { properties: { a: { type: "string" }, b: {} } }],
      if: { properties: { own: { const: "x" }, seen: { const: 1 } } },
      then: { properties: { late: {} } },
      else: { properties: { other: {} } },
      $defs: { more: { properties: { more: { type: "null" } } } },
    };
    const properties = propertiesOf(root, root);
    expect([...properties.keys()].toSorted()).toEqual(["a", "b", "late", "more", "other", "own", "seen"]);
    expect(properties.get("own")).toBe(root.properties.own);
    expect(typesOf(root, properties.get("a") ?? {})).toEqual(new Set(["number", "string"]));
  });
  test("ends on recursion", () => {
    const root = { allOf: [{ $ref: "#" }], properties: { a: {} } };
    expect([...propertiesOf(root, root).keys()]).toEqual(["a"]);
  });
});

describe("admitsUnknown", () => {
  test.each<[boolean, JsonSchema]>([
    [false, { type: "object", properties: { a: {} } }],
    [false, { type: "object", properties: {} }],
    [false, { type: "object", properties: { a: {} }, additionalProperties: false }],
    [false, { type: "object", additionalProperties: false }],
    [false, { type: "object", unevaluatedProperties: false }],
    [false, { allOf: [{ properties: { a: {} } }] }],
    [false, { type: "string" }],
    [false, { $ref: "#/$defs/closed", $defs: { closed: { properties: { a: {} } } } }],
    [true, {}],
    [true, { type: "object" }],
    [true, { type: ["object", "null"] }],
    [true, { type: "object", properties: { a: {} }, additionalProperties: true }],
    [true, { type: "object", properties: { a: {} }, additionalProperties: { type: "string" } }],
    [true, { type: "object", properties: { a: {} }, unevaluatedProperties: {} }],
    [true, { type: "object", patternProperties: { "^x-": {} }, additionalProperties: false }],
    [true, { properties: { a: {} }, dependentSchemas: { a: { additionalProperties: true } } }],
    [false, { properties: { a: {} }, dependentSchemas: { additionalProperties: { properties: { b: {} } } } }],
    [true, { anyOf: [{ properties: { a: {} } }, { properties: { b: {} }, additionalProperties: true }] }],
  ])("is %s for %j", (answer, schema) => {
    expect(admitsUnknown(schema, schema)).toBe(answer);
  });
});

describe("typesOf", () => {
  test.each<[JsonSchema, string[]]>([
    [{}, ["array", "boolean", "null", "number", "object", "string"]],
    [{ type: "integer" }, ["integer"]],
    [{ type: ["string", "null"] }, ["null", "string"]],
    [{ enum: ["a", 1, null] }, ["integer", "null", "string"]],
    [{ const: 1.5 }, ["number"]],
    [
      { anyOf: [{ type: "string" }, { $ref: "#/$defs/list" }], $defs: { list: { type: "array" } } },
      ["array", "string"],
    ],
    [{ type: "number", allOf: [{ type: "integer" }] }, ["integer"]],
    [{ type: ["string", "number"], oneOf: [{ type: "number" }, { type: "null" }] }, ["number"]],
    [{ not: {} }, []],
    [{ anyOf: [{ $ref: "#" }, { type: "string" }] }, ["array", "boolean", "null", "number", "object", "string"]],
  ])("%j admits %j", (schema, types) => {
    expect([...typesOf(schema, schema)].toSorted()).toEqual(types);
  });
});

describe("schemaAt", () => {
  test("walks properties, items and references", () => {
    expect(schemaAt(TREE, [])).toBe(TREE);
    expect(schemaAt(TREE, ["kids", 0, "kids", { key: 3 }, "name"])).toEqual({ type: "string" });
    expect(schemaAt(TREE, ["nothing"])).toBeUndefined();
    expect(schemaAt(TREE, ["name", "below", "that"])).toBeUndefined();
  });
  test("finds tuples, patterns and additional properties", () => {
    const root = {
      prefixItems: [{ const: 0 }],
      items: { const: 1 },
      patternProperties: { "^x": { const: "x" } },
      additionalProperties: { const: "rest" },
    };
    expect(schemaAt(root, [0])).toEqual({ const: 0 });
    expect(schemaAt(root, [5])).toEqual({ const: 1 });
    expect(schemaAt(root, ["xy"])).toEqual({ const: "x" });
    expect(schemaAt(root, ["y"])).toEqual({ const: "rest" });
  });
});

test("a schema whose parts are reached in many ways is read once", () => {
  const $defs: Record<string, JsonSchema> = { d60: { type: "object", properties: { end: {} } } };
  for (let at = 0; at < 60; at++)
    $defs[`d${at}`] = { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] };
  const root = { $ref: "#/$defs/d0", $defs };
  expect([...propertiesOf(root, root).keys()]).toEqual(["end"]);
  expect(typesOf(root, root)).toEqual(new Set(["object"]));
  expect(admitsUnknown(root, root)).toBe(false);
});
