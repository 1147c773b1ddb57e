import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import { toolError } from "../core/error.ts";
import type { Middleware } from "../core/stage.ts";
import { MemoryCallStore } from "../calls/call-store.ts";
import type { HaftOptions } from "../haft.ts";
import { createHaft } from "../runtime.ts";

const caller = { session: "s", user: "ann" };

/** A tool that counts its effects. While it is down, its input cannot be checked: its plugin does not start. */
function payTool({ asks = false } = {}) {
  const paid: number[] = [];
  const pay = createTool({
    name: "pay",
    description: "Pays.",
    inputSchema: z.object({ amount: z.number() }),
    isReadOnly: false,
    needsApproval: asks,
    execute: ({ amount }) => {
      paid.push(amount);
      return `paid ${amount}`;
    },
  });
  const down = { isDown: false };
  const middleware: Middleware = {
    name: "plugin",
    after: "visible",
    enter() {
      if (down.isDown) throw toolError("unavailable", "The plugin could not be started", { next: "Nothing was done." });
    },
  };
  return { pay, paid, down, middleware: [middleware] };
}

function open(options: HaftOptions) {
  return createHaft({ rules: { allow: ["pay"] }, ...options });
}

describe("a known id", () => {
  test("is answered from its row although the input cannot be checked now", async () => {
    const { pay, paid, down, middleware } = payTool();
    const haft = open({ tools: [pay], middleware });
    const first = await haft.execute("pay", { amount: 1 }, { id: "a", caller });
    expect(first).toMatchObject({ status: "completed", display: "paid 1" });
    down.isDown = true;
    const again = await haft.execute("pay", { amount: 1 }, { id: "a", caller });
    expect(again).toMatchObject({ status: "completed", display: "paid 1", metadata: { known: "replay" } });
    expect(await haft.execute("pay", { amount: 1 }, { id: "b", caller })).toMatchObject({ status: "failed" });
    expect(paid).toEqual([1]);
    await haft.shutdown();
  });

  test("is answered from its row although the tool is gone, hidden or denied by now", async () => {
    const { pay, paid } = payTool();
    const calls = new MemoryCallStore();
    const haft = open({ tools: [pay], calls });
    await haft.execute("pay", { amount: 2 }, { id: "a", caller });
    for (const changed of [{ tools: [] }, { policy: { deny: ["pay"] } }, { rules: { deny: ["pay"] } }]) {
      const later = createHaft({ tools: [pay], calls, ...changed });
      const again = await later.execute("pay", { amount: 2 }, { id: "a", caller });
      expect(again).toMatchObject({ status: "completed", display: "paid 2", metadata: { known: "replay" } });
      // Neither another input nor another caller gets it.
      expect(await later.execute("pay", { amount: 3 }, { id: "a", caller })).toMatchObject({ status: "failed" });
      const other = await later.execute("pay", { amount: 2 }, { id: "a", caller: { ...caller, user: "bob" } });
      expect(other).toMatchObject({ status: "failed" });
    }
    expect(paid).toEqual([2]);
  });

  test("is the same call after its tool got another version", async () => {
    const calls = new MemoryCallStore();
    const { pay, paid } = payTool();
    await open({ tools: [pay], calls }).execute("pay", { amount: 1 }, { id: "a", caller });
    const newer = createTool({
      name: "pay",
      description: "Pays.",
      version: "2.0.0",
      inputSchema: z.object({ amount: z.number() }),
      isReadOnly: false,
      execute: () => paid.push(99),
    });
    const again = await open({ tools: [newer], calls }).execute("pay", { amount: 1 }, { id: "a", caller });
    expect(again).toMatchObject({ status: "completed", display: "paid 1" });
    expect(paid).toEqual([1]);
  });

  test("whose question is open says so although the input cannot be checked now", async () => {
    const { pay, down, middleware } = payTool({ asks: true });
    const haft = createHaft({ tools: [pay], middleware });
    const asked = await haft.execute("pay", { amount: 1 }, { id: "a", caller });
    down.isDown = true;
    const again = await haft.execute("pay", { amount: 1 }, { id: "a", caller });
    expect(asked.status).toBe("pending");
    expect(again).toMatchObject({ status: "pending", pending: asked.status === "pending" && asked.pending });
    await haft.shutdown();
  });
});

