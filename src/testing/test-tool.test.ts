import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import { testTool } from "./test-tool.ts";

const good = {
  name: "add",
  description: "Adds two numbers.",
  kind: "readonly",
  parameters: z.object({ a: z.number().describe("first"), b: z.number().describe("second") }),
  run: ({ a, b }: { a: number; b: number }) => a + b,
} as const;
const inputs = [{ a: 1, b: 2 }];

describe("testTool", () => {
  test("returns what it checked of a tool that keeps its contract", async () => {
    const checks = await testTool(createTool(good), { inputs, badInputs: [{ a: "x", b: 1 }] });
    expect(checks.length).toBeGreaterThan(5);
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  });

  test("runs a tool's own examples, and approves what asks", async () => {
    let runs = 0;
    const description = { short: "Adds two numbers.", examples: [{ input: { a: 1, b: 2 } }] };
    await testTool(createTool({ ...good, description, permission: "confirm", run: () => ++runs }));
    expect(runs).toBe(1);
  });

  test.each([
    ["a name that providers refuse", { name: "add.numbers" }, "its name"],
    ["nothing to choose it by", { description: "x" }, "described"],
    [
      "parameters without a description",
      { parameters: z.object({ a: z.number(), b: z.number() }) },
      "no description for: a, b",
    ],
    ["a schema that takes anything", { parameters: z.looseObject({}) }, "an unknown parameter is refused"],
    ["a failure", { run: () => Promise.reject(new Error("no")) }, "it failed: no"],
    ["output that is no data", { run: () => 5n }, "it failed"],
    ["output other than declared", { output: z.string() }, "it failed"],
    ["a permission that wavers", { permission: waver() }, "differ between two askings"],
  ])("fails on %s", async (_what, flaw, why) => {
    const tool = createTool({ ...good, ...flaw } as typeof good);
    await expect(testTool(tool, { inputs })).rejects.toThrow(why);
  });

  test("fails on an input that should be refused and is not", async () => {
    await expect(testTool(createTool(good), { inputs, badInputs: [{ a: 1, b: 2 }] })).rejects.toThrow("bad input 1");
  });
});

function waver(): () => "auto" | "confirm" {
  let requested = 0;
  return () => (requested++ % 2 === 0 ? "auto" : "confirm");
}
