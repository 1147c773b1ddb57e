import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createHaft } from "../runtime.ts";
import { createChain } from "./chain.ts";
import { createTool } from "./create-tool.ts";
import { textOf } from "./content.ts";

/** Tools that record each of their runs. */
function recordingTools() {
  const runs: string[] = [];
  const add = createTool({
    name: "add",
    description: "",
    parameters: z.object({ n: z.number(), by: z.number().default(1) }),
    needsApproval: false,
    run: ({ n, by }) => (runs.push(`add ${n}`), { n: n + by }),
  });
  const double = createTool({
    name: "double",
    description: "",
    parameters: z.object({ n: z.number() }),
    needsApproval: false,
    run: ({ n }) => (runs.push(`double ${n}`), { n: n * 2 }),
  });
  const broken = createTool({
    name: "broken",
    description: "",
    parameters: z.looseObject({}),
    needsApproval: false,
    run: () => {
      runs.push("broken");
      throw new Error("it broke");
    },
  });
  const careful = createTool({
    name: "careful",
    description: "",
    parameters: z.object({ n: z.number() }),
    permission: "confirm",
    run: ({ n }) => (runs.push(`careful ${n}`), { n: n + 100 }),
  });
  const haft = createHaft({ tools: [add, double, broken, careful] });
  const chain = (...steps: Parameters<typeof createChain>[0]["steps"]) =>
    haft.register(createChain({ name: "chain", description: "", parameters: z.object({ n: z.number() }), steps }));
  return { haft, runs, chain };
}

