import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/setup/temporary-folder.ts";
import { createTool } from "../../../core/create-tool.ts";
import { openWorkspace } from "../../../workspace.ts";
import { createHaft } from "../../../runtime.ts";
import { openStore } from "../../../store/store.ts";
import type { CallDigest } from "./call-digest.ts";
import { judgeDigest, unjudgedBy } from "./call-digest.ts";
import { RuleSet } from "../rules/rule-set.ts";
import { onTestFinished } from "vitest";

const pay = createTool({
  name: "pay",
  description: "Pays.",
  kind: "execute",
  parameters: [
    { name: "amount", type: "number", description: "How much", required: true },
    { name: "to", type: "string", description: "Whom", required: true },
    { name: "text", type: "string", description: "Why" },
    { name: "token", type: "string", description: "Token" },
  ],
  run: () => "paid",
});

async function recorded(calls: readonly (readonly [string, object])[]) {
  const folder = temporaryFolder();
  const store = await openStore({ stateFolder: temporaryFolder() });
  const workspace = openWorkspace(folder);
  const haft = createHaft({ tools: [pay], workspace, log: store.audit, calls: store.calls, rules: { allow: ["pay"] } });
  onTestFinished(async () => {
    await haft.shutdown();
    await workspace.close();
    await store.close();
  });
  const digests: CallDigest[] = [];
  for (const [tool, input] of calls) {
    const { callId } = await haft.execute(tool, input, { caller: { session: "one", user: "ann" } });
    const entries = (await store.audit.call(callId))?.entries ?? [];
    digests.push(entries.find(({ data }) => data["digest"] !== undefined)?.data["digest"] as CallDigest);
  }
  const toolOf = (name: string) => {
    const found = haft.tools.registry.get(name);
    if (!found) throw new Error(name);
    return found;
  };
  const judge = (ruleSet: RuleSet, at: number) => {
    const tool = toolOf(calls[at]?.[0] ?? "");
    const digest = digests[at];
    const why = unjudgedBy(ruleSet, tool, digest);
    return why ?? (digest && judgeDigest(ruleSet, { tool, digest, cwd: folder }).decision);
  };
  return { digests, judge };
}

const allow = (...rules: string[]) => new RuleSet([{ origin: "test", allow: rules }]);

test("a digest is at most 1 KB, without secrets, and says what it leaves out", async () => {
  const { digests, judge } = await recorded([
    ["pay", { amount: 5, to: "bo", text: "x".repeat(5000), token: "sk-live-0123456789abcdef0123" }],
    ["write", { path: "src/a.ts", content: "y".repeat(9000) }],
    ["exec", { command: `echo ${"z".repeat(900)}` }],
  ]);
  for (const digest of digests) expect(JSON.stringify(digest).length).toBeLessThanOrEqual(1024);
  expect(JSON.stringify(digests)).not.toContain("0123456789abcdef");
  expect(digests[0]).toMatchObject({ input: { amount: 5, to: "bo" }, without: { text: "too_long", token: "secret" } });
  expect(digests[1]).toMatchObject({ signature: { changes: ["src/a.ts"] }, effects: { change: 1 }, folders: ["src"] });
  expect([judge(allow("Bash(echo *)"), 2), judge(allow("Edit(./src/**)"), 1)]).toEqual(["too_long", "allow"]);
});

test("a policy that compares what was not kept is told so, and every other one is judged as the gate does", async () => {
  const { judge } = await recorded([
    ["pay", { amount: 5, to: "bo", text: "x".repeat(5000) }],
    ["exec", { command: "npm test -- --watch" }],
  ]);
  expect(judge(allow("pay(amount<=10)"), 0)).toBe("allow");
  expect(judge(allow("pay(amount<=4)"), 0)).toBe("ask");
  expect(judge(allow("pay(text==xxx)"), 0)).toBe("too_long");
  expect(judge(allow("pay(amount<=10 && text==*)"), 0)).toBe("allow");
  // A parameter that is not named counts, also where its value was too long.
  expect(judge(allow("pay(amount<=10 && to==bo && nothing else)"), 0)).toBe("ask");
  expect(judge(allow("Bash(npm test *)"), 1)).toBe("allow");
  expect(judge(new RuleSet([{ origin: "test", deny: ["Bash(npm *)"], allow: ["Bash"] }]), 1)).toBe("deny");
});
