import { describe, expect, test } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "../../../../test/setup/temporary-folder.ts";
import { createTool } from "../../../core/create-tool.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { createHaft } from "../../../runtime.ts";
import { openWorkspace } from "../../../workspace.ts";
import { lintRules } from "./lint-rules.ts";
import { RuleSet } from "./rule-set.ts";
import { suggestSufficientRules } from "./suggest-rules.ts";

const root = temporaryFolder("haft-conditions-");

const refund = createTool({
  name: "refund",
  aliases: ["Refund"],
  description: "Refunds a payment.",
  parameters: z.object({
    amount: z.union([z.number(), z.string()]).optional(),
    currency: z.string().default("EUR"),
    order: z.object({ total: z.number() }).optional(),
  }),
  run: () => "done",
});
const purge = createTool({
  name: "purge",
  description: "Deletes records.",
  parameters: z.object({ ids: z.array(z.string()) }),
  signature: ({ ids }) => ({ text: ids.join(","), effects: { delete: ids.length } }),
  run: () => "done",
});

function decide(
  tool: AnyTool,
  lists: { allow?: string[]; ask?: string[]; deny?: string[] },
  input: object,
  bypass = true,
) {
  const ruleSet = new RuleSet([{ origin: "user", ...lists }]);
  const mode = bypass ? "bypassPermissions" : "default";
  return ruleSet.judge({ tool, input: tool.build(input as never).params, cwd: root, mode }).decision;
}

