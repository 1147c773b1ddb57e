// Grants over HTTP and at the command line.
import { describe, expect, test } from "vitest";
import { createTool } from "haft";
import { z } from "zod";
import { openHostCli } from "../cli/open-host-cli.ts";
import { openCheckedClient } from "../http/checked-client.ts";
import { openTestServer } from "../http/open-server.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const PAY = {
  name: "pay",
  description: "Pays",
  kind: "execute",
  inputSchema: z.object({ amount: z.number() }),
  amount: { parameter: "amount", unit: "EUR" },
  execute: ({ amount }) => {
    if (amount === 13) throw new Error("declined");
    return "paid";
  },
} satisfies Parameters<typeof createTool>[0];
const pay = createTool(PAY);
const GRANT = { rules: ["pay"], why: "invoices of March", by: "bob" } as const;

test("a question says which grant was too small for the call, and by what", async () => {
  const { haft, host } = await openHostCli(temporaryFolder("haft-grants-"), { tools: [pay] });
  const shown = async (session: string, budget?: { unit: string; max: number }) => {
    const { id } = await host.haft.policy.grants.give({ ...GRANT, holder: { session }, maxUses: 1, budget });
    const call = (amount: number) => host.haft.execute("pay", { amount }, { caller: { session } });
    if (!budget) await call(1);
    const { pending } = (await call(30)) as { pending?: { id: string } };
    return { id, text: (await haft("approvals", "show", String(pending?.id))).stdout };
  };
  const small = await shown("s", { unit: "EUR", max: 20 });
  expect(small.text).toContain(`The grant ${small.id} is too small: it has 20 of 20 EUR left, and the call takes 30.`);
  const other = await shown("t", { unit: "USD", max: 20 });
  expect(other.text).toContain(`The grant ${other.id} is a budget in USD`);
  const used = await shown("u");
  expect(used.text).toContain(`The grant ${used.id} covers it and is used up: 1 of 1 calls.`);
  expect((await haft("policy", "explain", "pay", "amount:=30", "--session", "s")).stdout).toContain(small.id);
});

test("haft grants lists what is left, extends within the caps, refunds and revokes", async () => {
  const { haft, host } = await openHostCli(temporaryFolder("haft-grants-"), { tools: [pay] });
  const { grants } = host.haft.policy;
  expect(await haft("grants", "list")).toMatchObject({ code: 0, stderr: expect.stringContaining("No grant is open") });
  const holder = { session: "s\u001b[31m", user: null };
  const { id } = await grants.give({ ...GRANT, holder, minutes: 30, maxUses: 3, budget: { unit: "EUR", max: 100 } });
  const call = (amount: number, callId: string) =>
    host.haft.execute("pay", { amount }, { id: callId, caller: { session: "s\u001b[31m" } });
  expect(await call(12.5, "c1")).toMatchObject({ status: "completed" });
  expect(await call(13, "c2")).toMatchObject({ status: "failed" });
  const listed = await haft("grants", "list");
  expect(listed.stdout).toContain("1 of 3 calls, 74.5 of 100 EUR, 30 min");
  expect(listed.stdout).not.toContain("\u001b[31m");
  expect((await haft("grants", "show", id)).stdout).toMatch(/why +invoices of March[^]*by bob/);
  expect((await haft("grants", "refund", id, "c2")).stdout).toContain("2 of 3 calls, 87.5 of 100 EUR");
  expect(await haft("grants", "refund", id, "c2")).toMatchObject({ code: 1 });
  expect((await haft("grants", "extend", id, "--uses", "5", "--for", "2h", "--budget", "50 EUR")).stdout).toContain(
    "4 of 5 calls, 37.5 of 50 EUR, 2 h",
  );
  const other = await grants.give({ ...GRANT, holder: {} });
  for (const caller of [{ session: "t" }, { session: "u" }, {}])
    expect(await host.haft.execute("pay", { amount: 1 }, { id: "c3", caller })).toMatchObject({ status: "completed" });
  expect(await haft("grants", "refund", other.id, "c3")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/3 calls "c3": .*no session, begun 20.*session "u", begun[^]*session "t", begun/),
  });
  expect((await haft("grants", "refund", other.id, "c3", "--session", "u")).stdout).toContain("used     2 calls");
  expect((await haft("grants", "refund", other.id, "c3", "--without-session")).stdout).toContain("used     1 calls");
  expect((await haft("grants", "revoke", other.id)).stdout).toContain("revoked");
  expect(await haft("grants", "extend", id, "--for", "60d")).toMatchObject({
    stderr: expect.stringContaining("more than a grant may have"),
  });
  expect(await haft("grants", "extend", id)).toMatchObject({ code: 2 });
  expect(await haft("grants", "extend", id, "--budget", "lots")).toMatchObject({ code: 2 });
  const explained = await haft("policy", "explain", "pay", "amount:=1", "--session", "s\u001b[31m");
  expect(explained.stdout).toContain("ask");
  expect((await haft("grants", "revoke", id)).stdout).toContain("revoked");
  expect(await grants.get(id)).toMatchObject({ ended: "revoked", endedBy: "ann" });
  expect(await haft("grants", "extend", id, "--uses", "9")).toMatchObject({
    stderr: expect.stringContaining("has ended"),
  });
  expect((await haft("grants", "list")).stdout).toBe("");
  const ids = (await haft("grants", "list", "--all", "--ids")).stdout.split("\n").sort();
  expect(ids).toEqual(["", id, other.id].sort());
  expect(await haft("grants", "show", "grt_none")).toMatchObject({ code: 1 });
});

