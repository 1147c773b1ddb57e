import { applyPatch } from "diff";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unifiedDiff } from "./unified-diff.ts";

const diffOf = (before: string, after: string, maxBytes?: number) =>
  unifiedDiff({ before, after }, { path: "f.txt", maxBytes });

describe("unifiedDiff", () => {
  it("shows a change with context lines", async () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join("");
    expect(await diffOf(before, before.replace("line 10\n", "LINE 10\n"))).toEqual({
      text: "--- a/f.txt\n+++ b/f.txt\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+LINE 10\n line 11\n line 12\n line 13\n",
      added: 1,
      removed: 1,
      truncated: false,
    });
  });

  it("handles new files, emptied files, missing final newlines and no change", async () => {
    expect((await diffOf("", "a\nb")).text).toBe(
      "--- /dev/null\n+++ b/f.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n",
    );
    expect((await diffOf("a\n", "")).text).toBe("--- a/f.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
    expect((await diffOf("a\n", "a")).text).toContain("\\ No newline at end of file");
    expect(await diffOf("same", "same")).toEqual({ text: "", added: 0, removed: 0, truncated: false });
  });

  it("returns a patch that turns one text into the other", async () => {
    const line = fc.constantFrom("a\n", "b\n", "c\n", "\n", "d\r\n", "longer line\n");
    const text = fc
      .tuple(fc.array(line, { maxLength: 40 }), fc.constantFrom("", "end"))
      .map(([lines, end]) => lines.join("") + end);
    await fc.assert(
      fc.asyncProperty(text, text, text, text, async (head, before, after, tail) => {
        const [old, fresh] = [head + before + tail, head + after + tail];
        const { text: patch } = await diffOf(old, fresh);
        expect(patch === "" ? old : applyPatch(old, patch, { autoConvertLineEndings: false })).toBe(fresh);
      }),
      { numRuns: 300 },
    );
  });

  it("shows a complete rewrite of a large file as one correct block", async () => {
    const before = Array.from({ length: 6000 }, (_, index) => `old ${index}\n`).join("");
    const after = Array.from({ length: 6000 }, (_, index) => `new ${index}\n`).join("");
    const diff = await diffOf(before, after, Infinity);
    expect(diff).toMatchObject({ added: 6000, removed: 6000, truncated: false });
    expect(applyPatch(before, diff.text)).toBe(after);
  });

  it("shows each of many changes, also if they are too many for the shortest diff", async () => {
    const line = (index: number, word: string): string => `${word} ${index}\n`;
    const before = Array.from({ length: 9000 }, (_, index) => line(index, "kept"));
    const after = before.flatMap((each, index) =>
      index % 10 === 3 ? [line(index, "new")] : index % 10 === 7 ? [each, "}\n"] : [each],
    );
    const [old, fresh] = [before.join(""), `${after.join("")}end`];
    const diff = await diffOf(old, fresh, Infinity);
    expect(diff).toMatchObject({ added: 1801, removed: 900, truncated: false });
    expect(applyPatch(old, diff.text)).toBe(fresh);
  });

  it("returns a patch for any large change", async () => {
    const lines = fc.array(
      fc
        .constantFrom("a\n", "b\n", "\n", "}\n")
        .chain((common) => fc.nat(400).map((n) => (n < 100 ? `${n}\n` : common))),
      { minLength: 200, maxLength: 600 },
    );
    await fc.assert(
      fc.asyncProperty(lines, lines, fc.constantFrom("", "end"), async (one, other, end) => {
        const [old, fresh] = [one.join(""), other.join("") + end];
        const { text: patch } = await diffOf(old, fresh, Infinity);
        expect(applyPatch(old, patch, { autoConvertLineEndings: false })).toBe(fresh);
      }),
      { numRuns: 20 },
    );
  });

  it("cuts its text at a line end and reports it", async () => {
    const diff = await diffOf("", "é\n".repeat(1000), 100);
    expect(diff).toMatchObject({ added: 1000, truncated: true });
    expect(Buffer.byteLength(diff.text)).toBeLessThanOrEqual(100);
    expect(diff.text.endsWith("+é\n")).toBe(true);
  });
});

describe("a change in a very long line", () => {
  const long = Array.from({ length: 1_000_000 }, (_, index) => `word${index} `).join("");

  it("is shown with its surroundings and the lengths of the rest", async () => {
    expect(long.length).toBeGreaterThan(10_000_000);
    const { text, truncated, omitted } = await diffOf(
      `first\n${long}\n`,
      `first\n${long.replace("word500000 ", "NEW ")}\n`,
    );
    expect(text).toMatch(/^-\[… \d+ characters …\].*word499999 word500000 word500001.*\[… \d+ characters …\]$/m);
    expect(text).toMatch(/^\+\[… \d+ characters …\].*word499999 NEW word500001.*\[… \d+ characters …\]$/m);
    expect({ truncated, omitted, isShort: text.length < 2_000 }).toEqual({
      truncated: false,
      omitted: undefined,
      isShort: true,
    });
  });

  it("is shown at each place if there are several", async () => {
    const changed = long.replace("word1000 ", "ONE ").replace("word500000 ", "").replace("word900000 ", "x3 ");
    const { text, truncated } = await diffOf(long, changed);
    for (const shown of ["word1000 ", "word500000 ", "word900000 "]) expect(text).toContain(shown);
    for (const shown of ["ONE word1001", "word499999 word500001", "x3 word900001"]) expect(text).toContain(shown);
    expect(truncated).toBe(false);
    expect(text.length).toBeLessThan(4_000);
  });

  it("that is itself too long is shown with its beginning and end, and the rest is counted", async () => {
    const { text, truncated, omitted } = await diffOf("old\n", `start ${"x".repeat(300_000)} end\n`);
    expect(text).toContain("-old\n+start xxx");
    expect(text).toMatch(/xxx end$/m);
    expect(truncated).toBe(true);
    expect(omitted).toMatch(/^\d+ characters of long changed lines$/);
  });

  it("shows every changed character, for any lines", async () => {
    const filler = fc.integer({ min: 0, max: 5_000 }).map((length) => "lorem ipsum ".repeat(length / 12));
    const word = fc.constantFrom("ALPHA", "BETA", "😀", "é", "");
    await fc.assert(
      fc.asyncProperty(filler, word, filler, word, word, filler, async (a, one, b, two, three, c) => {
        const { text, truncated } = await diffOf(`${a}${one}${b}${c}\n`, `${a}${two}${b}${three}${c}\n`);
        expect(truncated).toBe(false);
        expect(text.isWellFormed()).toBe(true);
        const isShown = [two, three].every((changed) => one !== "" || text.includes(changed));
        expect(isShown || a + one + b + c === a + two + b + three + c).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it("reports lines that the limit cuts", async () => {
    const { omitted, truncated } = await diffOf("", "line\n".repeat(1000), 1000);
    expect(truncated).toBe(true);
    expect(omitted).toMatch(/^\d{3} of 1000 changed lines$/);
  });
});
