import { onTestFinished, expect, test } from "vitest";
import { TOOLS, workOf } from "../../../../bench/personas.mjs";
import { temporaryFolder } from "../../../../test/setup/temporary-folder.ts";
import { createTool } from "../../../core/create-tool.ts";
import { createHaft } from "../../../runtime.ts";
import { openWorkspace } from "../../../workspace.ts";
import { RuleSet } from "../rules/rule-set.ts";
import type { CallDigest } from "./call-digest.ts";
import { digestOf, judgeDigest } from "./call-digest.ts";
import { type AnsweredCall, ATTACKS, suggestPolicy } from "./suggest.ts";

function openTools() {
  const folder = temporaryFolder("haft-suggest-");
  const workspace = openWorkspace(folder);
  const tools = TOOLS.map((tool) => createTool({ ...tool, parameters: [...tool.parameters], run: () => "done" }));
  const haft = createHaft({ tools, workspace });
  onTestFinished(async () => {
    await haft.shutdown();
    await workspace.close();
  });
  const toolOf = (name: string) => haft.tools.registry.get(name);
  const rules = new RuleSet();
  const digest = (toolName: string, input: object, isTainted = false): CallDigest | undefined => {
    const call = { tool: toolOf(toolName), input, options: {}, caller: { depth: 0 } };
    const made = digestOf(call as never, input);
    return made && isTainted ? { ...made, labels: ["untrusted_input"] } : made && { ...made, labels: undefined };
  };
  const decide = (set: RuleSet, toolName: string, input: object) => {
    const tool = toolOf(toolName);
    const of = tool && digest(toolName, input);
    return tool && of && !of.unjudged ? judgeDigest(set, { tool, digest: of, cwd: folder }).decision : "ask";
  };
  return { folder, toolOf, rules, digest, decide };
}

test.each(["developer", "support", "analyst", "operator"])(
  "what is learned from the first half of the work of the %s saves the questions of the second half, and allows nothing else",
  async (name) => {
    const { folder, toolOf, rules, digest, decide } = openTools();
    for (const seed of [3]) {
      const work = workOf(name, { calls: 5000, seed });
      const asked = work.filter(({ tool, input }) => decide(rules, tool, input) === "ask");
      const half = asked.filter(({ id }) => Number(id.split("-").at(-1)) < 2500);
      const rest = asked.filter(({ id }) => Number(id.split("-").at(-1)) >= 2500);
      const calls = half.map(({ id, at, session, user, tool, input, isTainted, answer }): AnsweredCall => ({
        ...{ callId: id, toolName: tool, at, session, user, answer },
        digest: digest(tool, input, isTainted),
      }));
      const proposals = await suggestPolicy(calls, { rules, cwd: folder, toolOf });
      const accepted = new RuleSet([{ origin: "accepted", allow: proposals.flatMap((each) => each.rules) }]);
      const allowed = rest.filter(({ tool, input }) => decide(accepted, tool, input) === "allow");
      const yes = rest.filter(({ answer }) => answer === "yes");
      const share = allowed.filter(({ answer }) => answer === "yes").length / yes.length;
      expect(allowed.filter(({ answer }) => answer === "no")).toEqual([]);
      for (const [tool, input] of ATTACKS) expect([input, decide(accepted, tool, input)]).not.toEqual([input, "allow"]);
      expect(share).toBeGreaterThanOrEqual(0.8);
    }
  },
  300_000,
);

test("a habit of one session, of sessions with text of others, or beside a denial is not proposed", async () => {
  const { folder, toolOf, rules, digest } = openTools();
  const command = { command: "npm run build" };
  const calls = (session: (at: number) => string, isTainted = false): AnsweredCall[] =>
    Array.from({ length: 6 }, (_, at) => ({
      ...{ callId: `c${at}`, toolName: "exec", at, session: session(at), answer: "yes" as const },
      digest: digest("exec", command, isTainted),
    }));
  const options = { rules, cwd: folder, toolOf };
  const several = calls((at) => `s${at}`);
  expect(await suggestPolicy(several, options)).toMatchObject([
    { rules: ["Bash(npm run build)"], saved: 6, sessions: 6, unanswered: 0 },
  ]);
  const [found] = await suggestPolicy(several, options);
  expect(await suggestPolicy(several, { ...options, never: new Set([found?.id ?? ""]) })).toEqual([]);
  expect(
    await suggestPolicy(
      calls(() => "one"),
      options,
    ),
  ).toEqual([]);
  expect(
    await suggestPolicy(
      calls((at) => `s${at}`, true),
      options,
    ),
  ).toEqual([]);
  expect(await suggestPolicy([...several, { ...several[0]!, callId: "no", answer: "no" }], options)).toEqual([]);
  expect(
    await suggestPolicy(
      several.map((call) => ({ ...call, answer: undefined })),
      options,
    ),
  ).toEqual([]);
});

test("a placeholder reaches no other word, folder, option or host", () => {
  const { decide } = openTools();
  const set = new RuleSet([
    {
      origin: "test",
      allow: ["Bash(git add src/<name>-<name>.ts)", "read_it(id==T-<number>)", "Bash(git checkout -b x-<number>)"],
    },
  ]);
  const commands = ["git add src/a-b.ts", "git checkout -b x-12"];
  const others = [
    "git add src/../b-c.ts",
    "git add src/a-b.ts -f",
    "git add src/a b-c.ts",
    "git checkout -b x-",
    "git checkout -b x-1 y",
    "git checkout -b x-1a",
  ];
  for (const command of commands) expect([command, decide(set, "exec", { command })]).toEqual([command, "allow"]);
  for (const command of others) expect([command, decide(set, "exec", { command })]).toEqual([command, "ask"]);
});
