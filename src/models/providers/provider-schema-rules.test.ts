import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isObject } from "../../schema/json-schema.ts";
import { toSchema } from "../../schema/json-schema-validator.ts";
import { COMMON_RULES, toPortableSchema } from "../../schema/portable-schema.ts";
import { anyToolSchema } from "./any-schema.fixture.ts";
import {
  ANTHROPIC_RULES,
  ANTHROPIC_STRICT_RULES,
  COMMON_STRICT_RULES,
  GEMINI_RULES,
  MISTRAL_STRICT_RULES,
  OPENAI_RULES,
  OPENAI_STRICT_RULES,
} from "./provider-schema-rules.ts";

const ALL_RULES = {
  ANTHROPIC_RULES,
  ANTHROPIC_STRICT_RULES,
  COMMON_RULES,
  COMMON_STRICT_RULES,
  GEMINI_RULES,
  MISTRAL_STRICT_RULES,
  OPENAI_RULES,
  OPENAI_STRICT_RULES,
};

const FOREIGN = ["$ref", "$defs", "$schema", "allOf", "oneOf", "const", "prefixItems", "not", "if"];

/** Every keyword of a schema with its depth. Property names are not keywords. */
function* keywordsOf(schema: unknown, depth = 0): Generator<{ keyword: string; depth: number }> {
  if (!isObject(schema)) return;
  for (const [keyword, value] of Object.entries(schema)) {
    yield { keyword, depth };
    if (keyword === "properties") for (const part of Object.values(value as object)) yield* keywordsOf(part, depth + 1);
    else if (Array.isArray(value)) for (const part of value) yield* keywordsOf(part, depth + 1);
    else if (keyword !== "default") yield* keywordsOf(value, depth + 1);
  }
}

/** Adds null for missing properties, like a model that must give every property. */
function fillNulls(value: unknown, schema: unknown): unknown {
  if (Array.isArray(value) && isObject(schema)) return value.map((item) => fillNulls(item, schema["items"]));
  if (!isObject(value) || !isObject(schema) || !isObject(schema["properties"])) return value;
  const { properties } = schema;
  return Object.fromEntries(
    Object.keys(properties).map((name) => [
      name,
      Object.hasOwn(value, name) ? fillNulls(value[name], (properties as Record<string, unknown>)[name]) : null,
    ]),
  );
}

describe.each(Object.entries(ALL_RULES))("by %s", (_name, rules) => {
  test("accepts every input that the tool accepts, has no composition at the root, and no unsupported keyword", () => {
    fc.assert(
      fc.property(anyToolSchema, ({ schema, value }) => {
        const { schema: shown, blockers } = toPortableSchema(schema, rules);
        expect(shown["type"]).toBe("object");
        const used = [...keywordsOf(shown)];
        const dropped = ["default", "minLength", "maxLength"].filter((keyword) => !rules.keywords.has(keyword));
        const foreign = used.filter(({ keyword }) => FOREIGN.includes(keyword) || dropped.includes(keyword));
        expect([...foreign, ...used.filter(({ keyword, depth }) => depth === 0 && keyword === "anyOf")]).toEqual([]);
        // A strict schema with a blocker is not used. A choice cannot be filled without knowing the selected one.
        if (blockers.length > 0 || (rules.allRequired && JSON.stringify(shown).includes("anyOf"))) return;
        const input = rules.allRequired ? fillNulls(value, shown) : value;
        expect(new Validator(shown as object, "2020-12").validate(input)).toMatchObject({ valid: true });
      }),
      { numRuns: 60 },
    );
  });
});

