import { describe, expect, test } from "vitest";
import { createTool } from "../core/create-tool.ts";
import { createHaft } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";

function recordingTools() {
  const clock = createFakeClock();
  const haft = createHaft({ clock, concurrency: { maxConcurrent: 20 } });
  const log: string[] = [];
  const add = (name: string, dependsOn: string[] = [], ms = 10, fails = false): void => {
    haft.register(
      createTool({
        name,
        description: "",
        dependsOn,
        aliases: [`${name}_alias`],
        parameters: [{ name: "i", type: "integer", required: false }],
        needsApproval: false,
        run: ({ i }) =>
          new Promise((done, fail) => {
            log.push(`+${name}`);
            clock.after(ms, () => (log.push(`-${name}`), fails ? fail(new Error("no")) : done(`${name}${i ?? ""}`)));
          }),
      }),
    );
  };
  const run = async (...calls: (string | { name: string; input?: unknown; id?: string })[]) => {
    const batch = haft.executeMany(calls.map((call) => (typeof call === "string" ? { name: call } : call)));
    await clock.advance(1000);
    return batch;
  };
  return { haft, add, log, run };
}

describe("a batch", () => {
  test("runs independent calls at once and gives results in call order", async () => {
    const { add, log, run } = recordingTools();
    add("slow", [], 100);
    add("fast", [], 1);
    const results = await run("slow", "fast", { name: "fast", input: { i: 2 } });
    expect(results.map(({ details }) => details)).toEqual(["slow", "fast", "fast2"]);
    expect(log.slice(0, 3)).toEqual(["+slow", "+fast", "+fast"]);
  });

  test("runs a tool after its dependencies in the batch, in any order, also under an alias", async () => {
    const { add, log, run } = recordingTools();
    add("build");
    add("test", ["build_alias"]);
    add("deploy", ["test"]);
    const results = await run("deploy_alias", "test", "build");
    expect(results.map(({ toolName, status }) => [toolName, status])).toEqual([
      ["deploy", "completed"],
      ["test", "completed"],
      ["build", "completed"],
    ]);
    expect(log).toEqual(["+build", "-build", "+test", "-test", "+deploy", "-deploy"]);
  });

  test("does not wait for a dependency that is not in the batch", async () => {
    const { add, run } = recordingTools();
    add("test", ["build"]);
    expect((await run("test"))[0]).toMatchObject({ status: "completed" });
  });

  test("does not run a call that depends on a failure, names that failure, and records it", async () => {
    const { haft, add, log, run } = recordingTools();
    add("build", [], 10, true);
    add("test", ["build"]);
    add("deploy", ["test"]);
    add("other");
    const results = await run("deploy", { name: "build", id: "b" }, "test", "other");
    expect(results.map((result) => (result.status === "failed" ? result.error.code : result.status))).toEqual([
      "dependency_failed",
      "failed",
      "dependency_failed",
      "completed",
    ]);
    expect(results[2]).toMatchObject({
      error: { message: expect.stringContaining('"build" (call b)'), data: { callId: "b" } },
    });
    expect(log).not.toContain("+test");
    expect(await haft.calls.log.recent()).toHaveLength(4);
  });

  test("refuses a cycle and the calls that wait for it, and runs the rest", async () => {
    const { add, run } = recordingTools();
    add("a", ["b"]);
    add("b", ["a"]);
    add("after", ["a"]);
    add("self", ["self"]);
    add("free");
    const results = await run("a", "b", "after", "self", "free");
    expect(results.map((result) => (result.status === "failed" ? result.error.code : result.status))).toEqual([
      "dependency_failed",
      "dependency_failed",
      "dependency_failed",
      "dependency_failed",
      "completed",
    ]);
    expect(results[0]).toMatchObject({ error: { message: expect.stringContaining("depends on itself") } });
  });

  test("answers unknown tools and an empty list", async () => {
    const { add, run } = recordingTools();
    add("a");
    expect((await run("nowhere", "a")).map(({ status }) => status)).toEqual(["failed", "completed"]);
    expect(await run()).toEqual([]);
  });

  test("passes the batch's options to each call, with its own id", async () => {
    const { haft, add } = recordingTools();
    add("a");
    const results = await haft.executeMany([{ name: "a", id: "x" }, { name: "a" }], {
      signal: AbortSignal.abort(),
      caller: { session: "s" },
    });
    expect(results).toMatchObject([{ callId: "x", error: { code: "cancelled" } }, { error: { code: "cancelled" } }]);
    expect(results[1]!.callId).not.toBe("x");
  });
});
