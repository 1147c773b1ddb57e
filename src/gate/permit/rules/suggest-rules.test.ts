import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { canConfine } from "../../../../test/setup/confinement.ts";
import { temporaryFolder } from "../../../../test/setup/temporary-folder.ts";
import { createTool } from "../../../core/create-tool.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { openWorkspace } from "../../../workspace.ts";
import { RuleSet } from "./rule-set.ts";
import { suggestRules, suggestSufficientRules } from "./suggest-rules.ts";

const root = temporaryFolder("haft-suggest-");
writeFileSync(join(root, "a.txt"), "x");
const workspace = openWorkspace(root);
afterAll(async () => {
  await workspace.close();
});
const toolNamed = (name: string): AnyTool => workspace.tools.find((tool) => tool.name === name)!;

function suggest(name: string, raw: object): string[] {
  const tool = toolNamed(name);
  return suggestRules({ tool, input: tool.build(raw as never).params, cwd: root });
}

function decisionAfter(rules: readonly string[], command: string): string {
  const tool = toolNamed("exec");
  const ruleSet = new RuleSet([{ origin: "session", allow: rules }]);
  return ruleSet.judge({ tool, input: tool.build({ command } as never).params, cwd: root }).decision;
}

describe("the rule that always-allow would save", () => {
  test.each([
    ["npm run test --watch", ["Bash(npm run test *)"]],
    ["npm test", ["Bash(npm test *)"]],
    ["git commit -m 'a (b)'", ["Bash(git commit *)"]],
    ["git push --force", ["Bash(git push --force)"]],
    ["docker run -v /:/x alpine", ["Bash(docker run -v /:/x alpine)"]],
    ["timeout 5 npm run build", ["Bash(npm run build *)"]],
    ["./scripts/x.sh (a)", []],
    ["./deploy.sh '(a)'", ["Bash(./deploy.sh '\\(a\\)')"]],
    ["npm test > out.txt", ["Bash(npm test *)", "Edit(./out.txt)"]],
    ["$X y", []],
    ["for i in 1 2; do npm t; done", []],
    ["PATH=. npm test", []],
    ["a; b; c; d; e; f", []],
    ["a; b; c; d; e", ["Bash(a)", "Bash(b)", "Bash(c)", "Bash(d)", "Bash(e)"]],
    ["find . -exec rm {} ';'", []],
    ["sudo apt install x", ["Bash(apt install x)"]],
    ["git log --output=x", ["Bash(git log --output=x)"]],
    ["npm test --script-shell=./x.sh", ["Bash(npm test --script-shell=./x.sh)"]],
    ["docker ps -a", ["Bash(docker ps -a)"]],
    ["cargo test --release", ["Bash(cargo test *)"]],
    ["make *", ["Bash(make \\*)"]],
  ])("for %s is %j", (command, rules) => {
    expect(suggest("exec", { command })).toEqual(rules);
  });

  test.runIf(canConfine).each([
    ["npm test && make lint | head -3", ["Bash(npm test *)", "Bash(make lint *)"]],
    ['git commit -m "$(cat a.txt)"', ["Bash(git commit *)"]],
  ])("for %s is %j, because the rest only reads", (command, rules) => {
    expect(suggest("exec", { command })).toEqual(rules);
  });

  test("names the program inside a shell, never the shell (ap-015)", () => {
    const rules = suggest("exec", { command: "/bin/zsh -lc 'make -j2 all'" });
    expect(rules).toEqual(["Bash(make -j2 all)"]);
    expect(decisionAfter(rules, "/bin/zsh -lc 'rm x'")).toBe("ask");
    expect(decisionAfter(rules, "make -j2 all")).toBe("allow");
  });

  test("does not extend to another way of running a script (ap-017)", () => {
    const rules = suggest("exec", { command: "bash scripts/a.sh" });
    expect(rules).toEqual(["Bash(bash scripts/a.sh)"]);
    expect(decisionAfter(rules, "bash scripts/a.sh")).toBe("allow");
    expect(decisionAfter(rules, "bash -s scripts/a.sh")).toBe("ask");
  });

  test.each(["npm run test --watch", "git commit -m 'a (b)'", "./deploy.sh '(a)'", "make *", "npm test > out.txt"])(
    "allows the very call that it was made for: %s",
    (command) => expect(decisionAfter(suggest("exec", { command }), command)).toBe("allow"),
  );

  test("covers no standard input: it may be code", () => {
    for (const command of ["python3", "node -", "xargs touch", "tee a.txt", "git apply", "sh"]) {
      const tool = toolNamed("exec");
      const decide = (input: object) =>
        new RuleSet([{ origin: "session", allow: suggest("exec", { command }) }]).judge({
          tool,
          input: tool.build({ command, ...input } as never).params,
          cwd: root,
        }).decision;
      expect([command, decide({ stdin: "touch P" })]).toEqual([command, "ask"]);
      expect(suggest("exec", { command, stdin: "x" })).toEqual([]);
    }
  });

  test("for files is exactly these files", () => {
    expect(suggest("write", { path: "src/[id].ts", content: "" })).toEqual(["Edit(./src/\\[id\\].ts)"]);
    expect(suggest("write", { path: "src/(a).ts", content: "" })).toEqual(["Edit(./src/\\(a\\).ts)"]);
    expect(suggest("move_file", { from: "a", to: "/tmp/b" })).toEqual(["Edit(./a)", "Edit(//tmp/b)"]);
    const tool = toolNamed("write");
    const judged = (path: string) =>
      new RuleSet([{ origin: "session", allow: suggest("write", { path: "src/[id].ts", content: "" }) }]).judge({
        tool,
        input: tool.build({ path, content: "" } as never).params,
        cwd: root,
      }).decision;
    expect(judged("src/[id].ts")).toBe("allow");
    expect(judged("src/i.ts")).toBe("ask");
  });

  test("binds every argument of other tools, and no rule if one cannot be compared", async () => {
    const of = (input: object, more: object = {}) => {
      const tool = createTool({
        name: "refund",
        description: "Refunds.",
        parameters: z.looseObject({}),
        run: () => "",
        permission: "confirm",
        ...more,
      });
      const rules = suggestRules({ tool, input, cwd: root });
      const decide = (given: object) =>
        new RuleSet([{ origin: "session", allow: rules }]).judge({ tool, input: given, cwd: root }).decision;
      return { rules, decide };
    };
    const refund = of({ amount: 180, currency: "EUR", order: { id: 7 } });
    expect(refund.rules).toEqual([
      'refund(amount>=0 && amount<=180 && currency=="EUR" && order.id==7 && nothing else)',
    ]);
    const like = (more: object) => refund.decide({ amount: 180, currency: "EUR", order: { id: 7 }, ...more });
    expect([like({}), like({ amount: 0.5 })]).toEqual(["allow", "allow"]);
    for (const other of [
      { amount: 180.01 },
      { amount: 50_000 },
      { amount: -50_000 },
      { amount: "180 " },
      { amount: [180] },
      { amount: undefined },
      { amount: null },
      { amount: Number.NaN },
      { currency: "USD" },
      { currency: "eur" },
      { currency: "EUR*" },
      { currency: undefined },
      { order: { id: 6 } },
      { order: { id: 7, admin: true } },
      { order: [{ id: 7 }] },
      { admin: true },
      { admin: false },
      { note: "" },
      { extra: {} },
    ])
      expect([other, like(other)]).toEqual([other, "ask"]);
    expect(of({ id: 5 }).rules).toEqual(["refund(id==5 && nothing else)"]);
    expect(of({ amount: -5 }).decide({ amount: -6 })).toBe("ask");
    expect(of({ admin: false }).decide({ admin: true })).toBe("ask");
    expect(of({}).rules).toEqual(["refund(nothing else)"]);
    expect(of({}).decide({ force: true })).toBe("ask");
    expect(of({ note: `it's "x"` }).rules).toEqual([]);
    expect(of({ note: "a\nb" }).rules).toEqual([]);
    expect(of({ note: 'a" && amount<="5' }).decide({ note: "a", amount: 1 })).toBe("ask");
    expect(of({ to: ["a"] }).rules).toEqual([]);
    expect(of({ to: {} }).rules).toEqual([]);
    expect(of({ to: null }).rules).toEqual([]);
    expect(of({ "a b": 1 }).rules).toEqual([]);
    expect(of({ at: new Date(0) }).rules).toEqual([]);
    expect(of({ amount: 1e21 }).rules).toEqual([]);
    expect(of({ note: "x".repeat(2000) }).rules).toEqual([]);
    expect(
      of({ path: "a.txt", mode: 1 }, { signature: () => ({ changes: ["a.txt"] }) }).decide({ path: "a.txt" }),
    ).toBe("ask");
  });

  test("offers the tool's own rule, its signature and its name as broader choices", async () => {
    const own = (more: object) =>
      createTool({
        name: "deploy",
        description: "Deploys.",
        parameters: z.object({ to: z.string() }),
        run: () => "",
        ...more,
      });
    const of = (tool: AnyTool, input: object = { to: "x" }) =>
      suggestSufficientRules({ tool, input, cwd: root }, () => true);
    const narrow = ['deploy(to=="x" && nothing else)'];
    expect(await of(own({}))).toEqual({ narrow, broader: [["deploy"]] });
    expect(await of(own({ signature: ({ to }: { to: string }) => to }))).toEqual({
      narrow,
      broader: [["deploy(x)"], ["deploy"]],
    });
    expect((await of(own({ rule: () => "stag*" }))).broader[0]).toEqual(["deploy(stag*)"]);
    expect((await of(own({ rule: () => "deploy(stag*)" }))).broader[0]).toEqual(["deploy(stag*)"]);
    expect(await of(own({ rule: () => "" }))).toEqual({ narrow: [], broader: [] });
    const write = toolNamed("write");
    expect(await of(write, { path: "src/a.ts", content: "" })).toEqual({
      narrow: ["Edit(./src/a.ts)"],
      broader: [["Edit(./src/**)"]],
    });
    expect((await of(write, { path: "a.ts", content: "" })).broader).toEqual([["Edit(./**)"]]);
    expect(suggest("process", { action: "submit", id: "p", data: "ls" })).toEqual([]);
  });
});