describe("a rule compares values", () => {
  test.each([
    ["Refund(amount>100)", { amount: 101 }, "deny"],
    ["Refund(amount>100)", { amount: 100 }, "allow"],
    ["Refund(amount>=100)", { amount: "100.00" }, "deny"],
    ["Refund(amount < 0)", { amount: -1 }, "deny"],
    ["Refund(amount>100 && currency==EUR)", { amount: 200 }, "deny"],
    ["Refund(amount>100 && currency==EUR)", { amount: 200, currency: "USD" }, "allow"],
    ["Refund(currency != 'EUR')", { currency: "USD", amount: 1 }, "deny"],
    ["Refund(order.total>5)", { order: { total: 6 } }, "deny"],
    ["Refund(amount:>100)", { amount: 101 }, "deny"],
    ["Refund(amount:>100)", { amount: 100 }, "allow"],
    ["Refund(currency==E*)", { currency: "EUR" }, "deny"],
    ["Refund(currency==E*)", { currency: "USD" }, "allow"],
    ["Refund(currency!=E*)", { currency: "USD" }, "deny"],
    ["Refund(currency=='E*')", { currency: "EUR" }, "allow"],
    ["Refund(currency=='E*')", { currency: "E*" }, "deny"],
  ])("deny %s for %j: %s", (rule, input, expected) => {
    expect(decide(refund, { deny: [rule] }, input)).toBe(expected);
  });

  test.each([
    ["t(x==1234567890123456789)", "1234567890123456789", "deny"],
    ["t(x==1234567890123456789)", "1234567890123456788", "allow"],
    ["t(x==1234567890123456789)", 1234567890123456789n, "deny"],
    ["t(x==1234567890123456789)", 1234567890123456789n + 1n, "allow"],
    ["t(x==1234567890123456789)", Number("1234567890123456788"), "ask"],
    ["t(x==007)", "007", "deny"],
    ["t(x==007)", "7", "allow"],
    ["t(x==100)", 100, "deny"],
    ["t(x==100)", "100", "deny"],
    ["t(x==100)", "0x64", "ask"],
    ["t(x==100)", "100.0", "ask"],
    ["t(x!=100)", "101", "deny"],
    ["t(x==evil)", ["evil"], "ask"],
    ["t(x>100)", "0x1F4", "ask"],
    ["t(x>100)", "1e3", "ask"],
    ["t(x>100)", 500n, "deny"],
    ["t(x:evil)", "evil", "deny"],
    ["t(x:evil)", ["evil"], "ask"],
    ["t(x:evil)", new Set(["evil"]), "ask"],
    ["t(x:evil)", { a: 5n }, "ask"],
    ["t(x:500)", 500n, "deny"],
    ["t(x:evil)", "good", "allow"],
  ])("deny %s, case %#", (rule, x, expected) => {
    const tool = createTool({ ...refundConfig(), name: "t", parameters: z.object({ x: z.any() }) });
    expect(decide(tool, { deny: [rule] }, { x })).toBe(expected);
    const confirm = createTool({
      ...refundConfig(),
      name: "t",
      permission: "confirm",
      parameters: z.object({ x: z.any() }),
    });
    const allowed = rule.includes(":") || expected !== "deny" ? "ask" : "allow";
    expect(decide(confirm, { allow: [rule] }, { x }, false)).toBe(allowed);
  });

  test("asks if there is no value to compare", () => {
    expect(decide(refund, { deny: ["Refund(amount>100)"] }, {})).toBe("ask");
    expect(decide(refund, { ask: ["Refund(amount>100)"] }, { amount: "many" })).toBe("ask");
    expect(decide(refund, { allow: ["Refund(amount<=100)"], ask: ["kind:execute"] }, {}, false)).toBe("ask");
  });

  test("allows what its condition allows, and nothing else", () => {
    const confirm = createTool({ ...refundConfig(), permission: "confirm" });
    const allow = ["pay(amount<=100)"];
    expect(decide(confirm, { allow }, { amount: 100 }, false)).toBe("allow");
    expect(decide(confirm, { allow }, { amount: 101 }, false)).toBe("ask");
    expect(decide(confirm, { allow }, {}, false)).toBe("ask");
  });

  test("counts effects that tools declare, and deletions of commands", async () => {
    const ids = (count: number) => ({ ids: Array.from({ length: count }, (_, at) => `${at}`) });
    expect(decide(purge, { ask: ["effect:delete>10"] }, ids(11))).toBe("ask");
    expect(decide(purge, { ask: ["effect:delete>10"] }, ids(10))).toBe("allow");
    expect(decide(purge, { deny: ["purge(effect:delete>2)"] }, ids(3))).toBe("deny");
    expect(decide(refund, { deny: ["effect:delete>0"] }, { amount: 1 })).toBe("allow");
    const workspace = openWorkspace(root);
    const tool = (name: string) => workspace.tools.find((each) => each.name === name)!;
    const deny = ["effect:delete>2"];
    expect(decide(tool("exec"), { deny }, { command: "rm a b" })).toBe("allow");
    expect(decide(tool("exec"), { deny }, { command: "rm a b && rm c" })).toBe("deny");
    expect(decide(tool("exec"), { deny }, { command: "rm -r a" })).toBe("ask");
    expect(decide(tool("exec"), { deny }, { command: "ls | xargs rm" })).toBe("ask");
    expect(decide(tool("delete_file"), { deny }, { path: "a" })).toBe("allow");
    expect(decide(tool("delete_file"), { deny }, { path: "a", recursive: true })).toBe("ask");
    await workspace.close();
  });
});

function refundConfig() {
  return {
    name: "pay",
    description: "Pays.",
    parameters: z.object({ amount: z.number().optional() }),
    run: () => "done",
  };
}