describe("a portable schema", () => {
  test("merges alternatives at the root into one object and describes which properties go together", () => {
    const schema = toSchema(
      z.discriminatedUnion("action", [
        z.object({ action: z.literal("read"), path: z.string() }),
        z.object({ action: z.literal("write"), path: z.string(), text: z.string() }),
      ]),
    ).jsonSchema;
    const { schema: shown, simplified } = toPortableSchema(schema, COMMON_RULES);
    expect(shown).toMatchObject({
      type: "object",
      properties: {
        action: { enum: ["read", "write"], type: "string" },
        path: { type: "string" },
        text: { type: "string" },
      },
      required: ["action", "path"],
      description: "Give one of these: { action, path } or { action, path, text }.",
    });
    expect(simplified).toEqual([{ path: "#", what: "2 alternatives were merged into one object" }]);
  });

  const tree = {
    type: "object",
    properties: { root: { $ref: "#/$defs/node" } },
    $defs: {
      node: {
        type: "object",
        properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
        required: ["name"],
      },
    },
  };

  test("keeps recursion if the provider supports references", () => {
    const { schema, simplified } = toPortableSchema(tree, OPENAI_RULES);
    expect(simplified).toEqual([]);
    const deep = { root: { name: "a", children: [{ name: "b", children: [{ name: "c", children: [{ name: 7 }] }] }] } };
    const validator = new Validator(schema as object, "2020-12");
    expect(validator.validate(deep).valid).toBe(false);
    deep.root.children[0]!.children[0]!.children[0]!.name = "d" as never;
    expect(validator.validate(deep).valid).toBe(true);
  });

  test("truncates recursion otherwise, and reports it", () => {
    const { schema, simplified } = toPortableSchema(tree, COMMON_RULES);
    expect(JSON.stringify(schema)).not.toContain("$ref");
    expect(simplified).toEqual([
      {
        path: "#/properties/root/properties/children/items",
        what: "is recursive; this level is shown without its details",
      },
    ]);
    expect(toPortableSchema(tree, ANTHROPIC_STRICT_RULES).blockers).toContain("the schema is recursive");
  });

  test("terminates for mutually recursive choices and for a schema that grows without bounds", () => {
    const loop = {
      type: "object",
      properties: { next: { anyOf: [{ $ref: "#" }, { type: "null" }], properties: {} } },
    };
    expect(toPortableSchema(loop, COMMON_RULES).simplified.length).toBeGreaterThan(0);
    const $defs: Record<string, object> = { d30: { type: "string" } };
    for (let at = 0; at < 30; at++) {
      const ref = { $ref: `#/$defs/d${at + 1}` };
      $defs[`d${at}`] = { type: "object", properties: { a: ref, b: ref } };
    }
    const { simplified } = toPortableSchema(
      { type: "object", properties: { d: { $ref: "#/$defs/d0" } }, $defs },
      COMMON_RULES,
    );
    expect(simplified.map(({ what }) => what).join()).toContain("too large to be shown completely");
  });

  test("merges the parts of allOf", () => {
    const schema = {
      allOf: [
        { type: "object", properties: { n: { type: "number", minimum: 1 } }, required: ["n"] },
        { properties: { n: { type: "integer", minimum: 5, maximum: 9 }, s: { enum: ["a", "b"] } } },
        { properties: { s: { enum: ["b", "c"] } }, additionalProperties: false },
      ],
    };
    expect(toPortableSchema(schema, COMMON_RULES).schema).toEqual({
      type: "object",
      properties: { n: { type: "integer", minimum: 5, maximum: 9 }, s: { type: "string", enum: ["b"] } },
      required: ["n"],
      additionalProperties: false,
    });
  });

  test("describes unsupported keywords in words, and reports what cannot be described", () => {
    const schema = {
      type: "object",
      properties: {
        at: { type: "string", format: "uri", description: "Where", pattern: "^https" },
        n: { type: "integer", exclusiveMinimum: 0, default: 3 },
        only: { enum: [1, 2] },
        tags: { type: "array", uniqueItems: true },
      },
      if: { required: ["at"] },
      then: { properties: { extra: { type: "string" } } },
      dependentRequired: { n: ["at"] },
    };
    const { schema: shown, simplified } = toPortableSchema(schema, GEMINI_RULES);
    expect(shown["properties"]).toEqual({
      at: { type: "string", pattern: "^https", description: "Where (format: uri)" },
      n: { type: "integer", description: "(exclusiveMinimum: 0, default: 3)" },
      only: { type: "integer", description: "(one of 1, 2)" },
      tags: { type: "array", items: {}, description: "(uniqueItems: true)" },
      extra: { type: "string" },
    });
    expect(simplified.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["#/properties/at", "#/properties/n", "#/if", "#/dependentRequired"]),
    );
  });

  test("is cached per schema", () => {
    expect(toPortableSchema(tree, COMMON_RULES)).toBe(toPortableSchema(tree, COMMON_RULES));
  });
});
