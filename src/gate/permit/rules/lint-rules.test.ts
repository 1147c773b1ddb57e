import { tmpdir } from "node:os";
import { afterAll, describe, expect, test } from "vitest";
import { openWorkspace } from "../../../workspace.ts";
import { lintRules } from "./lint-rules.ts";

const workspace = openWorkspace(tmpdir());
afterAll(() => workspace.close());

function codes(list: "allow" | "ask" | "deny", ...rules: string[]): string[] {
  return lintRules([{ origin: "user", [list]: rules }], workspace.tools).map(({ code }) => code);
}

describe("lintRules", () => {
  test.each([
    ["allow", "Bash(rm", "malformed"],
    ["allow", "Baash", "unknown_tool"],
    ["deny", "group:filez", "unknown_tool"],
    ["ask", "kind:writing", "unknown_tool"],
    ["allow", "mcp__*", "ignored"],
    ["allow", "*", "ignored"],
    ["deny", "Bash(command:rm *)", "ignored"],
    ["deny", "Read(file_path:x)", "ignored"],
    ["allow", "Bash(run_in_background:true)", "ignored"],
    ["allow", "WebFetch(https://x.com/*)", "ignored"],
    ["allow", "WebFetch(domain:x.*)", "never_matches"],
    ["allow", "Write(docs/**)", "only_here"],
    ["deny", "Grep(docs/**)", "only_here"],
    ["deny", "Read(!a)", "never_matches"],
    ["allow", "Bash(a && b *)", "never_matches"],
    ["allow", "Bash(timeout 5 npm *)", "never_matches"],
    ["allow", "Bash(watch *)", "never_matches"],
    ["allow", "Bash(FOO=1 npm *)", "never_matches"],
    ["allow", "Bash(git:* push)", "never_matches"],
    ["allow", "Bash(bash:*)", "too_wide"],
    ["allow", "Bash(ls*)", "too_wide"],
    ["deny", "sleep(5)", "never_matches"],
  ] as const)("%s %s is reported as %s", (list, rule, code) => expect(codes(list, rule)).toEqual([code]));

  test("reports nothing about good rules", () => {
    expect(
      codes("allow", "Bash(npm test:*)", "Edit(src/**)", "Read(//etc/hosts)", "mcp__github__*", "kind:readonly"),
    ).toEqual([]);
    expect(codes("deny", "*", "mcp__*")).toEqual(["shadowed"]);
    expect(codes("deny", "Bash(run_in_background:true)", "WebFetch(domain:*.x.com)", "group:mcp:files")).toEqual([]);
  });

  test("knows the tools of other programs, and of capabilities that are not open", () => {
    expect(codes("allow", "Skill", "Task", "NotebookEdit", "NotebookRead(notes/**)")).toEqual([]);
    const [finding] = lintRules([{ origin: "user", deny: ["ExitPlanMode"] }], workspace.tools);
    expect(finding).toMatchObject({ level: "note", message: expect.stringContaining("another program") });
    expect(codes("allow", "NotebookEdit(notes)")).toEqual(["malformed"]);
  });

  test("suggests the nearest name", () => {
    const [finding] = lintRules([{ origin: "a.yml", deny: ["Baash(rm)"] }], workspace.tools);
    expect(finding).toMatchObject({ origin: "a.yml", list: "deny", rule: "Baash(rm)" });
    expect(finding?.message).toMatch(/Did you mean "[bB]ash"/);
  });

  test("reports shadowed and duplicate rules with the other rule", () => {
    const findings = lintRules([
      { origin: "user", allow: ["Bash(git push:*)", "Bash(npm test)"] },
      { origin: "project", deny: ["Bash(git:*)"], allow: ["Bash(npm test)", "Edit", "Edit(src/**)"] },
    ]);
    expect(findings.map(({ code, rule, message }) => [code, rule, message])).toEqual([
      ["shadowed", "Bash(git push:*)", "Bash(git:*) (deny, project) is checked first and always decides."],
      ["duplicate", "Bash(npm test)", "Bash(npm test) (allow, user) says the same."],
      ["shadowed", "Edit(src/**)", "Edit (allow, project) already covers it."],
    ]);
  });

  test("reports that a project cannot set bypassPermissions", () => {
    expect(lintRules([{ origin: "project", defaultMode: "bypassPermissions" }])).toMatchObject([
      { code: "mode_ignored" },
    ]);
  });
});
