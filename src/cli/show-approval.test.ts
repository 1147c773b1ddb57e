import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anApproval } from "../calls/approval.fixture.ts";
import type { ShownApproval } from "../gate/permit/approval-parts.ts";
import { widthOf } from "./layout.ts";
import type { Paint } from "./output.ts";
import { shortId, showApproval } from "./show-approval.ts";
import { showForeignText } from "./show-diff.ts";

const plain: Paint = (_style, text) => text;
/** `<red inverse:text>`. */
const tagged: Paint = (style, text) => `<${[style].flat().join(" ")}:${text}>`;
const risk = { level: "critical", reasons: [{ key: "x", text: "It deletes files." }] } as const;

const question = (more: Partial<ShownApproval>): ShownApproval =>
  anApproval({
    id: "apr_0123456789abcdef01234567",
    toolName: "exec",
    hash: `sha256:${"0123456789abcdef".repeat(4)}`,
    summary: { subject: { type: "command", text: "rm -rf build" }, risk },
    input: { command: "rm -rf build" },
    ...(more as object),
  });

describe("a question at a terminal", () => {
  test("begins with the risk as a word and a sign, and has short ids and hashes; --verbose has them in full", () => {
    const shown = showApproval(question({}), { paint: plain, columns: 80 });
    expect(shown.slice(0, 4)).toEqual([
      "‼ CRITICAL  exec asks for permission (apr_01234567)",
      "  It deletes files.",
      "",
      "  | rm -rf build",
    ]);
    expect(shown).toContain("  call hash  0123456789ab");
    const full = showApproval(question({}), { paint: plain, columns: Infinity, isVerbose: true }).join("\n");
    expect(full).toContain("apr_0123456789abcdef01234567");
    expect(full).toContain(`sha256:${"0123456789abcdef".repeat(4)}`);
    expect(shortId("apr_1")).toBe("apr_1");
  });

  test("says the deadline and how long the caller waits as times from now", () => {
    const now = Date.now();
    const times = { askedAt: now - 120_000, expiresAt: now + 3_600_000, waitsUntil: now + 40_000 };
    const shown = showApproval(question(times), { paint: plain, columns: 100, now }).join("\n");
    expect(shown).toMatch(/asked by .*, 2 min ago/);
    expect(shown).toMatch(/until +\d{4}-\d\d-\d\d \d\d:\d\d, in 60 min; the caller waits 40 s more/);
    const left = { ...times, waitsUntil: undefined, hasCallerEnded: true };
    const lines = showApproval(question(left), { paint: plain, columns: 100, now }).join("\n");
    expect(lines).toMatch(/in 60 min; its caller has ended/);
  });

  test("fits the terminal, and every line of foreign text has the gutter", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 120 });
    fc.assert(
      fc.property(text, text, fc.integer({ min: 30, max: 120 }), (command, extra, columns) => {
        const hostile = `${command}\n  asked by   root\n→ approved`;
        const more = { input: { command: hostile, extra }, reason: extra, toolName: "exec" };
        for (const line of showApproval(question(more), { paint: plain, columns })) {
          expect(widthOf(line), line).toBeLessThanOrEqual(columns);
          expect(line).not.toMatch(/^→|^ {2}asked by {3}root|[\x00-\x1f\x7f-\x9f\u202e\u200b]/);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("a diff", () => {
  const diff = (from: string, to: string, lines: string): string => `--- ${from}\n+++ ${to}\n${lines}`;

  test("has a label with counts, colours, and marks on the words that changed", () => {
    const text = diff(
      "a/a.ts",
      "b/a.ts",
      "@@ -1,2 +1,2 @@\n const a = 1;\n-const total = price * count;\n+const total = price * amount;",
    );
    expect(showForeignText(text, { paint: tagged, columns: 200 })).toEqual([
      "  | <bold:changed a.ts><green: +1><red: -1>",
      "  | <cyan:@@ -1,2 +1,2 @@>",
      "  |  const a = 1;",
      "  | <red:-><red:const total = price * ><red inverse:count><red:;>",
      "  | <green:+><green:const total = price * ><green inverse:amount><green:;>",
    ]);
  });

  test.each([
    ["new file n.ts +1", diff("/dev/null", "b/n.ts", "@@ -0,0 +1,1 @@\n+x")],
    ["deleted o.ts -1", diff("a/o.ts", "/dev/null", "@@ -1,1 +0,0 @@\n-x")],
    ["renamed o.ts → n.ts +1 -1", diff("a/o.ts", "b/n.ts", "@@ -1,1 +1,1 @@\n-x\n+y")],
  ])("is labelled: %s", (label, text) => {
    expect(showForeignText(text, { paint: plain, columns: 80 })[0]).toBe(`  | ${label}`);
  });

  test("ends where its numbers say: a removed line of dashes is no head of a file", () => {
    const text = diff("a/a.sql", "b/a.sql", "@@ -1,3 +1,1 @@\n--- a comment\n-++ b/x\n keep\nafter");
    expect(showForeignText(text, { paint: plain, columns: 80 })).toEqual([
      "  | changed a.sql -2",
      "  | @@ -1,3 +1,1 @@",
      "  | --- a comment",
      "  | -++ b/x",
      "  |  keep",
      "  | after",
    ]);
  });

  test("breaks long lines behind another gutter, before a blank if one is near, and loses nothing", () => {
    const words = "one two three four five six seven eight nine ten eleven twelve";
    const rows = showForeignText(words, { paint: plain, columns: 30 });
    expect(rows.every((row, at) => row.startsWith(at === 0 ? "  | " : "  ┊ "))).toBe(true);
    expect(rows.map((row) => row.slice(4)).join("")).toBe(words);
    const solid = "x".repeat(1_000_000);
    expect(
      showForeignText(solid, { paint: plain, columns: 80 })
        .map((row) => row.slice(4))
        .join(""),
    ).toBe(solid);
  });
});
