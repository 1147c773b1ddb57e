import { describe, expect, test } from "vitest";
import { anApproval } from "../../calls/approval.fixture.ts";
import { describeApproval, describeApprovalAsMarkup, showInline, showText } from "./describe-approval.ts";

describe("a question", () => {
  test("shows who asks, why, by which rule, where, the exact call, its expiry and the rules to save", () => {
    const shown = describeApproval(
      anApproval({
        id: "apr_1",
        toolName: "exec",
        caller: { session: "s1", agent: "coder", user: "ann", depth: 1 },
        input: { command: "rm -rf build", timeout: 3, script: "one\ntwo" },
        reason: "a rule asks",
        verdict: { decision: "ask", by: "rule", reason: "a rule asks", rule: "Bash(rm:*)", origin: ".haft/config.yml" },
        preview: { title: "Remove", content: [{ type: "text", text: "-old\n+new" }] },
        suggestedRules: ["Bash(rm -rf build)"],
        hash: "sha256:abc",
        expiresAt: 0,
      }),
    );
    expect(shown).toEqual([
      "exec asks for permission (apr_1)",
      "  asked by   session s1, agent coder, user ann, subagent of depth 1",
      "  because    a rule asks",
      "  rule       Bash(rm:*) in .haft/config.yml",
      "  folder     /w",
      '  command    "rm -rf build"',
      "  timeout    3",
      "  script     (7 characters in 2 lines)",
      "  | one",
      "  | two",
      "  preview    Remove",
      "  | -old",
      "  | +new",
      "  runs       sha256:abc",
      "  until      1970-01-01T00:00:00.000Z",
      "  may save   Bash(rm -rf build)",
      "  - allows   exactly this command",
      "  - asks for rm -rf with other words",
    ]);
  });

  test("shows long arguments in full, on separate lines", () => {
    const command = `${"x".repeat(5000)} && rm -rf /`;
    const shown = describeApproval(anApproval({ input: { command } })).join("\n");
    expect(shown).toContain("(5012 characters in 1 lines)");
    expect(shown).toContain(`  | ${command}`);
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

  test("is neither HTML nor Markdown for a page or a chat", () => {
    const page = describeApprovalAsMarkup(anApproval({ input: { a: "<img onerror=x>", b: "[x](javascript:y) `z`" } }));
    expect(page).not.toMatch(/<(?!br>)|javascript:|\[|`/);
    expect(page).toContain("&#60;img onerror=x&#62;");
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