describe("a chain", () => {
  test("passes each step the details of the previous one, and returns the last", async () => {
    const { haft, chain, runs } = recordingTools();
    chain({ tool: "add" }, { tool: "double" }, { tool: "add" });
    expect(await haft.execute("chain", { n: 1 })).toMatchObject({
      status: "completed",
      details: { n: 5 },
      metadata: { steps: 3 },
    });
    expect(runs).toEqual(["add 1", "double 2", "add 4"]);
  });

  test("maps the input of a step from the chain's input and from all results so far", async () => {
    const { haft, chain } = recordingTools();
    chain(
      { tool: "add" },
      { tool: "double" },
      {
        tool: "add",
        input: (previous, input, results) => ({
          n: (previous!.details as { n: number }).n,
          by: (input as { n: number }).n * 100 + (results[0]!.details as { n: number }).n * 1000,
        }),
      },
    );
    expect(await haft.execute("chain", { n: 1 })).toMatchObject({ details: { n: 4 + 100 + 2000 } });
  });

  test("runs each step through the gate, as a nested call of the chain", async () => {
    const { haft, chain } = recordingTools();
    chain({ tool: "add" }, { tool: "double" });
    await haft.execute("chain", { n: 1 }, { id: "c", caller: { user: "u" } });
    expect(await haft.calls.log.recent()).toMatchObject([
      { callId: "c/1", parentId: "c", toolName: "add", caller: { user: "u" } },
      { callId: "c/2", parentId: "c", toolName: "double" },
      { callId: "c", toolName: "chain" },
    ]);
  });

  test("reports its progress", async () => {
    const { haft, chain } = recordingTools();
    chain({ tool: "add" }, { tool: "double" });
    const progress: unknown[] = [];
    await haft.execute("chain", { n: 1 }, { onUpdate: (update) => void progress.push(update.progress) });
    expect(progress).toEqual([
      { done: 1, total: 2, message: "add" },
      { done: 2, total: 2, message: "double" },
    ]);
  });

  test("stops at the first failure, and reports the step and the reason", async () => {
    const { haft, chain, runs } = recordingTools();
    chain({ tool: "add" }, { tool: "broken" }, { tool: "double" });
    const result = await haft.execute("chain", { n: 1 });
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "failed", message: "Step 2 of 3 (broken) failed: it broke", data: { step: 2, tool: "broken" } },
      metadata: { stoppedAt: 2, steps: 3 },
    });
    expect(runs).toEqual(["add 1", "broken"]);
  });

  test.each([
    ["a tool that does not exist", { tool: "nowhere" }, "tool_not_found"],
    ["an input that does not fit", { tool: "add", input: () => ({ n: "x" }) }, "invalid_input"],
  ])("says where it stopped at %s", async (_what, step, code) => {
    const { haft, chain } = recordingTools();
    chain({ tool: "add" }, step);
    const result = await haft.execute("chain", { n: 1 });
    expect(result).toMatchObject({ error: { code } });
    expect(textOf(result.content)).toMatch(/^Step 2 of 2/);
  });

  test("names the step whose input could not be made", async () => {
    const { haft, chain } = recordingTools();
    chain(
      { tool: "add" },
      {
        tool: "double",
        input: () => {
          throw new Error("no field of that name");
        },
      },
    );
    const result = await haft.execute("chain", { n: 1 });
    expect(textOf(result.content)).toMatch(/step 2 of 2 \(double\).*no field of that name/);
  });

  test("is pending while a step is, and continues under the same call id without repeating finished steps", async () => {
    const { haft, chain, runs } = recordingTools();
    chain({ tool: "add" }, { tool: "careful" }, { tool: "double" });
    const first = await haft.execute("chain", { n: 1 }, { id: "c", caller: { session: "s" } });
    expect(first).toMatchObject({ status: "pending", pending: { kind: "approval" }, metadata: { stoppedAt: 2 } });
    expect(textOf(first.content)).toMatch(/^Step 2 of 3 \(careful\) is pending/);
    expect(runs).toEqual(["add 1"]);
    const again = await haft.execute("chain", { n: 1 }, { id: "c", caller: { session: "s" } });
    expect(again).toMatchObject({ status: "pending", pending: first.status === "pending" ? first.pending : {} });
    await haft.approvals.approve(first.status === "pending" ? first.pending.id : "");
    expect(runs).toEqual(["add 1", "careful 2"]);
    expect(await haft.execute("chain", { n: 1 }, { id: "c", caller: { session: "s" } })).toMatchObject({
      status: "completed",
      details: { n: 204 },
    });
    expect(runs).toEqual(["add 1", "careful 2", "double 102"]);
  });

  test("ends with the reason if the pending step was denied", async () => {
    const { haft, chain, runs } = recordingTools();
    chain({ tool: "careful" }, { tool: "double" });
    const first = await haft.execute("chain", { n: 1 }, { id: "c", caller: { session: "s" } });
    await haft.approvals.save(first.status === "pending" ? first.pending.id : "", {
      approved: false,
      reason: "not today",
    });
    const result = await haft.execute("chain", { n: 1 }, { id: "c", caller: { session: "s" } });
    expect(result).toMatchObject({ status: "failed", error: { code: "approval_denied" } });
    expect(textOf(result.content)).toContain("not today");
    expect(runs).toEqual([]);
  });

  test("stops when it is cancelled", async () => {
    const { haft, chain, runs } = recordingTools();
    const controller = new AbortController();
    chain(
      { tool: "add" },
      { tool: "double", input: (previous) => (controller.abort(), previous!.details) },
      { tool: "add" },
    );
    expect(await haft.execute("chain", { n: 1 }, { signal: controller.signal })).toMatchObject({
      error: { code: "cancelled" },
    });
    expect(runs).toEqual(["add 1"]);
  });

  test("applies the call's policy and plan mode at every step", async () => {
    const { haft, chain, runs } = recordingTools();
    chain({ tool: "add" }, { tool: "double" });
    expect(await haft.execute("chain", { n: 1 }, { policy: { deny: ["double"] } })).toMatchObject({
      error: { code: "denied" },
    });
    expect(await haft.execute("chain", { n: 1 }, { mode: "plan" })).toMatchObject({ error: { code: "plan_mode" } });
    expect(runs).toEqual(["add 1"]);
  });

  test("needs a step", () => {
    expect(() => createChain({ name: "empty", description: "", parameters: [], steps: [] })).toThrow(
      /"empty" needs at least one step/,
    );
  });
});
