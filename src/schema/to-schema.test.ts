import { Type as Type034 } from "@sinclair/typebox";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as zm from "zod/mini";
import { z as z3 } from "zod3";
import type { SchemaSource } from "./infer.ts";
import type { Schema, SchemaIssue } from "./schema.ts";
import { toSchema } from "./json-schema-validator.ts";

const TYPEBOX_034 = Type034.Object({ path: Type034.String(), limit: Type034.Optional(Type034.Number()) });

/** The same input, declared with every supported library. */
const SOURCES = {
  "Zod 4": toSchema(z.object({ path: z.string(), limit: z.number().optional() })),
  "Zod Mini": toSchema(zm.object({ path: zm.string(), limit: zm.optional(zm.number()) })),
  "Zod 3": toSchema(z3.object({ path: z3.string(), limit: z3.number().optional() })),
  Valibot: toSchema(v.object({ path: v.string(), limit: v.optional(v.number()) })),
  ArkType: toSchema(type({ path: "string", "limit?": "number" })),
  "TypeBox 1": toSchema(Type.Object({ path: Type.String(), limit: Type.Optional(Type.Number()) })),
  "TypeBox 0.34": toSchema(TYPEBOX_034),
  "JSON Schema": toSchema({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { path: { type: "string" }, limit: { type: "number" } },
    required: ["path"],
  }),
  "a list of parameters": toSchema([
    { name: "path", type: "string" },
    { name: "limit", type: "number", required: false },
  ]),
} satisfies Record<string, Schema>;

async function issuesOf(schema: Schema, value: unknown): Promise<readonly SchemaIssue[]> {
  return (await schema.validate(value)).issues ?? [];
}

function keys(issue: SchemaIssue | undefined): PropertyKey[] {
  return Array.from(issue?.path ?? [], (segment) => (typeof segment === "object" ? segment.key : segment));
}

describe.each(Object.entries(SOURCES))("a schema made from %s", (_, schema: Schema) => {
  test("describes the input", () => {
    expect(schema.jsonSchema).toMatchObject({
      type: "object",
      properties: { path: { type: "string" }, limit: { type: "number" } },
      required: ["path"],
    });
    expect(schema.jsonSchema).not.toHaveProperty("$schema");
    expect(schema.jsonSchema).toBe(schema.jsonSchema);
    expect(JSON.parse(JSON.stringify(schema.jsonSchema))).toMatchObject({ type: "object" });
  });

  test("accepts a good value", async () => {
    expect(await schema.validate({ path: "a", limit: 1 })).toMatchObject({ value: { path: "a", limit: 1 } });
    expect(await schema.validate({ path: "a" })).toMatchObject({ value: { path: "a" } });
  });

  test("reports an issue with the path of a bad value", async () => {
    const issues = await issuesOf(schema, { path: "a", limit: "many" });
    expect(issues).toHaveLength(1);
    expect(keys(issues[0])).toEqual(["limit"]);
    expect(issues[0]?.message).not.toBe("");
  });

  test("does not throw for any hostile value", async () => {
    const cycle: Record<string, unknown> = { path: "a", limit: 1 };
    cycle["self"] = cycle;
    const trap = (): never => {
      throw new Error("trapped");
    };
    const hostile = new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap });
    const throwing = Object.defineProperty({ path: "a" }, "limit", { get: trap, enumerable: true });
    const values = [hostile, throwing, [hostile], () => 1, Symbol("s"), 1n, NaN, null, undefined, Object.create(null)];
    for (const value of values) {
      expect(await issuesOf(schema, value)).not.toHaveLength(0);
    }
    await schema.validate(cycle);
  });

  test("is returned unchanged if it is a Schema", () => {
    expect(toSchema(schema)).toBe(schema);
  });
});

describe("what JSON Schema cannot express", () => {
  test("is described by Zod 4 as far as possible", () => {
    const { jsonSchema } = toSchema(
      z.object({
        at: z.date(),
        later: z.coerce.date().optional(),
        big: z.bigint(),
        text: z.string().transform(Number),
        free: z.custom<URL>(() => true),
        map: z.map(z.string(), z.string()),
        preset: z.number().default(3).describe("A number"),
      }),
    );
    expect(jsonSchema["properties"]).toEqual({
      at: { type: "string", format: "date-time" },
      later: { type: "string", format: "date-time" },
      big: { type: "integer" },
      text: { type: "string" },
      free: {},
      map: {
        type: "array",
        items: { type: "array", prefixItems: [{ type: "string" }, { type: "string" }], minItems: 2, maxItems: 2 },
      },
      preset: { type: "number", default: 3, description: "A number" },
    });
    expect(jsonSchema["required"]).not.toContain("preset");
  });

  test("may be a JSON Schema that Zod has written", async () => {
    const schema = toSchema(z.toJSONSchema(z.object({ to: z.string() })) as SchemaSource);
    expect(schema.jsonSchema).toMatchObject({ properties: { to: { type: "string" } }, required: ["to"] });
    expect((await schema.validate({ to: 7 })).issues).toHaveLength(1);
  });

  test("is described by Zod 3 as far as possible", () => {
    const { jsonSchema } = toSchema(
      z3.object({
        at: z3.date(),
        text: z3.string().transform(Number),
        pair: z3.tuple([z3.string(), z3.number()]).rest(z3.boolean()),
        piped: z3.string().pipe(z3.coerce.number()),
      }),
    );
    expect(jsonSchema["properties"]).toEqual({
      at: { type: "string", format: "date-time" },
      text: { type: "string" },
      pair: {
        type: "array",
        minItems: 2,
        prefixItems: [{ type: "string" }, { type: "number" }],
        items: { type: "boolean" },
      },
      piped: { type: "string" },
    });
  });

  test("is described by Valibot as far as possible", () => {
    const { jsonSchema } = toSchema(
      v.object({
        at: v.date(),
        big: v.bigint(),
        text: v.pipe(v.string(), v.transform(Number)),
        free: v.custom<URL>(() => true),
      }),
    );
    expect(jsonSchema["properties"]).toEqual({
      at: { type: "string", format: "date-time" },
      big: { type: "integer" },
      text: { type: "string" },
      free: {},
    });
  });

  test("is described by ArkType as far as possible", () => {
    const { jsonSchema } = toSchema(
      type({ at: "Date", big: "bigint", text: type("string").pipe((text) => text.length), url: "URL" }),
    );
    expect(jsonSchema["properties"]).toEqual({
      at: { type: "string", format: "date-time" },
      big: { type: "integer" },
      text: { type: "string" },
      url: {},
    });
  });

  test("is an error if a library has no description at all", () => {
    const standard = { version: 1, vendor: "acme", validate: (value: unknown) => ({ value }) } as const;
    expect(() => toSchema({ "~standard": standard }).jsonSchema).toThrow(/acme schema cannot be described.*jsonSchema/);
  });
});

