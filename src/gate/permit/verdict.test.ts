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
    expect(JSON.stringify(result)).toContain("The mode dontAsk asks nobody.");
  }
});
