import { expect, test } from "vitest";
import { createHaft } from "../runtime.ts";
import { createTool } from "./create-tool.ts";
import type { CallData } from "./call.ts";
import {
  callOf,
  continueCall,
  findGate,
  type Gate,
  gateOf,
  notifyStop,
  onStop,
  runtimeGateOf,
  subagentGateOf,
  unbindGate,
} from "./gate.ts";

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
  first.tools.registry.unregister("look");
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

test("a tool that no runtime has runs in the default one", async () => {
  const tool = make();
  expect(await tool.execute({})).toMatchObject({ status: "completed", details: "seen" });
  const other = gateOf(make());
  expect(other).toBe(gateOf(undefined));
  expect(other).not.toBe(runtimeGateOf(createHaft()));
});

test("a context leads to its call, and a subagent's calls are nested in it and have no more rights", async () => {
  const nested: unknown[] = [];
  const parent = createTool({
    ...{ name: "delegate", description: "Delegates", kind: "readonly", parameters: [] },
    async run(_input, context) {
      expect(callOf(context)).toMatchObject({ id: "c1", caller: { user: "ann" } });
      const gate = subagentGateOf(context, { agent: "helper" });
      nested.push(await gate.execute("look"), await gate.execute("erase"));
    },
  });
  const erase = createTool({ name: "erase", description: "Erases", parameters: [], run: () => "erased" });
  const haft = createHaft({ tools: [make(), erase, parent], policy: { deny: ["erase"] } });
  const begun: unknown[] = [];
  haft.on("tool_call_started", ({ toolName, parentId, caller }) => begun.push({ toolName, parentId, caller }));
  expect(await haft.execute("delegate", {}, { id: "c1", caller: { user: "ann" } })).toMatchObject({ success: true });
  expect(nested).toMatchObject([{ status: "completed" }, { status: "failed", error: { code: "denied" } }]);
  expect(begun).toContainEqual({
    ...{ toolName: "look", parentId: "c1" },
    caller: expect.objectContaining({ user: "ann", agent: "helper", depth: 1 }),
  });
});

test("who asked to be told that a call is stopped is told why", async () => {
  const stop = new AbortController();
  const told: unknown[] = [];
  const tool = createTool({
    ...{ name: "wait", description: "Waits", kind: "readonly", parameters: [] },
    run(_input, context) {
      onStop(context, (why) => told.push(why.code));
      queueMicrotask(() => stop.abort());
      return new Promise<string>((resolve) => context.signal.addEventListener("abort", () => resolve("late")));
    },
  });
  const haft = createHaft({ tools: [tool] });
  expect(await haft.execute("wait", {}, { signal: stop.signal })).toMatchObject({ status: "failed" });
  expect(told).toEqual(["cancelled"]);
  expect(() => notifyStop({}, new Error("nobody listens") as never)).not.toThrow();
});

test("a call that was kept as data goes on as what it was, with its verdict and in its toolkit", async () => {
  const given: unknown[] = [];
  const gate = { execute: async (...all: unknown[]) => void given.push(all) } as unknown as Gate;
  const data: CallData = {
    ...{ callId: "c1", toolName: "look", toolVersion: "1.0.0", requestedName: "look", input: { a: 1 } },
    ...{ caller: { user: "ann", depth: 0 }, options: {}, toolkit: ["look"], idempotent: false },
    verdict: { decision: "allow", by: "rule", reason: "it is allowed" },
  };
  const { registry } = createHaft({ tools: [make()] }).tools;
  await continueCall(gate, registry, data, { kind: "job", id: "a1" });
  const [[name, input, options, binding]] = given as [[string, unknown, unknown, { scope: unknown }]];
  expect([name, input]).toEqual(["look@1.0.0", { a: 1 }]);
  expect(options).toMatchObject({ id: "c1", caller: { user: "ann" } });
  expect(binding.scope).toBeDefined();
  expect(binding).toMatchObject({ secondPass: { kind: "job", id: "a1", verdict: data.verdict } });
});