describe("a condition that cannot be understood is an error", () => {
  test.each([
    ["Refund(amount>>5)", '"amount>>5"'],
    ["Refund(amount>)", '"amount>"'],
    ["Refund(amount>many)", '"amount>many"'],
    ["Refund(>5)", '">5"'],
    ["Refund(amount:>lots)", '"amount:>lots"'],
    ["Refund(amount=:5 > )", '"amount=:5 >"'],
    ["Refund(a b>5)", '"a b>5"'],
    ["Refund(amount>5 && currency)", '"currency"'],
    ["effect:delete", '"effect:delete"'],
    ["effect:explode>1", '"effect:explode>1"'],
    ["effect:delete>1.5", '"effect:delete>1.5"'],
    [`Refund(amount>${"9".repeat(400)})`, `"amount>${"9".repeat(400)}"`],
    ["Refund(amount>9007199254740993)", '"amount>9007199254740993"'],
  ])("%s", (rule, condition) => {
    const message = new RegExp(condition.replace(/[.*+?^$()|\\]/g, "\\$&"));
    expect(() => createHaft({ tools: [refund], rules: { deny: [rule] } })).toThrow(message);
    expect(() => new RuleSet().add(rule, "ask", "user")).toThrow(TypeError);
    expect(lintRules([{ origin: "user", deny: [rule] }])[0]).toMatchObject({ level: "error", code: "malformed" });
  });

  test.each(["amount=100", "amount≥100", "amount＞100", "amount gt 100", "!amount", "amount:100..500"])(
    "%s of a tool without a signature",
    (condition) => {
      const create = () => createHaft({ tools: [refund], rules: { deny: [`refund(${condition})`] } });
      expect(create).toThrow(`"${condition}" cannot be understood: write NAME>NUMBER`);
      // A tool that describes its calls as texts may mean such a text.
      const parameters = z.object({});
      const described = createTool({ ...refundConfig(), parameters, name: "refund", signature: () => condition });
      expect(decide(described, { deny: [`refund(${condition})`] }, {})).toBe("deny");
      expect(createHaft({ tools: [described], rules: { deny: [`refund(${condition})`] } })).toBeDefined();
    },
  );

  test("an effect without a tool cannot allow", () => {
    expect(() => new RuleSet([{ origin: "user", allow: ["effect:delete<10"] }])).toThrow(/not allow/);
  });

  test("lint names a parameter that the tool does not have", () => {
    const [finding] = lintRules([{ origin: "user", deny: ["Refund(amout>5)"] }], [refund]);
    expect(finding).toMatchObject({ level: "error", code: "never_matches" });
    expect(finding?.message).toMatch(/amout.*amount/);
  });
});

describe("nothing else", () => {
  const decided = (rule: string, input: object) => {
    const tool = createTool({
      ...refundConfig(),
      name: "refund",
      parameters: z.looseObject({}),
      permission: "confirm",
      signature: undefined,
    });
    const { decision } = new RuleSet([{ origin: "user", allow: [rule] }]).judge({ tool, input, cwd: root });
    return decision;
  };
  test.each([
    ["refund(amount<=180 && nothing else)", { amount: 180 }, "allow"],
    ["refund(amount<=180 && nothing else)", { amount: 180, admin: true }, "ask"],
    ["refund(amount<=180 && nothing else)", { amount: 180, tags: [] }, "ask"],
    ["refund(amount<=180 && nothing else)", { amount: 180, to: undefined }, "allow"],
    ["refund(order.total<=5 && nothing else)", { order: { total: 5 } }, "allow"],
    ["refund(order.total<=5 && nothing else)", { order: { total: 5, gift: 1 } }, "ask"],
    ["refund(order.total<=5 && nothing else)", { "order.total": 5 }, "ask"],
    ["refund(nothing else)", {}, "allow"],
    ["refund(nothing else)", { amount: 1 }, "ask"],
    ['refund(note=="a && b" && nothing else)', { note: "a && b" }, "allow"],
    ['refund(note=="a && b" && nothing else)', { note: "a" }, "ask"],
    [`refund(note=='say "a && b<=5"' && nothing else)`, { note: 'say "a && b<=5"' }, "allow"],
  ])("%s decides about %j: %s", (rule, input, decision) => expect(decided(rule, input)).toBe(decision));

  test("a quotation mark that is not closed is an error, because the rest could be read two ways", () => {
    expect(() => new RuleSet().add('refund(note=="a && b)', "deny", "user")).toThrow(/not closed/);
  });
});

test("text with such characters stays text where a command, a path or a suggestion means it", async () => {
  const rules = new RuleSet([{ origin: "user", allow: ["Bash(echo a > b)", "Bash(test a == b)"] }]);
  expect(rules.problems).toEqual([]);
  const move = createTool({ ...refundConfig(), name: "move", permission: "confirm", signature: () => "a -> b == c" });
  const escaped = ["move(a -\\> b \\== c)"];
  const { broader } = await suggestSufficientRules({ tool: move, input: {}, cwd: root }, () => true);
  expect(broader).toContainEqual(escaped);
  expect(decide(move, { allow: escaped }, {}, false)).toBe("allow");
});
