import { describe, expect, test } from "vitest";
import type { Call } from "../core/call.ts";
import { createTool } from "../core/create-tool.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import type { ApprovalAnswer } from "./approval.ts";
import { Calls, type CallsOptions } from "./calls.ts";
import type { StoredCall } from "./stored-call.ts";

const tool = createTool({ name: "t", description: "", parameters: [], needsApproval: false, run: () => 1 });

function openCalls(options: Partial<CallsOptions> = {}) {
  const clock = createFakeClock();
  return { clock, calls: new Calls({ clock, ...options }) };
}

async function ask(calls: Calls, more: { id?: string; holdMs?: number } = {}): Promise<StoredCall> {
  const { id = "c", holdMs = 0 } = more;
  const call = { id, tool, requestedName: "t", caller: { depth: 0 }, options: {}, accepted: {}, input: {} };
  const row = await calls.ask(call as unknown as Call, {
    world: { verdict: { decision: "ask", by: "tool", reason: "" }, workspace: "/", preview: undefined },
    input: {},
    shown: undefined,
    suggestedRules: [],
    holdMs,
  });
  if ("full" in row) throw new Error("full");
  return row;
}

describe("an answer", () => {
  test.each([
    { approved: "no" },
    { approved: "true" },
    { approved: 1 },
    {},
    [],
    { approved: true, aproved: false },
    { approved: true, by: 7 },
    null,
    "yes",
  ])("that is malformed is an error and changes nothing: %j", async (answer) => {
    const { calls } = openCalls();
    const { id } = await ask(calls);
    await expect(calls.answer(id, answer as unknown as ApprovalAnswer)).rejects.toMatchObject({
      code: "invalid_input",
    });
    expect(await calls.get(id)).toMatchObject({ state: "waiting" });
  });

  test("to an unknown approval says so", async () => {
    const { calls } = openCalls();
    await expect(calls.answer("nope", { approved: true })).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("has a bounded reason", async () => {
    const { calls } = openCalls();
    const { id } = await ask(calls);
    await calls.answer(id, { approved: false, reason: "x".repeat(100_000) });
    expect((await calls.get(id))?.answer?.reason).toHaveLength(4000);
  });

  test("given twice is one answer; another one is refused and says who answered", async () => {
    const { calls } = openCalls();
    const { id } = await ask(calls);
    await calls.answer(id, { approved: true, by: "ada" });
    expect(await calls.answer(id, { approved: true })).toMatchObject({ state: "approved", answer: { by: "ada" } });
    await expect(calls.answer(id, { approved: true, scope: "always" })).rejects.toThrow(/only be approved once/);
  });

  test("counts until the deadline that is shown, however long the caller waits, and not after", async () => {
    const { calls, clock } = openCalls({ lifetimeMs: 60_000 });
    const { id, deadline } = await ask(calls, { holdMs: 1000 });
    expect(deadline).toBe(clock.now() + 60_000);
    await clock.advance(60_001);
    await expect(calls.answer(id, { approved: true })).rejects.toThrow(/expired/);
    expect(await calls.get(id)).toMatchObject({ state: "ended", outcome: "expired" });
  });
});

describe("limits of pending questions", () => {
  test("are configurable", async () => {
    const { calls } = openCalls({ maxOpenPerSession: 1 });
    await ask(calls, { id: "a" });
    await expect(ask(calls, { id: "b" })).rejects.toThrow(/full/);
  });
});

describe("a call whose effect cannot be shown", () => {
  test("is approved only with a separate confirmation", async () => {
    const { calls } = openCalls();
    const call = { id: "c", tool, requestedName: "t", caller: { depth: 0 }, options: {}, accepted: {}, input: {} };
    const preview = { title: "t", content: [], unshown: "The present content is not text." };
    const row = await calls.ask(call as unknown as Call, {
      world: { verdict: { decision: "ask", by: "tool", reason: "" }, workspace: "/", preview },
      input: {},
      shown: preview,
      suggestedRules: [],
      holdMs: 0,
    });
    if ("full" in row) throw new Error("full");
    await expect(calls.answer(row.id, { approved: true })).rejects.toThrow(
      /not approved by a plain yes.*confirmUnshown/s,
    );
    expect(await calls.get(row.id)).toMatchObject({ state: "waiting" });
    expect(await calls.answer(row.id, { approved: true, confirmUnshown: true })).toMatchObject({ state: "approved" });
  });
});
