import { expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { createHaft } from "../../runtime.ts";
import { RuleSet } from "./rules/rule-set.ts";

const tool = createTool({
  name: "look",
  description: "Looks.",
  kind: "readonly",
  parameters: z.object({}),
  run: () => "seen",
});

test("an ask without a rule is denied if dontAsk is configured, for any mode of the call", async () => {
  const rules = new RuleSet([{ origin: "user", defaultMode: "dontAsk" }]);
  const haft = createHaft({ tools: [tool], rules, requiresApproval: () => "Nobody has seen it yet." });
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
  const suggestedBy = async (options: Parameters<typeof createHaft>[0]) => {
    const haft = createHaft({ tools: [remove], ...options });
    await haft.execute("remove", { path: "a" });
    return (await haft.approvals.list("pending"))[0]?.suggestedRules;
  };
  expect(await suggestedBy({})).not.toEqual([]);
  expect(await suggestedBy({ rules: { ask: ["remove"] } })).toEqual([]);
  expect(await suggestedBy({ requiresApproval: () => "Nobody has seen it yet." })).toEqual([]);
});