describe("a failure that did nothing", () => {
  function failingTool(asks: boolean) {
    const ran: number[] = [];
    let left = 1;
    const tool = createTool({
      name: "pay",
      description: "Pays.",
      inputSchema: z.object({ amount: z.number() }),
      isReadOnly: false,
      needsApproval: asks,
      execute: ({ amount }) => {
        if (left-- > 0) throw toolError("unavailable", "Not connected", { nothingDone: true });
        ran.push(amount);
        return "paid";
      },
    });
    return { tool, ran };
  }

  test("frees its id", async () => {
    const { tool, ran } = failingTool(false);
    const haft = open({ tools: [tool] });
    const first = await haft.execute("pay", { amount: 1 }, { id: "a", caller });
    expect(first).toMatchObject({ status: "failed", error: { code: "unavailable", retryable: true } });
    expect(await haft.execute("pay", { amount: 1 }, { id: "a", caller })).toMatchObject({ status: "completed" });
    expect(await haft.execute("pay", { amount: 1 }, { id: "a", caller })).toMatchObject({ status: "completed" });
    expect(ran).toEqual([1]);
  });

  test("leaves the approval for the next call with its id, and nothing runs by itself", async () => {
    const { tool, ran } = failingTool(true);
    const haft = createHaft({ tools: [tool] });
    const asked = await haft.execute("pay", { amount: 1 }, { id: "a", caller });
    if (asked.status !== "pending") throw new Error("It did not ask.");
    const failed = await haft.approvals.approve(asked.pending.id);
    expect(failed).toMatchObject({ status: "failed", error: { code: "unavailable" } });
    await haft.calls.recover();
    expect(ran).toEqual([]);
    const again = await haft.execute("pay", { amount: 1 }, { id: "a", caller });
    expect(again).toMatchObject({ status: "completed" });
    expect(await haft.approvals.list("pending")).toEqual([]);
    expect(await haft.execute("pay", { amount: 1 }, { id: "a", caller })).toMatchObject({
      metadata: { known: "replay" },
    });
    expect(ran).toEqual([1]);
    await haft.shutdown();
  });
});

describe("a stop", () => {
  test("answers who asks, repeats, approves and follows with the approval, never with call again", async () => {
    const { pay, paid } = payTool({ asks: true });
    const haft = createHaft({ tools: [pay], approvalWaitMs: 60_000 });
    let id = "";
    const asking = haft.execute(
      "pay",
      { amount: 1 },
      { id: "a", caller, onApprovalRequested: (asked) => void (id = asked) },
    );
    await expect.poll(() => id).not.toBe("");
    const following = haft.approvals.follow(id);
    const waiting = haft.approvals.wait(id);
    const explained = waiting.then(
      () => "answered",
      (error: Error) => error.message,
    );
    const closed = haft.shutdown();
    const repeated = await haft.execute("pay", { amount: 1 }, { id: "a", caller });
    const pending = { status: "pending", pending: { kind: "approval", id } };
    expect(repeated).toMatchObject(pending);
    expect(await asking).toMatchObject(pending);
    expect(await following).toMatchObject(pending);
    expect(await explained).toMatch(/shutting down and no longer waits for .*, which is still open/);
    await closed;
    expect(paid).toEqual([]);
    // A call that nobody knows of can be made again.
    expect(await haft.execute("pay", { amount: 5 }, { id: "n", caller })).toMatchObject({
      error: { code: "shutdown", retryable: true },
    });
  });
});
