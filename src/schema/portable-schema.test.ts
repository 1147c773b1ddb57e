import { describe, expect, test } from "vitest";
import type { JsonSchema } from "./json-schema.ts";
import { COMMON_RULES, toPortableSchema } from "./portable-schema.ts";

const portable = (schema: JsonSchema): JsonSchema => toPortableSchema(schema, COMMON_RULES).schema;

describe("a portable schema for all providers", () => {
  test("is unchanged if every client supports it", () => {
    const schema = {
      type: "object",
      properties: { path: { type: "string", description: "Where" }, depth: { type: "integer", minimum: 0 } },
      required: ["path"],
      additionalProperties: false,
    };
    expect(portable(schema)).toEqual(schema);
  });

  test("has its references resolved and merged with their sibling keywords", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        home: { $ref: "#/$defs/address", description: "Where one lives" },
        $ref: { type: "string" },
        sample: { const: { $ref: "#/$defs/address" } },
      },
      $defs: { address: { type: "object", properties: { city: { $ref: "#/$defs/name" } } }, name: { type: "string" } },
    };
    expect(portable(schema)).toEqual({
      type: "object",
      properties: {
        home: { type: "object", properties: { city: { type: "string" } }, description: "Where one lives" },
        $ref: { type: "string" },
        sample: { type: "object", enum: [{ $ref: "#/$defs/address" }] },
      },
    });
  });

  test("ends recursion", () => {
    const tree = {
      type: "object",
      properties: { children: { type: "array", items: { $ref: "#/$defs/tree", title: "Tree" } } },
    };
    const schema = { type: "object", properties: { root: { $ref: "#/$defs/tree" } }, $defs: { tree } };
    const again = { type: "object", description: "(the same structure again, as deep as needed)" };
    expect(portable(schema)).toEqual({
      type: "object",
      properties: {
        root: { type: "object", properties: { children: { type: "array", items: again } } },
      },
    });
  });

  test("stays small if references multiply", () => {
    const $defs: Record<string, object> = { l0: { type: "string" } };
    for (let level = 1; level <= 30; level++) {
      const below = { $ref: `#/$defs/l${level - 1}` };
      $defs[`l${level}`] = { type: "object", properties: { a: below, b: below } };
    }
    const schema = { type: "object", properties: { all: { $ref: "#/$defs/l30" } }, $defs };
    expect(JSON.stringify(portable(schema)).length).toBeLessThan(1_000_000);
  });

  test("is one object if the root has alternatives", () => {
    const schema = {
      anyOf: [
        { type: "object", properties: { id: { type: "string" }, by: { const: "id" } }, required: ["by", "id"] },
        { type: "object", properties: { name: { type: "string" }, by: { const: "name" } }, required: ["by", "name"] },
      ],
    };
    expect(portable(schema)).toEqual({
      type: "object",
      properties: {
        id: { type: "string" },
        by: { type: "string", enum: ["id", "name"] },
        name: { type: "string" },
      },
      required: ["by"],
      description: "Give one of these: { by, id } or { by, name }.",
    });
  });

  test("requires what all parts of allOf require", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      allOf: [{ properties: { b: { type: "number" } }, required: ["b"] }, { properties: { c: {} } }],
    };
    expect(portable(schema)).toEqual({
      type: "object",
      properties: { b: { type: "number" }, c: {}, a: { type: "string" } },
      required: ["a", "b"],
    });
  });

  test("has no keyword that clients copy to a header", () => {
    const schema = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
    expect(portable(schema)).toEqual({ type: "object", properties: { region: { type: "string" } } });
  });
});