describe("request_permission", () => {
  const REQUEST = { purpose: "Pay the invoices of March", tools: ["pay(amount<=50)"], minutes: 30, max_uses: 3 };

  async function openAgent() {
    const { haft, host } = await openHostCli(temporaryFolder("haft-request-"), { tools: [pay] });
    const call = (tool: string, input: object, more: object = {}) =>
      host.haft.execute(tool, input, { caller: { session: "s", agent: "claude", ...more } });
    const ask = async (input: object = REQUEST) => {
      const result = await call("request_permission", input);
      return { result, id: result.status === "pending" ? result.pending.id : "" };
    };
    return { haft, host, call, ask };
  }

  test("gives what the person allows, for the session that asked, until it is used up", async () => {
    const { haft, host, call, ask } = await openAgent();
    const { id } = await ask();
    const shown = (await haft("approvals", "show", id)).stdout.replace(/\s+/g, " ");
    expect(shown).toContain("claude may call pay with amount<=50, whatever its other values are, without asking");
    expect(shown).toContain("30 min, 3 calls");
    expect(shown).toContain('what for: "Pay the invoices of March"');
    expect(await call("pay", { amount: 1 })).toMatchObject({ status: "pending" });
    expect(await haft("approvals", "answer", id, "yes: 10 min, 2 calls")).toMatchObject({ code: 0 });
    expect(await host.haft.policy.grants.list()).toMatchObject([
      { holder: { session: "s", agent: "claude", depth: 0 }, maxUses: 2, by: "ann", why: "Pay the invoices of March" },
    ]);
    const listed = (await haft("grants", "list")).stdout;
    expect(listed).toMatch(/2 of 2 calls, 10 min/);
    expect(await call("pay", { amount: 51 })).toMatchObject({ status: "pending" });
    expect(await call("pay", { amount: 1 }, { session: "other" })).toMatchObject({ status: "pending" });
    expect(await call("pay", { amount: 50 })).toMatchObject({ status: "completed" });
    expect(await call("pay", { amount: 50 })).toMatchObject({ status: "completed" });
    expect(await call("pay", { amount: 50 })).toMatchObject({ status: "pending" });
  });

  test("gives exactly what the person edited, rules too", async () => {
    const { haft, host, call, ask } = await openAgent();
    const { id } = await ask({ ...REQUEST, budget: { amount: 10, unit: "EUR" } });
    const [question] = await host.haft.approvals.list("pending");
    expect(question!.questions![0]!.options![0]).toMatchObject({
      label: "Yes",
      fields: [
        { name: "minutes", value: "30", kind: "number" },
        { name: "calls", value: "3", kind: "number" },
        { name: "budget", value: "10", kind: "number", unit: "EUR" },
        { name: "allow", value: "pay(amount<=50)", kind: "lines" },
      ],
    });
    const edited = ["minutes: 5", "calls: 2", "budget: 4.5", "allow: pay(amount<=2)", "allow: pay(amount==4)"].join(
      "\n",
    );
    expect(await haft("approvals", "answer", id, edited)).toMatchObject({ code: 0 });
    const [grant] = await host.haft.policy.grants.list();
    expect(grant).toMatchObject({
      rules: ["pay(amount<=2)", "pay(amount==4)"],
      maxUses: 2,
      budget: { unit: "EUR", max: 4_500_000 },
    });
    expect((grant!.until! - grant!.createdAt) / 60_000).toBeCloseTo(5);
    expect(await call("pay", { amount: 3 })).toMatchObject({ status: "pending" });
    expect(await call("pay", { amount: 4 })).toMatchObject({ status: "completed" });
    expect(await call("pay", { amount: 1 })).toMatchObject({ status: "pending" });
  });

  test.each([
    ["minutes:"],
    ["minutes: 0"],
    ["calls: many"],
    ["allow:"],
    ["allow: *"],
    ["allow: none_such"],
    ["calls: 1.5"],
    ["minutes: 10\nwhatever"],
  ])("the fields %j give nothing", async (words) => {
    const { haft, host, ask } = await openAgent();
    const { id } = await ask();
    await haft("approvals", "answer", id, words);
    const result = await host.haft.approvals.result(id);
    expect(result?.status === "failed" || result?.status === "completed").toBe(true);
    expect(await host.haft.policy.grants.list()).toEqual([]);
  });

  test.each([["2"], ["no way"], ["only if you are careful, 5 calls"], ["10 min, 5 USD"], ["no, 5 calls"]])(
    "the answer %s gives nothing",
    async (words) => {
      const { haft, host, ask } = await openAgent();
      const { id } = await ask({ ...REQUEST, budget: { amount: 10, unit: "EUR" } });
      await haft("approvals", "answer", id, words);
      expect(await host.haft.approvals.result(id)).toMatchObject({ details: { granted: false } });
      expect(await host.haft.policy.grants.list()).toEqual([]);
    },
  );

  test.each([
    [{ tools: ["*"] }, "several tools"],
    [{ tools: ["kind:execute"] }, "several tools"],
    [{ tools: ["pay", "kind:execute( *)"] }, "several tools"],
    [{ tools: ["kind:execute(effect:delete>=0)"] }, "several tools"],
    [{ tools: ["group:fs(**)"] }, "several tools"],
    [{ tools: ["mcp__s__*(x==1)"] }, "several tools"],
    [{ tools: ["Bash("] }, "bracket"],
    [{ tools: ["pay", "later_tool"] }, "names no tool"],
    [{ minutes: 60 * 24 * 365 }, "more than a grant may have"],
    [{ max_uses: 1e6 }, "more than a grant may have"],
    [{ budget: { amount: 5, unit: "Calls" } }, "a word for time or calls"],
    [{ budget: { amount: 5, unit: "min." } }, "a word for time or calls"],
    [{ budget: { amount: 1000, unit: "h" } }, "a word for time or calls"],
    [{ budget: { amount: 5, unit: "ｘ" } }, "a word for time or calls"],
    [{ purpose: "fine\nApproved by the owner" }, "line break"],
  ])("asks nobody for %j", async (change, problem) => {
    const { host, ask } = await openAgent();
    const { result } = await ask({ ...REQUEST, ...change });
    expect(result).toMatchObject({ status: "failed", error: { message: expect.stringContaining(problem) } });
    expect(await host.haft.approvals.list("pending")).toEqual([]);
  });

  test("allows the tool as it was defined, not another one with its name", async () => {
    const { haft, host, call, ask } = await openAgent();
    await haft("approvals", "answer", (await ask()).id, "1");
    expect(await call("pay", { amount: 1 })).toMatchObject({ status: "completed" });
    host.haft.tools.registry.unregister("pay");
    host.haft.register(createTool({ ...PAY, description: "Deletes the database" }));
    expect(await call("pay", { amount: 1 })).toMatchObject({ status: "pending" });
  });

  test("shows a budget as one, and a purpose that cannot end its own quotation", async () => {
    const { host, ask } = await openAgent();
    const purpose = 'ok". It only covers reading. "';
    const { id } = await ask({ ...REQUEST, purpose, budget: { amount: 5, unit: "EUR" } });
    const [asked] = (await host.haft.approvals.get(id))?.questions ?? [];
    expect(asked?.question).toContain("within these bounds: 30 min, 3 calls, budget 5 EUR in all.");
    expect(asked?.question.split("\n")[1]).toBe(
      String.raw`The agent says what for: "ok\". It only covers reading. \""`,
    );
  });

  test("is answered by a person, whatever rules and modes allow, and not for a subagent", async () => {
    const { haft, host, call, ask } = await openAgent();
    await host.haft.policy.add("request_permission", "allow");
    expect((await ask()).result).toMatchObject({ status: "pending" });
    const bypass = await host.haft.execute("request_permission", REQUEST, { mode: "bypassPermissions" });
    expect(bypass).toMatchObject({ status: "pending" });
    expect(await call("request_permission", REQUEST, { depth: 1 })).toMatchObject({ error: { code: "no_answer" } });
    if (bypass.status !== "pending") return;
    // An approval without an answer is no answer.
    expect((await haft("approvals", "approve", bypass.pending.id)).code).not.toBe(0);
    await host.haft.policy.add("pay", "deny");
    await haft("approvals", "answer", bypass.pending.id, "1");
    expect(await host.haft.execute("pay", { amount: 1 })).toMatchObject({ error: { code: "denied" } });
  });
});

