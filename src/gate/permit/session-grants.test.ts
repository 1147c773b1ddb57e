import { expect, test } from "vitest";
import { createTool } from "../../core/create-tool.ts";
import { createHaft } from "../../runtime.ts";
import { RuleSet } from "./rules/rule-set.ts";
import { SessionGrants } from "./session-grants.ts";

const push = createTool({
  name: "push",
  description: "Pushes",
  kind: "execute",
  permission: "confirm",
  parameters: [],
  run: () => "pushed",
});

async function askAndGrant(scope: "session" | "always") {
  const haft = createHaft({ tools: [push] });
  const call = (caller: { session?: string; user?: string }) => haft.execute("push", {}, { caller });
  await call({ session: "s", user: "ann" });
  const [question] = await haft.approvals.list("pending");
  await haft.approvals.approve(question!.id, { scope, rule: "push", by: "ann" });
  return { haft, call };
}

test("a grant for a session applies only in that session and to that caller", async () => {
  const { haft, call } = await askAndGrant("session");
  expect(await call({ session: "s", user: "ann" })).toMatchObject({ status: "completed" });
  expect(await call({ session: "other", user: "ann" })).toMatchObject({ status: "pending" });
  // Any caller may claim a session's name.
  expect(await call({ session: "s", user: "bob" })).toMatchObject({ status: "pending" });
  const { verdict } = await haft.policy.explain("push", {}, { caller: { session: "s", user: "ann" } });
  expect(verdict).toMatchObject({ decision: "allow", origin: "session" });
  expect(haft.policy.rules.rules()).toEqual([]);
});

test("a grant for always applies to all callers, and is passed to the store of rules", async () => {
  const { haft, call } = await askAndGrant("always");
  expect(await call({ session: "other", user: "bob" })).toMatchObject({ status: "completed" });
  expect(haft.policy.rules.rules()).toMatchObject([{ text: "push", list: "allow", origin: "local" }]);
});

test("a grant never beats a deny, also a later one", () => {
  const ruleSet = new RuleSet();
  const grants = new SessionGrants(ruleSet);
  grants.add("push", { session: "s" });
  const judged = { tool: push, input: {}, cwd: "/" };
  expect(grants.judge(judged, { session: "s" })).toMatchObject({ decision: "allow", by: "grant" });
  ruleSet.add("push", "deny", "user");
  expect(grants.judge(judged, { session: "s" })).toMatchObject({ decision: "deny", by: "rule", origin: "user" });
});

test("refuses a grant that is not a rule", () => {
  expect(() => new SessionGrants(new RuleSet()).add("Bash(", { session: "s" })).toThrow(TypeError);
});
