import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonSchemaValidator } from "./json-schema-validator.ts";
import type { JsonSchema } from "./json-schema.ts";
import { lintJsonSchema } from "./lint-json-schema.ts";

/** Each issue as `path: message`. */
function complaints(schema: JsonSchema, value: unknown): string[] {
  const { issues = [] } = jsonSchemaValidator(schema)(value);
  return issues.map(({ path = [], message }) => `${path.map(String).join(".")}: ${message}`);
}

describe("a problem is described in words", () => {
  test.each<[JsonSchema, unknown, string]>([
    [{ type: "number" }, "x", "must be a number, got string"],
    [{ type: "integer" }, 1.5, "must be an integer, got 1.5"],
    [{ type: "number" }, NaN, "must be a number, got NaN"],
    [{ type: ["string", "null"] }, {}, "must be a string or null, got object"],
    [{ type: "object" }, undefined, "must be an object, got undefined"],
    [{ type: "boolean" }, [], "must be true or false, got array"],
    [{ enum: ["a", "b", null] }, "c", 'must be one of "a", "b", null, got "c"'],
    [{ const: 3 }, 4, "must be 3, got 4"],
    [{ minimum: 3 }, 2, "must be at least 3, got 2"],
    [{ maximum: 3 }, 4, "must be at most 3, got 4"],
    [{ exclusiveMinimum: 3 }, 3, "must be more than 3, got 3"],
    [{ exclusiveMaximum: 3 }, 3, "must be less than 3, got 3"],
    [{ multipleOf: 5 }, 7, "must be a multiple of 5, got 7"],
    [{ minLength: 2 }, "a", "must have at least 2 characters, has 1"],
    [{ maxLength: 1 }, "ab", "must have at most 1 character, has 2"],
    [{ minItems: 1 }, [], "must have at least 1 item, has 0"],
    [{ maxItems: 2 }, [1, 2, 3], "must have at most 2 items, has 3"],
    [{ minProperties: 1 }, {}, "must have at least 1 property, has 0"],
    [{ maxProperties: 0 }, { a: 1 }, "must have at most 0 properties, has 1"],
    [{ uniqueItems: true }, [1, 1], "must not contain the same item twice"],
    [{ pattern: "^a+$" }, "b", 'must match the pattern ^a+$, got "b"'],
    [{ format: "email" }, "x", 'must have the format email, such as name@example.org; got "x"'],
    [{ format: "uri" }, "x", 'must have the format uri, such as https://example.org/page; got "x"'],
    [{ format: "date-time" }, "now", 'must have the format date-time, such as 2026-01-31T12:00:00Z; got "now"'],
    [{ required: ["a"] }, {}, 'is missing the required property "a"'],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, 'also needs "b", because "a" is given'],
    [{ propertyNames: { maxLength: 2 } }, { long: 1 }, 'has a property with the name "long", which is not allowed'],
    [{ not: { type: "string" } }, "a", 'must not match the schema that is excluded, got "a"'],
    [{ contains: { type: "string" } }, [1], "must contain an item that its schema requires"],
    [
      { properties: { a: {}, b: {} }, additionalProperties: false },
      { c: 1 },
      'has the unknown property "c"; the properties are a, b',
    ],
    [
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { b: 1 },
      'has the unknown property "b"; the properties are a',
    ],
  ])("%j rejects %j", (schema, value, message) => {
    expect(complaints(schema, value)).toEqual([`: ${message}`]);
  });
});

test("every problem is listed, each at its path", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string" },
      "a/b": { type: "string" },
      list: { type: "array", items: { type: "object", properties: { size: { type: "integer" } }, required: ["size"] } },
    },
    required: ["name", "other"],
  };
  const { issues } = jsonSchemaValidator(schema)({ "a/b": 1, list: [{ size: 1 }, { size: "2" }, {}] });
  expect(issues?.map(({ path }) => path)).toEqual([[], [], ["a/b"], ["list", 1, "size"], ["list", 2]]);
});

test("more than eight problems are listed, and a flood of them is limited", () => {
  const validate = jsonSchemaValidator({ type: "array", items: { type: "string" } });
  expect(validate(Array(50).fill(1)).issues).toHaveLength(50);
  const flood = validate(Array(10_000).fill(1)).issues ?? [];
  expect(flood).toHaveLength(101);
  expect(flood.at(-1)?.message).toContain("may be more problems");
});

