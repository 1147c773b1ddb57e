import { describe, expect, test } from "vitest";
import { failed } from "../../src/core/result.ts";
import { createTool } from "../../src/core/create-tool.ts";
import { failureOf } from "../../src/core/error.ts";
import type { Middleware, StageName } from "../../src/core/stage.ts";
import { createHaft } from "../../src/runtime.ts";

function start(...middleware: Middleware[]) {
  let runs = 0;
  const tool = createTool({ name: "work", description: "", parameters: [], needsApproval: false, run: () => ++runs });
  return { haft: createHaft({ tools: [tool], middleware }), runs: () => runs };
}

const PLACES: StageName[] = ["record", "resolve", "visible", "validate", "known", "permit", "claim", "admit", "bound"];

describe("a host's middleware", () => {
  test("stands after the stage that it names, and is left in reverse order", async () => {
    const order: string[] = [];
    const at = (after: StageName): Middleware => ({
      name: `mine-${after}`,
      after,
      enter: () => void order.push(`in ${after}`),
      leave: (_call, result) => (order.push(`out ${after}`), result),
    });
    const { haft } = start(at("permit"), at("record"), at("validate"));
    await haft.execute("work");
    expect(order).toEqual(["in record", "in validate", "in permit", "out permit", "out validate", "out record"]);
  });

  test("may answer instead of the tool, which then does not run", async () => {
    const { haft, runs } = start({
      name: "no",
      after: "validate",
      enter: (call) => failed(call, failureOf("denied", "not now")),
    });
    expect(await haft.execute("work")).toMatchObject({ error: { code: "denied", message: "not now" } });
    expect(runs()).toBe(0);
    expect(await haft.calls.log.recent()).toHaveLength(1);
  });

  test("may change the result, and add to what its metadata says", async () => {
    const { haft } = start({
      name: "stamp",
      after: "bound",
      leave: async (_call, result) => ({ ...result, metadata: { ...result.metadata, stamp: 1 } }),
    });
    expect(await haft.execute("work")).toMatchObject({ status: "completed", metadata: { stamp: 1 } });
  });

  test("is refused at a place that there is not", () => {
    expect(() => start({ name: "lost", after: "nowhere" as StageName })).toThrow(
      /"lost" cannot be placed after "nowhere".*record/,
    );
  });

  test.each(PLACES)("that throws or rejects after %s fails the call and nothing else", async (after) => {
    const boom = (): never => {
      throw new Error("boom");
    };
    for (const broken of [
      { enter: boom },
      { enter: () => Promise.reject(new Error("boom")) },
      { leave: boom },
      { leave: () => Promise.reject(new Error("boom")) },
    ]) {
      const { haft } = start({ name: "broken", after, ...broken });
      expect(await haft.execute("work")).toMatchObject({ status: "failed", error: { message: "boom" } });
      expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
    }
  });

  test("whose `ended` throws harms no call, run or refused", async () => {
    const { haft } = start({
      name: "broken",
      after: "bound",
      ended() {
        throw new Error("boom");
      },
    });
    expect(await haft.execute("work")).toMatchObject({ status: "completed" });
    expect(await haft.execute("nowhere")).toMatchObject({ error: { code: "tool_not_found" } });
  }, 3000);

  test("stands around the tool's code where it says so", async () => {
    const order: string[] = [];
    const around = (name: string): Middleware => ({
      name,
      after: "admit",
      around: () => (run) => {
        order.push(`before ${name}`);
        const value = run();
        order.push(`after ${name}`);
        return value;
      },
    });
    const { haft, runs } = start(around("a"), around("b"));
    expect(await haft.execute("work")).toMatchObject({ details: 1 });
    expect(order).toEqual(["before a", "before b", "after b", "after a"]);
    expect(runs()).toBe(1);
  });
});