describe("a Standard Schema", () => {
  test("keeps its transforms and defaults", async () => {
    const schema = toSchema(z.object({ text: z.string().transform(Number), limit: z.number().default(3) }));
    expect(await schema.validate({ text: "12" })).toEqual({ value: { text: 12, limit: 3 } });
  });

  test("returns a promise only if it is asynchronous", async () => {
    expect(SOURCES["Zod 4"].validate({ path: "a" })).not.toBeInstanceOf(Promise);
    const later = toSchema(z.string().refine(async (text) => text === "yes"));
    expect(later.validate("no")).toBeInstanceOf(Promise);
    expect(await issuesOf(later, "no")).toHaveLength(1);
    expect(await later.validate("yes")).toEqual({ value: "yes" });
  });

  test("that throws or rejects becomes an issue", async () => {
    const fail = (): never => {
      throw new Error("broken check");
    };
    const broken = { message: expect.stringContaining("broken check") };
    expect(await issuesOf(toSchema(z.string().refine(fail)), "a")).toMatchObject([broken]);
    const standard = { version: 1, vendor: "acme", validate: async () => fail() } as const;
    expect(await issuesOf(toSchema({ "~standard": standard }), "a")).toMatchObject([broken]);
  });
});

describe("a bad source", () => {
  test.each([
    ["a string", "string", /must be an object, got string/],
    ["null", null, /got null/],
    ["true", true, /got boolean/],
    ["a function", () => 1, /got function/],
    ["an object of Zod schemas", { path: z.string() }, /wrap it/],
    ["an object without keywords", { path: "string" }, /no keyword of JSON Schema, only path/],
    ["a Zod before 3.24", { safeParse: () => 1, _def: {} }, /3\.24/],
    ["a Zod schema inside JSON Schema", { type: "object", properties: { a: z.string() } }, /#\/properties\/a/],
    ["a broken JSON Schema", { type: "text", required: "a" }, /#\/type[^]*#\/required/],
    ["a TypeBox Date", Type034.Object({ at: Type034.Date() }), /at\/type.*Type\.String\(\{ format: "date-time" \}\)/],
    ["a TypeBox Transform", Type034.Transform(Type034.String()).Decode(Number).Encode(String), /Transform or Codec/],
    ["a TypeBox Codec", Type.Codec(Type.String()).Decode(Number).Encode(String), /Transform or Codec/],
    ["a nameless parameter", [{ type: "string" }], /parameter 0: must have a name/],
    ["a parameter of no type", [{ name: "a", type: "text" }], /"a" must have one of the types/],
    [
      "a name given twice",
      [
        { name: "a", type: "string" },
        { name: "a", type: "number" },
      ],
      /"a" is already used/,
    ],
    ["a parameter with a broken enum", [{ name: "a", type: "string", enum: [] }], /#\/properties\/a\/enum/],
  ])("is rejected: %s", (_, source, message) => {
    const make = (): Schema => toSchema(source as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });
});

test("recursive TypeBox types of both generations are validated", () => {
  const tree = toSchema(Type.Cyclic({ Node: Type.Object({ next: Type.Optional(Type.Ref("Node")) }) }, "Node"));
  const tree034 = toSchema(Type034.Recursive((Self) => Type034.Object({ next: Type034.Optional(Self) })));
  for (const schema of [tree, tree034]) {
    expect(schema.validate({ next: { next: {} } })).toEqual({ value: { next: { next: {} } } });
    expect(schema.validate({ next: { next: 1 } })).toMatchObject({ issues: [{ path: ["next", "next"] }] });
  }
});

test("a list of parameters respects required, default and enum, and is closed", () => {
  const schema = toSchema([
    { name: "path", type: "string", description: "Where" },
    { name: "limit", type: "integer", default: 10 },
    { name: "mode", type: "string", enum: ["fast", "safe"], required: false },
  ]);
  expect(schema.jsonSchema).toEqual({
    type: "object",
    properties: {
      path: { type: "string", description: "Where" },
      limit: { type: "integer", default: 10 },
      mode: { type: "string", enum: ["fast", "safe"] },
    },
    required: ["path"],
    additionalProperties: false,
  });
  expect(schema.validate({ path: "a" })).toEqual({ value: { path: "a", limit: 10 } });
  expect(schema.validate({ path: "a", mode: "slow", size: 1 })).toMatchObject({
    issues: [{ path: [] }, { path: ["mode"] }],
  });
});
