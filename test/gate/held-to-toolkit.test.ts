// What a call leaves to be done later stays in the toolkit that the call was made in, also where nothing is left of it.
import { expect, test } from "vitest";
import { AgentToolkit, createTool, type ToolContext, type ToolResult } from "haft";
import { createTestHaft, type TestHaft } from "haft/testing";
import { toCallData } from "../../src/core/call.ts";
import { bindGate, callOf, continueCall, runtimeGateOf } from "../../src/core/gate.ts";

const keep = (ran: string[]) =>
  createTool({
    name: "keep",
    description: "Keeps",
    kind: "write",
    parameters: [],
    needsApproval: false,
    run: () => void ran.push("keep"),
  });

/** A toolkit that loses its last tool while that runs, as when a server goes away. */
class Vanishing extends AgentToolkit {
  isGone = false;
  override names(): string[] {
    return this.isGone ? [] : super.names();
  }
}

/** Calls a tool that leaves something to be done, in a toolkit of which nothing is left by then. */
async function leaving(
  how: (context: ToolContext, haft: TestHaft) => Promise<ToolResult>,
): Promise<{ ran: string[]; result: ToolResult | undefined }> {
  const ran: string[] = [];
  const haft = createTestHaft({ tools: [keep(ran)] });
  const toolkit = new Vanishing("agent");
  bindGate(toolkit, runtimeGateOf(haft));
  let result: ToolResult | undefined;
  const leave = createTool({
    name: "leave",
    description: "Leaves something to be done",
    kind: "readonly",
    parameters: [],
    async run(_input, context) {
      toolkit.isGone = true;
      result = await how(context, haft);
    },
  });
  toolkit.add(haft.register(leave));
  expect(await toolkit.execute("leave")).toMatchObject({ status: "completed" });
  return { ran, result };
}

test("the authority of a call whose toolkit is empty leaves nothing", async () => {
  const { ran, result } = await leaving(({ authority }, haft) => haft.execute("keep", {}, { ...authority }));
  expect(result).toMatchObject({ error: { code: "denied" } });
  expect(ran).toEqual([]);
});

test("a call that goes on later, whose toolkit is empty, makes no other call", async () => {
  const { ran, result } = await leaving((context, haft) =>
    continueCall(
      runtimeGateOf(haft),
      haft.tools.registry,
      { ...toCallData(callOf(context)), toolName: "keep" },
      { kind: "code", id: "1" },
    ),
  );
  expect(result).toMatchObject({ error: { code: "tool_not_found" } });
  expect(ran).toEqual([]);
});

test("a job whose toolkit is empty when it is queued does not run", async () => {
  const ran: string[] = [];
  const haft = createTestHaft({ tools: [keep(ran)] });
  const toolkit = new Vanishing("agent");
  bindGate(toolkit, runtimeGateOf(haft));
  toolkit.add(haft.tools.registry.get("keep")!);
  toolkit.isGone = true;
  const made = await toolkit.execute("keep", {}, { background: true });
  if (made.status !== "pending") throw new Error(made.display);
  expect(await haft.jobs.wait(made.pending.id)).toMatchObject({ error: { code: "denied" } });
  expect(ran).toEqual([]);
});
