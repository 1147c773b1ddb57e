import { expect, test } from "vitest";
import { createHaft } from "../runtime.ts";
import { createTool } from "./create-tool.ts";
import { findGate, gateOf, runtimeGateOf, unbindGate } from "./gate.ts";

const make = () =>
  createTool({ name: "look", description: "Looks", kind: "readonly", parameters: [], run: () => "seen" });

test("a tool of two runtimes runs in the first, under its policy", async () => {
  const tool = make();
  const strict = createHaft({ tools: [tool], policy: { deny: ["look"] } });
  const loose = createHaft({ tools: [tool] });
  expect(gateOf(tool)).toBe(runtimeGateOf(strict));
  expect(await tool.execute({})).toMatchObject({ status: "failed", error: { code: "denied" } });
  expect(await loose.execute("look")).toMatchObject({ status: "completed" });
});

test("only the runtime that a tool runs in can let it go", () => {
  const tool = make();
  const [first, second] = [createHaft({ tools: [tool] }), createHaft({ tools: [tool] })];
  unbindGate(tool, runtimeGateOf(second));
  expect(findGate(tool)).toBe(runtimeGateOf(first));
  first.registry.unregister("look");
  expect(findGate(tool)).toBeUndefined();
});

test("the first owner that has a gate decides, and a copy of a runtime has none", () => {
  const tool = make();
  const [first, second] = [createHaft({ tools: [tool] }), createHaft()];
  expect(findGate(undefined, {}, second, tool)).toBe(runtimeGateOf(second));
  expect(findGate({}, tool, second)).toBe(runtimeGateOf(first));
  expect(runtimeGateOf(Object.create(second))).toBe(runtimeGateOf(second));
  expect(() => runtimeGateOf({ ...second })).toThrow("not a runtime");
});
