import { describe, expect, test } from "vitest";
import { z } from "zod";
import { adopt } from "../../core/adopt/adopt.ts";
import { createTool, type ToolConfig } from "../../core/create-tool.ts";
import type { AnyTool } from "../../core/tool.ts";
import { createHaft, type HaftOptions } from "../../runtime.ts";
import type { SchemaSource } from "../../schema/infer.ts";
import { RuleSet } from "./rules/rule-set.ts";

type Config = Partial<ToolConfig<SchemaSource, SchemaSource, unknown>>;
const make = (config: Config = {}): AnyTool =>
  createTool({ name: "wipe", description: "Wipes.", parameters: [], run: () => "ran", ...config } as never);

async function status(tool: AnyTool, options: HaftOptions = {}): Promise<string> {
  return (await createHaft({ ...options, tools: [tool] }).execute("wipe", {})).status;
}

describe("a tool runs unasked", () => {
  test.each<[string, Config, string]>([
    ["if it says nothing", {}, "pending"],
    ["if it writes", { kind: "write" }, "pending"],
    ["if it executes", { kind: "execute" }, "pending"],
    ["if it says that it needs approval", { kind: "readonly", needsApproval: true }, "pending"],
    ["if its function says so", { kind: "readonly", needsApproval: () => true }, "pending"],
    ["if its function promises so", { needsApproval: async () => true }, "pending"],
    ["if its function says neither yes nor no", { needsApproval: (() => undefined) as never }, "pending"],
    ["only if it only reads", { kind: "readonly" }, "completed"],
    ["only if it says that it needs no approval", { needsApproval: false }, "completed"],
    ["only if it writes and says so", { kind: "write", needsApproval: false }, "completed"],
    ["only if its function says so", { needsApproval: async () => false }, "completed"],
    ["only if its permission says so", { permission: "auto" }, "completed"],
    ["only if both settings say so", { permission: "auto", needsApproval: false }, "completed"],
  ])("%s", async (_case, config, expected) => {
    expect(await status(make(config))).toBe(expected);
  });

  test("if a rule allows it, and a deny or ask rule wins over that", async () => {
    expect(await status(make(), { rules: { allow: ["wipe"] } })).toBe("completed");
    expect(await status(make(), { rules: { allow: ["wipe"], ask: ["wipe"] } })).toBe("pending");
    expect(await status(make(), { rules: { allow: ["wipe"], deny: ["wipe"] } })).toBe("failed");
    expect(await status(make(), { rules: { defaultMode: "dontAsk" } })).toBe("failed");
  });

  test("never if it comes from a plugin that calls it built-in", async () => {
    const haft = createHaft();
    const manifest = { id: "acme", name: "Acme", version: "1.0.0" };
    await haft.tools.install({
      manifest,
      register: (api) => void api.registerTool(make({ origin: { type: "builtin" } })),
    });
    expect(await haft.execute("wipe", {})).toMatchObject({ status: "pending" });
  });

  test("by a function that sees the input", async () => {
    const pay = createTool({
      name: "pay",
      description: "Pays.",
      parameters: z.object({ amount: z.number() }),
      needsApproval: ({ amount }) => amount > 100,
      run: () => "paid",
    });
    const haft = createHaft({ tools: [pay] });
    expect(await haft.execute(pay, { amount: 100 })).toMatchObject({ status: "completed" });
    expect(await haft.execute(pay, { amount: 101 })).toMatchObject({ status: "pending" });
  });
});

test.each([
  [{ permission: "auto", needsApproval: true }, /says twice whether it needs approval/],
  [{ permission: "confirm", needsApproval: false }, /says twice whether it needs approval/],
  [{ permission: "confirm", needsApproval: () => true }, /says twice whether it needs approval/],
  [{ needsApproval: "no" }, /needsApproval "no"; use true, false or a function/],
  [{ needApproval: true }, /"needApproval".*"needsApproval"/],
])("settings that cannot be kept are refused: %j", (config, message) => {
  expect(() => make(config as Config)).toThrow(message);
  const plain = { name: "wipe", description: "Wipes.", parameters: [], run: () => "ran", ...config };
  expect(() => adopt(plain as never)).toThrow(message);
});

describe("defaultPermission", () => {
  test("auto runs tools that do not say whether they ask, and no others", async () => {
    const auto = { defaultPermission: "auto" } as const;
    expect(await status(make(), auto)).toBe("completed");
    expect(await status(make({ kind: "write" }), auto)).toBe("completed");
    expect(await status(make({ needsApproval: true }), auto)).toBe("pending");
    expect(await status(make({ permission: "confirm" }), auto)).toBe("pending");
    expect(await status(make(), { ...auto, rules: { ask: ["wipe"] } })).toBe("pending");
    expect(await status(make(), { ...auto, rules: { deny: ["wipe"] } })).toBe("failed");
    expect(await status(make(), { ...auto, rules: { defaultMode: "plan" } })).toBe("failed");
  });

  test("is the last that a source sets, and changes with its source at once", async () => {
    const rules = new RuleSet([
      { origin: "user", defaultPermission: "auto" },
      { origin: "project", defaultPermission: "confirm" },
    ]);
    const haft = createHaft({ rules, tools: [make()] });
    expect(await haft.execute("wipe")).toMatchObject({ status: "pending" });
    rules.drop("project");
    expect(await haft.execute("wipe")).toMatchObject({ status: "completed" });
    rules.replace({ origin: "user" });
    expect(await haft.execute("wipe")).toMatchObject({ status: "pending" });
  });

  test("is named by an explanation", async () => {
    const explain = async (options: HaftOptions) =>
      (await createHaft({ ...options, tools: [make()] }).policy.explain("wipe", {})).verdict;
    expect(await explain({})).toMatchObject({ decision: "ask", key: "verdict.undeclared" });
    expect(await explain({ defaultPermission: "auto" })).toMatchObject({
      decision: "allow",
      reason: expect.stringContaining('defaultPermission is "auto"'),
    });
  });

  test("must be one of two words, and belongs into the rule set if there is one", () => {
    expect(() => createHaft({ defaultPermission: "always" as never })).toThrow(/"always"; use "auto" or "confirm"/);
    expect(() => createHaft({ rules: new RuleSet(), defaultPermission: "auto" })).toThrow(/source of the rule set/);
  });
});

test("the first question of an undeclared tool says how to declare it, later ones do not", async () => {
  const haft = createHaft({ tools: [make(), { ...toConfig("sweep") }, { ...toConfig("mop"), kind: "write" }] });
  const reasonOf = async (name: string): Promise<string | undefined> => {
    const result = await haft.execute(name, {});
    const id = result.status === "pending" ? result.pending.id : "";
    return (await haft.approvals.get(id))?.reason;
  };
  expect(await reasonOf("wipe")).toMatch(/"wipe" does not say what it does\..*kind: "readonly".*needsApproval: false/);
  expect(await reasonOf("wipe")).toBe('"wipe" does not say what it does.');
  expect(await reasonOf("sweep")).toMatch(/kind: "readonly"/);
  expect(await reasonOf("mop")).toBe('"mop" asks about this call, and no rule allows it.');
});

const toConfig = (name: string) => ({ name, description: "Cleans.", parameters: [], run: () => "ran" });
