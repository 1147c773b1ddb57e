import { tmpdir } from "node:os";
import { afterAll, expect, test } from "vitest";
import { openWorkspace } from "../../../workspace.ts";
import { explainVerdict } from "./explain-verdict.ts";
import { RuleSet } from "./rule-set.ts";
import { testRules, previewRule } from "./try-rules.ts";

const workspace = openWorkspace(tmpdir());
afterAll(() => workspace.close());
const exec = workspace.tools.find(({ name }) => name === "exec")!;
const call = (command: string) => ({
  tool: exec,
  input: exec.build({ command } as never).params,
  cwd: workspace.folder,
});

test("shows which past calls a rule would have matched before it is saved", async () => {
  const calls = ["npm test", "npm test && rm x", "ls", "sudo rm y"].map(call);
  const matched = async (text: string, list: "allow" | "deny") =>
    (await previewRule({ text, list }, calls)).map(({ matches }) => matches);
  expect(await matched("Bash(npm *)", "allow")).toEqual([true, false, false, false]);
  expect(await matched("Bash(rm *)", "deny")).toEqual([false, true, false, true]);
  await expect(previewRule({ text: "Bash(" }, calls)).rejects.toThrow(TypeError);
});

test("checks examples against the rules", async () => {
  const ruleSet = new RuleSet([{ origin: "project", allow: ["Bash(npm *)"], deny: ["Bash(npm publish:*)"] }]);
  const findTool = (name: string) => workspace.tools.find((tool) => [tool.name, ...tool.aliases].includes(name));
  const outcomes = await testRules(
    ruleSet,
    [
      { tool: "Bash", input: "npm test", expect: "allow" },
      { tool: "Bash", input: { command: "npm publish" }, expect: "deny" },
      { tool: "Bash", input: "mvn", expect: "allow" },
      { tool: "Bash", input: "mvn", expect: "deny", mode: "dontAsk" },
      { tool: "Bsh", input: "mvn", expect: "allow" },
      { tool: "Bash", input: { cmnd: 1 }, expect: "allow" },
    ],
    { cwd: workspace.folder, findTool },
  );
  expect(outcomes.map(({ holds }) => holds)).toEqual([true, true, false, true, false, false]);
  expect(outcomes[2]?.why).toBe('ask: "exec" asks about this call, and no rule allows it.');
  expect(outcomes[4]?.why).toContain('no tool "Bsh"');
});

test("an explanation gives the result of every layer, rule and source", () => {
  const ruleSet = new RuleSet([
    { origin: "user", allow: ["Bash(npm *)", "Edit(src/**)"] },
    { origin: "project", folder: "/p", ask: ["Bash(npm publish:*)", "Bash(npm owner *)"], deny: ["Read(.env)"] },
  ]);
  const explained = explainVerdict(ruleSet, call("npm publish"), {
    layers: [{ layer: "profile coding", allowed: true, reason: "it holds it" }],
  });
  expect(explained.verdict).toMatchObject({ decision: "ask", rule: "Bash(npm publish:*)", origin: "project" });
  expect(explained.steps.map(({ name, outcome }) => [name, outcome])).toEqual([
    ["deny rules", "passes"],
    ["ask rules", "decides"],
    ["plan mode", "passes"],
    ["protected paths", "passes"],
    ["unreadable parts", "passes"],
    ["mode", "passes"],
    ["allow rules", "would decide"],
    ["the tool itself", "would decide"],
  ]);
  expect(explained.text).toContain("exec: ask (rule Bash(npm publish:*), project)");
  expect(explained.text).toContain("sources: user (2), project (3)");
  expect(explained.text).toContain("layer profile coding: passes: it holds it");
  expect(explained.text).toContain("  + Bash(npm publish:*) (project)\n  - Bash(npm owner *) (project)");
  const refused = explainVerdict(ruleSet, call("npm publish"), {
    layers: [{ layer: "agent", allowed: false, reason: "agent denies it" }],
  });
  expect(refused.verdict).toMatchObject({ decision: "deny", by: "policy", origin: "agent" });
});
