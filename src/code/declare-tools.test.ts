import { expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import { declareTools } from "./run-code.ts";

const make = (parameters: z.ZodObject, name = "find", output?: z.ZodType) =>
  createTool({
    name,
    description: "Finds */ things",
    kind: "readonly",
    parameters,
    ...(output ? { output: output as never } : {}),
    run: () => "",
  });

test("a schema becomes the type that a program may pass", () => {
  const parameters = z.object({
    text: z.string().describe("What to find"),
    many: z.number().int().optional(),
    how: z.enum(["exact", "near"]).optional(),
    where: z.array(z.object({ path: z.string() })).optional(),
    either: z.union([z.string(), z.boolean()]).optional(),
    "odd-name": z.record(z.string(), z.number()).optional(),
    nothing: z.null().optional(),
  });
  expect(declareTools([make(parameters)])).toBe(
    "/** Finds * / things */\n" +
      'tools.find(input: { text: string /* What to find */; many?: number; how?: "exact" | "near"; ' +
      'where?: Array<{ path: string }>; either?: string | boolean; "odd-name"?: Record<string, number>; nothing?: null }): Promise<unknown>',
  );
});

test("names that are not identifiers are indexed, and a declared output is included", () => {
  const tool = make(z.object({}), "a-b", z.object({ n: z.number() }));
  expect(declareTools([tool])).toContain('tools["a-b"](input: {}): Promise<{ n: number }>');
});

test("a deeply nested schema is truncated", () => {
  const nested = (depth: number): z.ZodType => (depth === 0 ? z.string() : z.object({ a: nested(depth - 1) }));
  expect(declareTools([make(z.object({ a: nested(20) }))])).toContain("unknown");
});