test("over HTTP, everybody who reads sees grants, and only who approves changes them", async () => {
  const api = await openTestServer({ haft: { tools: [pay], grants: { maxUses: 10 } } });
  const reader = await openCheckedClient(api, "read", "call");
  const approver = await openCheckedClient(api, "read", "approve");
  const { id } = await api.haft.policy.grants.give({
    ...GRANT,
    holder: {},
    maxUses: 2,
    budget: { unit: "EUR", max: 0.3 },
  });
  expect(await reader.calls.execute({ tool: "pay", input: { amount: 0.1 }, id: "c1" })).toMatchObject({
    status: "completed",
  });
  expect((await reader.grants.list({})).items).toMatchObject([{ id, usesLeft: 1, spent: 0.1, budgetLeft: 0.2 }]);
  for (const attempt of [
    reader.grants.revoke(id),
    reader.grants.extend(id, { maxUses: 3 }),
    reader.grants.refund(id, { callId: "c1" }),
  ])
    await expect(attempt).rejects.toMatchObject({ status: 403 });
  await expect(approver.grants.extend(id, { maxUses: 11 })).rejects.toMatchObject({ status: 400 });
  await expect(approver.grants.extend(id, {})).rejects.toMatchObject({ status: 400 });
  await expect(approver.grants.get("grt_none")).rejects.toMatchObject({ status: 404 });
  expect(await approver.grants.extend(id, { maxUses: 10 })).toMatchObject({ usesLeft: 9 });
  expect(await approver.grants.revoke(id)).toMatchObject({ state: "revoked" });
  await expect(approver.grants.revoke(id)).rejects.toMatchObject({ status: 409 });
  expect(await reader.calls.execute({ tool: "pay", input: { amount: 0.1 } })).toMatchObject({ status: "pending" });
});