describe("of a failed union", () => {
  const shape = {
    oneOf: [
      {
        type: "object",
        properties: { kind: { const: "circle" }, radius: { type: "number" } },
        required: ["kind", "radius"],
      },
      {
        type: "object",
        properties: { kind: { const: "square" }, side: { type: "number" } },
        required: ["kind", "side"],
      },
    ],
  };

  test("only the branch of the right type is explained", () => {
    const schema = {
      anyOf: [{ type: "string" }, { type: "object", properties: { size: { type: "integer" } } }, { type: "null" }],
    };
    expect(complaints(schema, { size: "x" })).toEqual(["size: must be an integer, got string"]);
  });

  test("only the branch with the right tag is explained", () => {
    expect(complaints(shape, { kind: "square", side: "x" })).toEqual(["side: must be a number, got string"]);
  });

  test("a wrong tag gives a list of all tags", () => {
    expect(complaints(shape, { kind: "line" })).toEqual(['kind: must be one of "circle", "square", got "line"']);
  });

  test("a value of a wrong type gives a list of all types and values", () => {
    expect(complaints({ anyOf: [{ type: "number" }, { type: "string", enum: ["auto", "none"] }] }, true)).toEqual([
      ': must be a number or one of "auto", "none", got boolean',
    ]);
  });

  test("an ambiguous value gives one issue", () => {
    expect(complaints(shape, {})).toEqual([
      ': matches none of the alternatives: (1) is missing the required property "kind" and is missing the required ' +
        'property "radius"; (2) is missing the required property "kind" and is missing the required property "side"',
    ]);
  });

  test("an inner union is collapsed as well", () => {
    const inner = {
      anyOf: [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } }, { type: "null" }],
    };
    expect(complaints(inner, [1])).toEqual(["0: must be a string or null, got number"]);
  });

  test("a value that matches several alternatives of oneOf is reported", () => {
    expect(complaints({ oneOf: [{ type: "number" }, { minimum: 1 }] }, 2)).toEqual([
      ": matches several of the alternatives, but must match exactly one",
    ]);
  });
});

describe("of a condition", () => {
  const schema = {
    $defs: { short: { maxLength: 3 } },
    if: { properties: { kind: { const: "a" } }, required: ["kind"] },
    then: { required: ["name"], properties: { name: { $ref: "#/$defs/short" } } },
    else: { required: ["size"] },
  };
  test("the part that applies is explained", () => {
    expect(complaints(schema, { kind: "a" })).toEqual([': is missing the required property "name"']);
    expect(complaints(schema, { kind: "a", name: "long" })).toEqual(["name: must have at most 3 characters, has 4"]);
    expect(complaints(schema, { kind: "b" })).toContain(': is missing the required property "size"');
  });
  test("also after a reference", () => {
    const referring = {
      properties: { item: { $ref: "#/$defs/it" } },
      $defs: { it: { if: { type: "object" }, then: { required: ["a"] } } },
    };
    expect(complaints(referring, { item: {} })).toEqual(['item: is missing the required property "a"']);
  });
});

test("a schema for additional properties explains what it rejects", () => {
  const schema = { type: "object", additionalProperties: { type: "number" } };
  expect(complaints(schema, { a: "x" })).toEqual(["a: must be a number, got string"]);
});

describe("defaults", () => {
  const schema = {
    type: "object",
    properties: {
      limit: { type: "integer", default: 10 },
      nested: { type: "object", properties: { deep: { type: "string", default: "d" } } },
      filled: { type: "object", default: {}, properties: { tags: { default: ["x"] } } },
      list: { type: "array", items: { type: "object", properties: { on: { type: "boolean", default: true } } } },
      maybe: { anyOf: [{ type: "object", properties: { a: { default: 1 } } }, { type: "null" }] },
      ref: { $ref: "#/$defs/r" },
    },
    $defs: { r: { type: "string", default: "r" } },
    required: ["limit"],
  };
  const validate = jsonSchemaValidator(schema);

  test("are filled in at every level, before validation", () => {
    const value = { nested: {}, list: [{}, { on: false }], maybe: {}, ref: undefined };
    expect(validate(value)).toEqual({
      value: {
        limit: 10,
        nested: { deep: "d" },
        filled: { tags: ["x"] },
        list: [{ on: true }, { on: false }],
        maybe: { a: 1 },
        ref: "r",
      },
    });
  });

  test("never modify the caller's value or the schema", () => {
    const value = Object.freeze({ nested: Object.freeze({}), list: Object.freeze([Object.freeze({})]) });
    const first = validate(value) as { value: { filled: { tags: string[] } } };
    first.value.filled.tags.push("changed");
    expect(validate(value)).toMatchObject({ value: { filled: { tags: ["x"] } } });
    expect(value).toEqual({ nested: {}, list: [{}] });
  });

  test("do not replace given values, including null", () => {
    expect(validate({ limit: null })).toHaveProperty("issues");
    const complete = { limit: 1, filled: { tags: [] }, ref: "x" };
    expect(validate(complete)).toEqual({ value: complete });
    expect((validate(complete) as { value: unknown }).value).toBe(complete);
  });
});

