import { describe, expect, test } from "vitest";
import "../../io/shell/command-signature.ts";
import { anApproval } from "../../calls/approval.fixture.ts";
import { showInline } from "./approval-parts.ts";
import { describeApproval, showText } from "./describe-approval.ts";

describe("a question", () => {
  const asked = {
    id: "apr_1",
    toolName: "exec",
    caller: { session: "s1", agent: "coder", user: "ann", depth: 1 },
    reason: "a rule asks",
    hash: "sha256:abc",
    askedAt: 0,
  };
  const risk = { level: "high", reasons: [{ key: "risk.runsCommand", text: "It runs a command." }] } as const;

  test("of ask_user shows each option in one line of its own", () => {
    const options = [{ label: "A\n  2. Safe", description: "one\n  3. Two" }, { label: "B\u001b[31m" }];
    const shown = describeApproval(anApproval({ ...asked, questions: [{ question: "Which?", options }] }));
    expect(shown).toContain("  |   1. A\\n  2. Safe: one\\n  3. Two");
    expect(shown.filter((line) => /^ {2}\| +\d/.test(line))).toHaveLength(2);
  });

  test("shows the risk, the exact call, who asks, why, by which rule, where, its expiry and the rules to save", () => {
    const shown = describeApproval(
      anApproval({
        ...asked,
        input: { command: "rm -rf build", timeout: 3, script: "one\ntwo" },
        verdict: { decision: "ask", by: "rule", reason: "a rule asks", rule: "Bash(rm:*)", origin: ".haft/config.yml" },
        preview: { title: "Remove", content: [{ type: "text", text: "-old\n+new" }] },
        summary: { subject: { type: "command", text: "rm -rf build" }, risk },
        suggestedRules: ["Bash(rm -rf build)"],
        state: "denied",
        expiresAt: 0,
      }),
    );
    expect(shown).toEqual([
      "exec asks for permission (apr_1), risk: high",
      "  risk       It runs a command.",
      "  command",
      "  | rm -rf build",
      "  preview",
      "  | -old",
      "  | +new",
      "  timeout    3",
      "  script     (7 characters in 2 lines)",
      "  | one",
      "  | two",
      "  asked by   session s1, agent coder, user ann, subagent of depth 1",
      "  because    a rule asks",
      "  rule       Bash(rm:*) in .haft/config.yml",
      "  folder     /w",
      "  call hash  sha256:abc",
      expect.stringMatching(/^  until      19\d\d-\d\d-\d\d \d\d:\d\d$/),
      "  may save   Bash(rm -rf build)",
      "  - allows   exactly this command",
      "  - asks for rm -rf with other words",
      "  state      denied",
    ]);
  });

  test("shows long arguments in full, on separate lines", () => {
    const command = `${"x".repeat(5000)} && rm -rf /`;
    expect(describeApproval(anApproval({ input: { command } })).join("\n")).toContain(`  | ${command}\n`);
    const shown = describeApproval(anApproval({ input: { text: command } })).join("\n");
    expect(shown).toContain("(5012 characters in 1 line)");
    expect(shown).toContain(`  | ${command}`);
  });

  test("shows a command once: by its steps if they are all of it, otherwise as it was written", () => {
    const steps = [
      { text: "npm ci", level: "medium", does: { key: "x", text: "It installs packages." } },
      { text: "sh install.sh", operator: "&&", level: "critical", asks: { key: "y", text: "It runs a script." } },
    ] as const;
    const show = (command: string): string[] => {
      const facts = [
        { key: "preview.folder", values: { folder: "/w" }, text: "in /w" },
        { key: "preview.confined", text: "confined" },
      ];
      const preview = { title: "Run a command", facts, content: [{ type: "text" as const, text: "It fails." }] };
      const summary = { subject: { type: "command" as const, text: command }, risk, steps };
      return describeApproval(anApproval({ ...asked, input: { command }, preview, summary }));
    };
    expect(show("npm ci  && sh install.sh").slice(2, 10)).toEqual([
      "  command",
      "  | npm ci",
      "             It installs packages.",
      "  | && sh install.sh",
      "             It runs a script.",
      "             confined",
      "  preview",
      "  | It fails.",
    ]);
    const grouped = show("(npm ci && sh install.sh)");
    expect(grouped.slice(2, 6)).toEqual([
      "  command",
      "  | (npm ci && sh install.sh)",
      "             npm ci: It installs packages.",
      "             sh install.sh: It runs a script.",
    ]);
  });

  test("repeats no argument that a diff shows in full, and shows each that it does not", () => {
    const diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-old\n+new\n";
    const input = { path: "a.txt", old_string: "old", new_string: "new", mode: "new" };
    const summary = { subject: { type: "path", text: "a.txt" }, risk } as const;
    const preview = { title: "Change a.txt", content: [{ type: "text" as const, text: diff }] };
    const shown = describeApproval(anApproval({ ...asked, input, preview, summary })).join("\n");
    expect(shown).not.toMatch(/old_string|new_string|^ {2}path/m);
    expect(shown).toContain('  mode       "new"');
    const cut = describeApproval(anApproval({ ...asked, input, preview: { ...preview, omitted: "a part" }, summary }));
    expect(cut.join("\n")).toContain('  new_string "new"');
  });

  test("shows the answer, and that a rule differs from the suggestion", () => {
    const answered = {
      state: "approved",
      answeredBy: "ann",
      scope: "always",
      rules: ["Bash(*)"],
      rulesEdited: true,
    } as const;
    expect(describeApproval(anApproval(answered)).at(-1)).toBe(
      "  state      approved by ann always: Bash(*) (differs from the suggestion)",
    );
  });
});

describe("foreign text", () => {
  test.each([
    ["an escape", "a\u001b[2Jb", "a\\u{1b}[2Jb"],
    ["a change of text direction", "a\u202eb", "a\\u{202e}b"],
    ["a carriage return", "rm x\rls", "rm x\\u{d}ls"],
    ["many blanks", `a${" ".repeat(50)}b`, "a⟨50 spaces⟩b"],
    ["tabs", "a\tb", "a→   b"],
    ["blanks at the end", "a  ", "a··"],
    ["ordinary words", "é 日本語 😀", "é 日本語 😀"],
  ])("shows %s", (_what, text, shown) => {
    expect(showText(text)).toEqual([`  | ${shown}`]);
    expect(showInline(text)).toBe(shown);
  });

  test("cannot push anything out of sight with empty lines, nor imitate our lines", () => {
    expect(showText(`ok${"\n".repeat(200)}rm\n\nx\n`)).toEqual([
      "  | ok",
      "  | ⟨199 empty lines⟩",
      "  | rm",
      "  |",
      "  | x",
      "  |",
    ]);
    expect(showInline("a\nINFO approved")).toBe("a\\nINFO approved");
  });
});
