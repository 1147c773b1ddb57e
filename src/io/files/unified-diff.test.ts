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

  it("cuts its text at a line end and reports it", async () => {
    const diff = await diffOf("", "é\n".repeat(1000), 100);
    expect(diff).toMatchObject({ added: 1000, truncated: true });
    expect(Buffer.byteLength(diff.text)).toBeLessThanOrEqual(100);
    expect(diff.text.endsWith("+é\n")).toBe(true);
  });
});
