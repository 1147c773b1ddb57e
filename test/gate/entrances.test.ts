import { describe, expect, test } from "vitest";
import { createChain } from "../../src/core/chain.ts";
import { createTool } from "../../src/core/create-tool.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { AnyTool, ToolContext } from "../../src/core/tool.ts";
import { createHaft, type Haft } from "../../src/runtime.ts";

/**
 * Every way to run a tool. Whoever adds one adds it here: a denied tool never runs, an asked one is pending, and every
 * call is recorded, wherever it comes from.
 */
const ENTRANCES: Record<string, (haft: Haft, tool: AnyTool) => Promise<ToolResult>> = {
  "the library": (haft, { name }) => haft.execute(name, { n: 1 }),
  "the executor": (haft, { name }) => haft.executor.execute(name, { n: 1 }),
  "an alias": (haft, { aliases }) => haft.execute(aliases[0]!, { n: 1 }),
  "another spelling": (haft, { name }) => haft.execute(name.toUpperCase(), { n: 1 }),
  "a version": (haft, { name }) => haft.execute(`${name}@1`, { n: 1 }),
  "JSON text": (haft, { name }) => haft.execute(name, '{"n":1}'),
  "a batch": async (haft, { name }) => (await haft.executeMany([{ name, input: { n: 1 } }]))[0]!,
  "the tool itself": (_haft, tool) => tool.execute({ n: 1 }),
  "a built invocation": (_haft, tool) => tool.build({ n: 1 }).execute(),
  "a toolkit": (haft, { name }) => haft.toolkit("agent", [name]).executeTool(name, { n: 1 }),
  "a toolkit that was given the tool": (haft, tool) => {
    const toolkit = haft.toolkit("agent");
    toolkit.addTool(tool);
    return toolkit.executeTool(tool.name, { n: 1 });
  },
  "a nested call": (haft, { name }) => haft.execute("caller", { name }),
  "a chain's step": (haft) => haft.execute("chain", { n: 1 }),
};

function start(permission: "auto" | "confirm", denied: boolean) {
  let runs = 0;
  const tool = createTool({
    name: "danger",
    description: "",
    aliases: ["peril"],
    parameters: [{ name: "n", type: "integer" }],
    permission,
    run: () => ++runs,
  });
  const haft = createHaft({
    ...(denied ? { policy: { deny: ["danger"] } } : {}),
    tools: [
      tool,
      createTool({
        name: "caller",
        description: "",
        parameters: [{ name: "name", type: "string" }],
        run: ({ name }, context: ToolContext) => context.call(name, { n: 1 }),
      }),
      createChain({
        name: "chain",
        description: "",
        parameters: [{ name: "n", type: "integer" }],
        steps: [{ tool: "danger" }],
      }),
    ],
  });
  return { haft, tool, runs: () => runs };
}

const recorded = async (haft: Haft): Promise<unknown[]> =>
  (await haft.log.recent())
    .filter(({ toolName }) => toolName === "danger")
    .map(({ status, errorCode }) => errorCode ?? status);

describe.each(Object.keys(ENTRANCES))("through %s", (entrance) => {
  const enter = ENTRANCES[entrance]!;

  test("an allowed tool runs once, and is recorded", async () => {
    const { haft, tool, runs } = start("auto", false);
    expect(await enter(haft, tool)).toMatchObject({ status: "completed" });
    expect(runs()).toBe(1);
    expect(await recorded(haft)).toEqual(["completed"]);
    expect(haft.getStats().callStats["danger"]).toMatchObject({ count: 1 });
  });

  test("a denied tool never runs, and that is recorded", async () => {
    const { haft, tool, runs } = start("auto", true);
    const events: string[] = [];
    haft.on("tool_call_failed", ({ error }) => void events.push(error.code));
    expect(await enter(haft, tool)).toMatchObject({ status: "failed", error: { code: "denied" } });
    expect(runs()).toBe(0);
    expect(await recorded(haft)).toEqual(["denied"]);
    expect(events).toContain("denied");
  });

  test("a tool that must ask is pending, and runs once when it is approved", async () => {
    const { haft, tool, runs } = start("confirm", false);
    const result = await enter(haft, tool);
    expect(result).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    expect(runs()).toBe(0);
    expect(await recorded(haft)).toEqual(["pending"]);
    await haft.approve(result.status === "pending" ? result.pending.id : "");
    expect(runs()).toBe(1);
  });

  test("a runtime that shuts down runs nothing", async () => {
    const { haft, tool, runs } = start("auto", false);
    haft.shutdown();
    expect(await enter(haft, tool)).toMatchObject({ status: "failed", error: { code: "shutdown" } });
    expect(runs()).toBe(0);
  });
});
