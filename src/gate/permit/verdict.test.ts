import { expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { createRuntime, type RuntimeOptions } from "../../runtime.ts";
import { RuleSet } from "./rules/rule-set.ts";
import { stricter } from "./verdict.ts";

const tool = createTool({
  name: "look",
  description: "Looks.",
  kind: "readonly",
  parameters: z.object({}),
  run: () => "seen",
});

test("of two verdicts the stricter one counts, in either order: deny before ask before allow", () => {
  const decisions = ["allow", "ask", "deny"] as const;
  for (const [at, one] of decisions.entries()) {
    for (const [otherAt, other] of decisions.entries()) {
      const { decision } = stricter(
        { decision: one, by: "rule", reason: "" },
        { decision: other, by: "hook", reason: "" },
      );
      expect(decision).toBe(decisions[Math.max(at, otherAt)]);
    }
    expect(stricter({ decision: one, by: "tool", reason: "" }, undefined).decision).toBe(one);
  }
});

test("a hook that denies wins over a rule that asks or allows", async () => {
  const command = `${process.execPath} -e "process.exit(2)"`;
  for (const rules of [{ ask: ["look"] }, { allow: ["look"] }]) {
    const hooks = [{ origin: "user", settings: { PreToolUse: [{ hooks: [{ type: "command" as const, command }] }] } }];
    const haft = createRuntime({ tools: [tool], rules, hooks });
    expect(await haft.execute("look", {})).toMatchObject({ status: "failed", error: { actor: "policy" } });
  }
});

test("an ask without a rule is denied if dontAsk is configured, for any mode of the call", async () => {
  const rules = new RuleSet([{ origin: "user", defaultMode: "dontAsk" }]);
  const haft = createRuntime({ tools: [tool], rules, requiresApproval: () => "Nobody has seen it yet." });
  for (const mode of [undefined, "default", "bypassPermissions"] as const) {
    const result = await haft.execute("look", {}, mode ? { mode } : {});
    expect(result.status).not.toBe("completed");
    expect(JSON.stringify(result)).toContain("In the mode dontAsk such calls are denied.");
  }
});

test("a rule is suggested only if it would allow the call through the whole policy", async () => {
  const remove = createTool({
    name: "remove",
    description: "Removes.",
    kind: "write",
    parameters: z.object({ path: z.string() }),
    permission: "confirm",
    run: () => "removed",
  });
  const suggestedBy = async (options: RuntimeOptions) => {
    const haft = createRuntime({ tools: [remove], ...options });
    await haft.execute("remove", { path: "a" });
    return (await haft.approvals.list("pending"))[0]?.suggestedRules;
  };
  expect(await suggestedBy({})).not.toEqual([]);
  expect(await suggestedBy({ rules: { ask: ["remove"] } })).toEqual([]);
  expect(await suggestedBy({ requiresApproval: () => "Nobody has seen it yet." })).toEqual([]);
});
