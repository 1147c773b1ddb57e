import type { StandardSchema } from "./standard-schema.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { Parameter } from "./read-schema.ts";
import type { Schema } from "./schema.ts";

/** Everything that `toSchema` accepts. */
export type SchemaSource =
  | StandardSchema<unknown, unknown>
  | Schema
  | TypeBox1
  | TypeBox034
  | JsonSchema
  | readonly Parameter[];

/** TypeBox 1.x, inferred from its JSON Schema: naming its own `Static` costs a million instantiations. */
interface TypeBox1 {
  readonly "~kind": string;
}
/** TypeBox 0.34 (`@sinclair/typebox`), whose types carry what they infer to. */
interface TypeBox034 {
  readonly static: unknown;
  readonly params: unknown[];
}

/** What a caller may pass in. */
export type InferInput<S> = Infer<S, "input">;
/** What a tool receives after validation. */
export type InferOutput<S> = Infer<S, "output">;

type Side = "input" | "output";

type Infer<S, K extends Side> = S extends { readonly "~standard": { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly [key in K]: infer Value }
    ? Value
    : unknown
  : S extends Schema<infer Value>
    ? Value
    : S extends TypeBox034
      ? S["static"]
      : S extends readonly Parameter[]
        ? InferParameters<S, K>
        : InferJson<S, K>;

// Parameter lists

type InferParameters<L extends readonly Parameter[], K extends Side> = number extends L["length"]
  ? Record<string, unknown>
  : Flat<
      { [P in L[number] as IsPresent<P, K> extends true ? P["name"] : never]: ParameterValue<P, K> } & {
        [P in L[number] as IsPresent<P, K> extends true ? never : P["name"]]?: ParameterValue<P, K>;
      }
    >;

type IsPresent<P, K extends Side> = P extends { readonly default: {} | null }
  ? K extends "output"
    ? true
    : false
  : P extends { readonly required: false }
    ? false
    : true;

type ParameterValue<P extends Parameter, K extends Side> = P extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : InferJson<{ type: P["type"]; items: P["items"] }, K>;

// JSON Schema literals

/** Counts down; below the last level everything is `unknown`. */
type Below = [never, 0, 1, 2, 3, 4, 5, 6, 7];
type Depth = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

type InferJson<S, K extends Side, D extends Depth = 8> = [D] extends [0]
  ? unknown
  : S extends { readonly "~unsafe": infer Value }
    ? Value
    : S extends { readonly const: infer Value }
      ? Value
      : S extends { readonly enum: readonly (infer Value)[] }
        ? Value
        : S extends { readonly anyOf: readonly (infer Branch)[] } | { readonly oneOf: readonly (infer Branch)[] }
          ? InferJson<Branch, K, Below[D]>
          : S extends { readonly allOf: infer Parts }
            ? InferAll<Parts, K, Below[D]>
            : S extends { readonly type: infer T }
              ? T extends readonly (infer Each)[]
                ? InferType<Each, S, K, D>
                : InferType<T, S, K, D>
              : unknown;

type InferAll<Parts, K extends Side, D extends Depth> = Parts extends readonly [infer First, ...infer Rest]
  ? InferJson<First, K, D> & InferAll<Rest, K, D>
  : unknown;

/** Distributes over `T`, so a list of types becomes a union. */
type InferType<T, S, K extends Side, D extends Depth> = T extends "string"
  ? string
  : T extends "number" | "integer"
    ? number
    : T extends "boolean"
      ? boolean
      : T extends "null"
        ? null
        : T extends "array"
          ? InferItems<S, K, D>
          : T extends "object"
            ? InferObject<S, K, D>
            : unknown;

type InferItems<S, K extends Side, D extends Depth> = S extends { readonly prefixItems: infer Tuple }
  ? InferTuple<Tuple, K, Below[D]>
  : S extends { readonly items: infer Item }
    ? Item extends readonly unknown[]
      ? InferTuple<Item, K, Below[D]>
      : InferJson<Item, K, Below[D]>[]
    : unknown[];

/** A tuple's further items are not inferred. */
type InferTuple<L, K extends Side, D extends Depth> = { -readonly [At in keyof L]: InferJson<L[At], K, D> };

type InferObject<S, K extends Side, D extends Depth> = S extends { readonly properties: infer P }
  ? string extends keyof P
    ? Record<string, unknown>
    : InferProperties<P, RequiredNames<S>, K, D> &
        (S extends { readonly additionalProperties: true | JsonSchema } ? Record<string, unknown> : unknown)
  : S extends { readonly patternProperties: { readonly [pattern: string]: infer Value } }
    ? Record<string, InferJson<Value, K, Below[D]>>
    : Record<string, unknown>;

type RequiredNames<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type InferProperties<P, Required, K extends Side, D extends Depth> = Flat<
  {
    -readonly [N in keyof P as IsGiven<N, P[N], Required, K> extends true ? N : never]: InferJson<P[N], K, Below[D]>;
  } & {
    -readonly [N in keyof P as IsGiven<N, P[N], Required, K> extends true ? never : N]?: InferJson<P[N], K, Below[D]>;
  }
>;

type IsGiven<N, P, Required, K extends Side> = P extends { readonly default: unknown }
  ? K extends "output"
    ? true
    : false
  : P extends { readonly "~optional": true }
    ? false
    : P extends TypeBox1
      ? true
      : N extends Required
        ? true
        : false;

type Flat<T> = { [N in keyof T]: T[N] } & {};
