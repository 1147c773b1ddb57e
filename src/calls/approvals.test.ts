import { expect, test } from "vitest";
import type { Call } from "../core/call.ts";
import { createTool } from "../core/create-tool.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { MemoryApprovalStore } from "./approval.ts";
import { Approvals } from "./approvals.ts";

const tool = createTool({ name: "t", description: "", parameters: [], run: () => 1 });

async function ask(approvals: Approvals): Promise<string> {
  const call = { id: "c", tool, requestedName: "t", caller: { depth: 0 }, options: {}, accepted: {}, input: {} };
  const requested = await approvals.ask(call as unknown as Call, {
    world: {
      verdict: { decision: "ask", by: "tool", reason: "" },
      workspace: "/",
      preview: undefined,
      environment: "",
    },
    input: {},
    shown: undefined,
    suggestedRules: [],
    waits: false,
  });
  if ("full" in requested) throw new Error("full");
  return requested.id;
}

test("a yes is not used while a no that came with it is on its way into a slow store", async () => {
  const memory = new MemoryApprovalStore();
  const slow = Object.assign(Object.create(memory) as MemoryApprovalStore, {
    shared: true,
    add: memory.add.bind(memory),
    get: memory.get.bind(memory),
    current: memory.current.bind(memory),
    change: async (...[id, from, changes]: Parameters<MemoryApprovalStore["change"]>) => {
      if (changes.state === "denied") await new Promise((done) => setTimeout(done, 20));
      return memory.change(id, from, changes);
    },
    prune: () => undefined,
  });
  const approvals = new Approvals({ clock: createFakeClock(), store: slow });
  const id = await ask(approvals);
  const [yes, no] = [approvals.answer(id, { approved: true }), approvals.answer(id, { approved: false })];
  expect(await yes).toMatchObject({ state: "approved" });
  expect(await approvals.take(id)).toBeUndefined();
  expect(await no).toMatchObject({ state: "denied" });
});

test("a reason of any length reaches the model bounded", async () => {
  const approvals = new Approvals({ clock: createFakeClock() });
  const id = await ask(approvals);
  expect((await approvals.answer(id, { approved: false, reason: "x".repeat(100_000) })).note).toHaveLength(4000);
});