test("a value that contains itself is an issue if the schema follows it", () => {
  const cycle: Record<string, unknown> = {};
  cycle["next"] = cycle;
  const schema = { type: "object", properties: { next: { $ref: "#" }, size: { default: 1 } } };
  expect(complaints(schema, cycle)).toEqual([": is nested too deeply or contains itself"]);
});

test("a hostile value may throw a hostile error", () => {
  const trap = (): never => {
    throw new Proxy({}, { get: trap, getPrototypeOf: trap });
  };
  const value = new Proxy({}, { has: trap, get: trap, ownKeys: trap });
  expect(complaints({ type: "object", required: ["a"] }, value)).toEqual([": could not be checked"]);
});

test("any value is validated by any linted schema", () => {
  const leaf: fc.Arbitrary<JsonSchema> = fc.record(
    {
      type: fc.constantFrom("string", "number", "integer", "boolean", "array", "object", "null"),
      enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 3 }),
      required: fc.subarray(["a", "b", "x"]),
      minimum: fc.integer(),
      minLength: fc.nat(5),
      format: fc.constantFrom("email", "date", "unknown"),
      unevaluatedProperties: fc.boolean(),
      default: fc.jsonValue({ maxDepth: 1 }),
      $ref: fc.constant("#/$defs/leaf"),
    },
    { requiredKeys: [] },
  );
  const holding = (inner: fc.Arbitrary<JsonSchema>): fc.Arbitrary<JsonSchema> => {
    const some = fc.array(inner, { minLength: 1, maxLength: 2 });
    const holder = fc.oneof(
      fc.record({ properties: fc.dictionary(fc.constantFrom("a", "c/d", "constructor"), inner, { maxKeys: 2 }) }),
      fc.record({ items: inner }),
      fc.record({ anyOf: some }),
      fc.record({ oneOf: some }),
      fc.record({ allOf: some }),
      fc.record({ not: inner }),
      fc.record({ if: inner, then: inner }),
      fc.record({ additionalProperties: fc.oneof(fc.boolean(), inner) }),
    );
    return fc.tuple(leaf, holder).map(([own, held]) => ({ ...own, ...held }));
  };
  const schema = holding(holding(leaf));
  const known = fc.dictionary(fc.constantFrom("a", "b", "c/d", "constructor", "x"), fc.anything(), { maxKeys: 4 });
  fc.assert(
    fc.property(schema, fc.oneof(fc.anything(), known), (drawn, value) => {
      const root = { ...drawn, $defs: { leaf: { type: "string", default: "x" } } };
      fc.pre(lintJsonSchema(root).length === 0);
      const result = jsonSchemaValidator(root)(value);
      if (result.issues === undefined) return true;
      return (
        result.issues.length > 0 && result.issues.every(({ message }) => message !== "" && !message.includes("[object"))
      );
    }),
    { numRuns: 300 },
  );
});

test("refuses a text that is too long for a pattern of polynomial time, also inside not", () => {
  const long = "a".repeat(200_000);
  for (const schema of [{ pattern: "^.*.*=$" }, { not: { pattern: "^.*.*=$" } }]) {
    expect(complaints(schema, long)).toEqual([expect.stringContaining("too long for the pattern ^.*.*=$")]);
  }
  expect(complaints({ patternProperties: { "^.*.*=$": false } }, { [long]: 1 })).toHaveLength(1);
});
