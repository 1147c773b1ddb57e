import { Type as Type034 } from "@sinclair/typebox";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { z } from "zod";
import { z as z3 } from "zod3";
import type { InferInput, InferOutput } from "./infer.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { Parameter } from "./read-schema.ts";
import { toSchema } from "./json-schema-validator.ts";
import type { Schema } from "./schema.ts";

// Checked by the compiler only; nothing here runs.

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Expect<T extends true> = T;
type Output<T> = T extends Schema<infer Value> ? Value : never;

const zod4 = z.object({ path: z.string(), limit: z.number().default(10), at: z.string().transform(Number).optional() });
const zod3 = z3.object({ path: z3.string(), limit: z3.number().default(10) });
const valibot = v.object({ path: v.string(), limit: v.optional(v.number(), 10) });
const arktype = type({ path: "string", "limit?": "number" });
const typebox = Type.Object({ path: Type.String(), limit: Type.Optional(Type.Number()) });
const typeboxMore = Type.Object({
  mode: Type.Union([Type.Literal("fast"), Type.Literal("safe"), Type.Null()]),
  both: Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.Boolean() })]),
  pair: Type.Tuple([Type.String(), Type.Integer()]),
  scores: Type.Record(Type.String(), Type.Number()),
  list: Type.Optional(Type.Array(Type.Object({ at: Type.Integer() }))),
  unit: Type.Enum(["px", "em"]),
  own: Type.Unsafe<URL>({ type: "string" }),
});
const typebox034 = Type034.Object({ path: Type034.String(), limit: Type034.Optional(Type034.Number()) });

export type StandardSchemas = [
  Expect<Equal<InferInput<typeof zod4>, { path: string; limit?: number | undefined; at?: string | undefined }>>,
  Expect<Equal<InferOutput<typeof zod4>, { path: string; limit: number; at?: number | undefined }>>,
  Expect<Equal<InferInput<typeof zod3>, { path: string; limit?: number | undefined }>>,
  Expect<Equal<InferOutput<typeof zod3>, { path: string; limit: number }>>,
  Expect<Equal<InferInput<typeof valibot>, { path: string; limit?: number | undefined }>>,
  Expect<Equal<InferOutput<typeof valibot>, { path: string; limit: number }>>,
  Expect<Equal<InferOutput<typeof arktype>, { path: string; limit?: number }>>,
];

export type TypeBoxes = [
  Expect<Equal<InferOutput<typeof typebox>, { path: string; limit?: number }>>,
  Expect<Equal<InferInput<typeof typebox>, InferOutput<typeof typebox>>>,
  Expect<
    Equal<
      InferOutput<typeof typeboxMore>,
      {
        mode: "fast" | "safe" | null;
        both: { a: string } & { b: boolean };
        pair: [string, number];
        scores: Record<string, number>;
        unit: "px" | "em";
        own: URL;
        list?: { at: number }[];
      }
    >
  >,
  Expect<Equal<InferOutput<typeof typebox034>, { path: string; limit?: number }>>,
];

const list = toSchema([
  { name: "path", type: "string", description: "Where" },
  { name: "depth", type: "integer", required: false },
  { name: "limit", type: "number", default: 10 },
  { name: "mode", type: "string", enum: ["fast", "safe"] },
  { name: "tags", type: "array", items: { type: "string" }, required: false },
  { name: "extra", type: "object", required: false },
]);
const parameters = [
  { name: "path", type: "string" },
  { name: "limit", type: "number", default: 10 },
] as const;

export type Lists = [
  Expect<
    Equal<
      Output<typeof list>,
      {
        path: string;
        limit: number;
        mode: "fast" | "safe";
        depth?: number;
        tags?: string[];
        extra?: Record<string, unknown>;
      }
    >
  >,
  Expect<Equal<InferInput<typeof parameters>, { path: string; limit?: number }>>,
  Expect<Equal<InferOutput<typeof parameters>, { path: string; limit: number }>>,
  Expect<Equal<InferOutput<Parameter[]>, Record<string, unknown>>>,
];

const literal = toSchema({
  type: "object",
  properties: {
    path: { type: "string" },
    limit: { type: "integer", default: 10 },
    mode: { enum: ["fast", "safe"] },
    version: { const: 2 },
    size: { type: ["number", "null"] },
    ranges: { type: "array", items: { type: "object", properties: { from: { type: "number" } }, required: ["from"] } },
    free: { type: "object" },
    either: { anyOf: [{ type: "string" }, { type: "number" }] },
    pair: { type: "array", prefixItems: [{ type: "string" }, { type: "null" }] },
    other: { $ref: "#/$defs/other" },
  },
  required: ["path", "mode", "ranges"],
  $defs: { other: { type: "string" } },
});
declare const wide: JsonSchema;
const open = toSchema({ type: "object", properties: { a: { type: "string" } }, additionalProperties: true });

export type JsonSchemas = [
  Expect<
    Equal<
      Output<typeof literal>,
      {
        path: string;
        limit: number;
        mode: "fast" | "safe";
        ranges: { from: number }[];
        version?: 2;
        size?: number | null;
        free?: Record<string, unknown>;
        either?: string | number;
        pair?: [string, null];
        other?: unknown;
      }
    >
  >,
  Expect<Equal<InferOutput<typeof wide>, unknown>>,
  Expect<Equal<Output<typeof open>, { a?: string } & Record<string, unknown>>>,
];

const made = toSchema(zod4);
const again = toSchema(made);
export type Passed = Expect<Equal<Output<typeof again>, { path: string; limit: number; at?: number | undefined }>>;

// @ts-expect-error a string is not a schema
toSchema("string");
// @ts-expect-error "text" is not a parameter type
toSchema([{ name: "path", type: "text" }]);
// @ts-expect-error a function is not a schema
toSchema(() => true);
// @ts-expect-error `limit` is a number
export const wrong: Output<typeof list>["limit"] = "10";
