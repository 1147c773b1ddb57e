import fc from "fast-check";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** A schema and a value that it accepts. */
export interface Pair {
  schema: JsonSchema;
  value: unknown;
}

const word = fc.stringMatching(/^[a-z]{1,6}$/);
const anyText = fc.string({ unit: "grapheme", maxLength: 8 });

const leaf: fc.Arbitrary<Pair> = fc.oneof(
  anyText.map((value) => ({ schema: { type: "string", maxLength: 64 }, value })),
  word.map((value) => ({ schema: { type: "string", pattern: "^[a-z]+$", minLength: 1 }, value })),
  fc.integer({ min: -50, max: 50 }).map((value) => ({ schema: { type: "integer", minimum: -50, maximum: 50 }, value })),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((value) => ({ schema: { type: "number" }, value: value + 0 })),
  fc.boolean().map((value) => ({ schema: { type: "boolean" }, value })),
  fc.uniqueArray(word, { minLength: 1, maxLength: 3 }).map((list) => ({ schema: { enum: list }, value: list.at(-1) })),
  fc.constantFrom<unknown>("fixed", 7, true).map((value) => ({ schema: { const: value }, value })),
  fc.constant({ schema: { type: "string", format: "date" }, value: "2026-11-15" }),
);

function objectOf(part: fc.Arbitrary<Pair>): fc.Arbitrary<Pair> {
  const property = fc.record({ name: word, part, isRequired: fc.boolean(), isGiven: fc.boolean() });
  return fc
    .record({
      properties: fc.uniqueArray(property, { selector: ({ name }) => name, maxLength: 4 }),
      isClosed: fc.boolean(),
      description: fc.option(word, { nil: undefined }),
    })
    .map(({ properties, isClosed, description }) => {
      const given = properties.filter(({ isRequired, isGiven }) => isRequired || isGiven);
      return {
        schema: {
          type: "object",
          properties: Object.fromEntries(properties.map(({ name, part: { schema } }) => [name, schema])),
          required: properties.filter(({ isRequired }) => isRequired).map(({ name }) => name),
          additionalProperties: isClosed ? false : undefined,
          description,
        },
        value: Object.fromEntries(given.map(({ name, part: { value } }) => [name, value])),
      };
    });
}

function taggedUnion(part: fc.Arbitrary<Pair>, keyword: "oneOf" | "anyOf"): fc.Arbitrary<Pair> {
  return fc.tuple(fc.array(objectOf(part), { minLength: 2, maxLength: 3 }), fc.nat()).map(([forms, chosen]) => ({
    schema: {
      [keyword]: forms.map(({ schema }, at) => ({
        ...schema,
        properties: { ...(schema["properties"] as object), kind: { const: `k${at}` } },
        required: [...(schema["required"] as string[]), "kind"],
      })),
    },
    value: { ...(forms[chosen % forms.length]!.value as object), kind: `k${chosen % forms.length}` },
  }));
}

const { part } = fc.letrec<{ part: Pair }>((tie) => ({
  part: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    objectOf(tie("part")),
    fc.array(tie("part"), { minLength: 1, maxLength: 1 }).map(([only]) => ({
      schema: { type: "array", items: only!.schema },
      value: [only!.value, only!.value],
    })),
    fc.tuple(tie("part"), tie("part")).map((pairs) => ({
      schema: { type: "array", prefixItems: pairs.map(({ schema }) => schema), items: false, minItems: 2 },
      value: pairs.map(({ value }) => value),
    })),
    fc.tuple(tie("part"), fc.boolean()).map(([{ schema, value }, isNull]) => ({
      schema: { anyOf: [schema, { type: "null" }] },
      value: isNull ? null : value,
    })),
    tie("part").map(({ schema, value }) => ({
      schema: { type: "object", additionalProperties: schema },
      value: { some: value },
    })),
    taggedUnion(tie("part"), "anyOf"),
    tie("part").map(({ schema, value }) => ({ schema: { allOf: [schema, { description: "both" }] }, value })),
  ),
}));

/** Schemas of tools: objects and alternatives, merged and by reference. */
export const anyToolSchema: fc.Arbitrary<{ schema: JsonSchema; value: Record<string, unknown> }> = fc
  .oneof(
    objectOf(part),
    taggedUnion(part, "oneOf"),
    taggedUnion(part, "anyOf"),
    objectOf(part).map(({ schema, value }) => ({
      schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { inner: { $ref: "#/$defs/inner" }, again: { $ref: "#/$defs/inner", description: "again" } },
        required: ["inner"],
        $defs: { inner: schema },
      },
      value: { inner: value, again: value },
    })),
  )
  .map(({ schema, value }) => ({ schema, value: value as Record<string, unknown> }));
