import { expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import type { HaftOptions } from "../../haft.ts";
import { createHaft } from "../../runtime.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";

const inputSchema = z.object({ amount: z.number() });

function open(options: HaftOptions, config: object = { kind: "write" }) {
  const runs: number[] = [];
  const refund = createTool({
    name: "refund",
    description: "Refunds.",
    inputSchema,
    execute: ({ amount }: { amount: number }) => runs.push(amount),
    ...config,
  } as never);
  const haft = createHaft({ tools: [refund], ...options });
  const status = async (amount: number, call = {}) => (await haft.execute("refund", { amount }, call)).status;
  return { haft, runs, status };
}

test("the host decides by the input: deny, ask with a reason, allow, or nothing", async () => {
  const { haft, runs, status } = open({
    decide({ input }) {
      const { amount } = input as { amount: number };
      if (amount > 1000) return { decision: "deny", reason: "Over the limit." };
      if (amount > 100) return { decision: "ask", reason: "Over 100." };
      return amount > 0 ? "allow" : undefined;
    },
  });
  expect(await haft.execute("refund", { amount: 2000 })).toMatchObject({
    status: "failed",
    error: { code: "denied", message: expect.stringContaining("Over the limit.") },
  });
  expect(await status(200)).toBe("pending");
  expect((await haft.approvals.list("pending"))[0]).toMatchObject({ reason: expect.stringContaining("Over 100.") });
  expect(await status(0)).toBe("pending");
  expect(runs).toEqual([]);
  expect(await status(10)).toBe("completed");
  expect(runs).toEqual([10]);
});

test("an allow beats no deny and no ask: of a rule, a hook mode, or the tool itself", async () => {
  const decide = () => "allow" as const;
  const statusOf = (options: HaftOptions, config?: object, call = {}) =>
    open({ decide, ...options }, config).status(1, call);
  expect(await statusOf({})).toBe("completed");
  expect(await statusOf({}, {})).toBe("completed");
  expect(await statusOf({ rules: { defaultMode: "dontAsk" } })).toBe("completed");
  expect(await statusOf({ rules: { deny: ["refund"] } })).toBe("failed");
  expect(await statusOf({ rules: { ask: ["refund"] } })).toBe("pending");
  expect(await statusOf({}, { kind: "write", needsApproval: true })).toBe("pending");
  expect(await statusOf({}, { needsApproval: () => true })).toBe("pending");
  expect(await statusOf({}, undefined, { mode: "plan" })).toBe("failed");
});

test("a deny and an ask apply whatever allows: a rule, the tool, the mode", async () => {
  for (const decision of ["deny", "ask"] as const) {
    const expected = decision === "deny" ? "failed" : "pending";
    const decide = async () => decision;
    expect(await open({ decide, rules: { allow: ["refund"] } }).status(1)).toBe(expected);
    expect(await open({ decide }, { kind: "readonly" }).status(1)).toBe(expected);
    expect(await open({ decide, defaultPermission: "auto" }).status(1)).toBe(expected);
    expect(await open({ decide }).status(1, { mode: "bypassPermissions" })).toBe(expected);
  }
});

test("it is asked again when a person has approved: a deny then holds", async () => {
  let decision: "ask" | "deny" = "ask";
  const { haft, runs } = open({ decide: () => decision });
  const asked = await haft.execute("refund", { amount: 1 }, { id: "c" });
  decision = "deny";
  const id = asked.status === "pending" ? asked.pending.id : "";
  expect(await haft.approvals.approve(id)).toMatchObject({ status: "failed", error: { code: "denied" } });
  expect(runs).toEqual([]);
});

test("a function that fails, or gives something else, stops the call before its effect", async () => {
  const broken: HaftOptions["decide"][] = [
    () => {
      throw new Error("no database");
    },
    async () => {
      throw new Error("no database");
    },
    () => "yes" as never,
    () => null as never,
    () => ({ decision: "constructor" }) as never,
    () => true as never,
  ];
  for (const decide of broken) {
    const { haft, runs } = open({ decide, rules: { allow: ["refund"] } });
    const result = await haft.execute("refund", { amount: 1 });
    expect(result).toMatchObject({
      status: "failed",
      error: { message: expect.stringMatching(/^decide failed for "refund"/) },
    });
    expect(runs).toEqual([]);
  }
});

test("it gets the call with its caller, mode and host data, and the input as the tool gets it", async () => {
  const seen: object[] = [];
  const { haft, runs } = open({
    decide({ input, ...call }) {
      seen.push({ input, ...call, tool: call.tool.name });
      expect(() => ((call.caller as { user: string }).user = "root")).toThrow(TypeError);
      return "allow";
    },
  });
  const caller = { user: "ann", session: "s" };
  await haft.execute("refund", { amount: 1 }, { caller, mode: "default", context: { tenant: "t" } });
  expect(runs).toEqual([1]);
  expect(seen).toEqual([
    { input: { amount: 1 }, tool: "refund", caller: { ...caller, depth: 0 }, mode: "default", host: { tenant: "t" } },
  ]);
});

test("an instance that the schema made is judged as it is", async () => {
  class Amount {
    constructor(readonly value: number) {}
    get isLarge(): boolean {
      return this.value > 100;
    }
  }
  const inputSchema = z.object({ amount: z.number().transform((value) => new Amount(value)) });
  const { status } = open(
    { decide: ({ input }) => ((input as { amount: Amount }).amount.isLarge ? "deny" : "allow") },
    { inputSchema, execute: () => "done" },
  );
  expect([await status(500), await status(5)]).toEqual(["failed", "completed"]);
});

test("it has a time limit, and nothing that it has not judged comes from a cache", async () => {
  const clock = createFakeClock();
  const slow = createHaft({
    clock,
    decide: () => new Promise<never>(() => undefined),
    tools: [createTool({ name: "look", description: "d", kind: "readonly", inputSchema: [], execute: () => 1 })],
  });
  const running = slow.execute("look");
  await clock.advance(31_000);
  expect(await running).toMatchObject({ status: "failed", error: { code: "timeout" } });
  const cached = open(
    { decide: ({ caller }) => (caller.task === "bad" ? "deny" : "allow") },
    { kind: "readonly", cache: { ttlMs: 60_000 } },
  );
  expect(await cached.status(1, { caller: { task: "good" } })).toBe("completed");
  expect(await cached.status(1, { caller: { task: "bad" } })).toBe("failed");
});

test("it sees the data that contextFor makes, also for built-in tools", async () => {
  const haft = createHaft({
    code: {},
    contextFor: () => ({ blocked: true }),
    decide: ({ host }) => ((host as { blocked?: boolean } | undefined)?.blocked ? "deny" : undefined),
  });
  expect(await haft.execute("run_code", { code: "return 1" })).toMatchObject({ error: { code: "denied" } });
});

test("explanations show what the host decides", async () => {
  const { haft } = open({ decide: ({ input }) => ((input as { amount: number }).amount > 1 ? "deny" : "allow") });
  const explain = (amount: number) => haft.policy.explain("refund", { amount });
  expect(await explain(2)).toMatchObject({ verdict: { decision: "deny", origin: "decide" } });
  expect((await explain(2)).text).toContain("decide: decides: deny");
  expect(await explain(1)).toMatchObject({ verdict: { decision: "allow", origin: "decide" } });
});
