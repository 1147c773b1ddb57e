import { Type as Type034 } from "@sinclair/typebox";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { z } from "zod";
import { z as z3 } from "zod3";
import type { SchemaSource } from "../schema/infer.ts";
import { createChain } from "./chain.ts";
import { createTool } from "./create-tool.ts";
import { jsonResult, type ToolResult } from "./result.ts";
import type { AnyTool, Tool } from "./tool.ts";

// Checked by the compiler only; nothing here runs.

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Expect<T extends true> = T;
type InputOf<T> = T extends Tool<infer Input, infer _D, infer _R> ? Input : never;
type DetailsOf<T> = T extends Tool<infer _I, infer Details, infer _R> ? Details : never;
type Sent<T extends AnyTool> = Parameters<T["execute"]>[0];

const base = { name: "t", description: "d" } as const;

const zod4 = createTool({
  ...base,
  parameters: z.object({ path: z.string(), limit: z.number().default(10), at: z.string().transform(Number) }),
  run: ({ path, limit, at }) => ({ path, sum: limit + at }),
});
const zod3 = createTool({
  ...base,
  inputSchema: z3.object({ path: z3.string(), limit: z3.number().default(10) }),
  execute: async ({ path, limit }) => path.repeat(limit),
});
const valibot = createTool({ ...base, schema: v.object({ n: v.optional(v.number(), 1) }), run: ({ n }) => n });
const arktype = createTool({
  ...base,
  parameters: type({ path: "string", "limit?": "number" }),
  run: (input) => input,
});
const typebox = createTool({ ...base, parameters: Type.Object({ a: Type.String() }), run: ({ a }) => [a] });
const typebox034 = createTool({
  ...base,
  parameters: Type034.Object({ a: Type034.String() }),
  run: ({ a }) => a.length,
});
const json = createTool({
  ...base,
  parameters: {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "array", items: { enum: ["x", "y"] } } },
    required: ["a"],
  },
  run: ({ a, b }) => ({ a, b }),
});
const list = createTool({
  ...base,
  parameters: [
    { name: "a", type: "string" },
    { name: "n", type: "integer", default: 3 },
    { name: "flag", type: "boolean", required: false },
  ],
  run: ({ a, n, flag }) => (flag ? a : n),
});
const none = createTool({ ...base, parameters: [], run: () => undefined });

export type Inputs = [
  Expect<Equal<InputOf<typeof zod4>, { path: string; limit: number; at: number }>>,
  Expect<Equal<Sent<typeof zod4>, { path: string; limit?: number | undefined; at: string }>>,
  Expect<Equal<InputOf<typeof zod3>, { path: string; limit: number }>>,
  Expect<Equal<Sent<typeof zod3>, { path: string; limit?: number | undefined }>>,
  Expect<Equal<InputOf<typeof valibot>, { n: number }>>,
  Expect<Equal<InputOf<typeof arktype>, { path: string; limit?: number }>>,
  Expect<Equal<InputOf<typeof typebox>, { a: string }>>,
  Expect<Equal<InputOf<typeof typebox034>, { a: string }>>,
  Expect<Equal<InputOf<typeof json>, { a: string; b?: ("x" | "y")[] }>>,
  Expect<Equal<InputOf<typeof list>, { a: string; n: number; flag?: boolean }>>,
  Expect<Equal<Sent<typeof list>, { a: string; n?: number; flag?: boolean }>>,
];

const generator = createTool({
  ...base,
  parameters: [],
  async *run() {
    yield "an update";
    return { done: true };
  },
});
const shaped = createTool({ ...base, parameters: [], run: () => jsonResult({ n: 1 }) });
const declared = createTool({ ...base, parameters: [], output: z.object({ n: z.number() }), run: () => "whatever" });
const declaredOld = createTool({ ...base, parameters: [], outputSchema: z.string(), run: async () => "text" });

export type Details = [
  Expect<Equal<DetailsOf<typeof zod4>, { path: string; sum: number }>>,
  Expect<Equal<DetailsOf<typeof zod3>, string>>,
  Expect<Equal<DetailsOf<typeof list>, string | number>>,
  Expect<Equal<DetailsOf<typeof none>, undefined>>,
  Expect<Equal<DetailsOf<typeof generator>, { done: boolean }>>,
  Expect<Equal<DetailsOf<typeof shaped>, { n: number }>>,
  Expect<Equal<DetailsOf<typeof declared>, { n: number }>>,
  Expect<Equal<DetailsOf<typeof declaredOld>, string>>,
  Expect<Equal<Awaited<ReturnType<typeof zod4.execute>>, ToolResult<{ path: string; sum: number }>>>,
];

/** Functions of the configuration get the schema's output type. */
export const typed = createTool({
  ...base,
  parameters: z.object({ path: z.string(), limit: z.number().default(1) }),
  kind: "write",
  limits: { timeoutMs: ({ limit }) => limit * 2 },
  locks: ({ path }) => [path.toUpperCase()],
  permission: ({ limit }) => (limit > 5 ? "confirm" : "auto"),
  signature: ({ path }) => path,
  rule: ({ path }) => path,
  validate: ({ limit }) => (limit > 9 ? "too much" : null),
  run: ({ path }) => path,
});

export const mistakes = [
  // @ts-expect-error There is no such kind.
  createTool({ ...base, parameters: [], kind: "read", run: () => 1 }),
  // @ts-expect-error The schema has no such parameter.
  createTool({ ...base, parameters: z.object({ a: z.string() }), run: ({ b }) => b }),
  // @ts-expect-error An entry of a list needs a known type.
  createTool({ ...base, parameters: [{ name: "a", type: "text" }], run: () => 1 }),
  // @ts-expect-error A description is not optional.
  createTool({ name: "t", parameters: [], run: () => 1 }),
];

export async function callers(): Promise<void> {
  // @ts-expect-error The path is missing.
  await zod4.execute({ at: "5" });
  // @ts-expect-error Before the transformation it is a string.
  await zod4.execute({ path: "a", at: 5 });
  const result = await zod4.execute({ path: "a", at: "5" });
  if (result.status === "completed") result.details.sum.toFixed();
  if (result.status === "failed") result.error.code satisfies string;
  // @ts-expect-error A pending result is no failure: it has no `success`.
  void result.success;
  zod4.build({ path: "a", at: "1" }).params.limit.toFixed();
}

const chain = createChain({ ...base, parameters: z.object({ a: z.string() }), steps: [{ tool: "x" }] });
export type Chains = [Expect<Equal<InputOf<typeof chain>, { a: string }>>];

/** A registry accepts tools of every type, and a configuration that is built in steps. */
export const registered: AnyTool[] = [
  zod4,
  zod3,
  valibot,
  arktype,
  typebox,
  typebox034,
  json,
  list,
  none,
  generator,
  declared,
];
export function built(parameters: SchemaSource): AnyTool {
  return createTool({ ...base, parameters, run: () => 1 });
}
