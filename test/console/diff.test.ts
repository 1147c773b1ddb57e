// How the console reads diffs. Their text comes from tools, so it may be hostile.
import { describe, expect, test } from "vitest";
import { foldContext, markWords, splitRows, withoutWhitespaceChanges } from "../../console/src/parts/diff/diff-rows.ts";
import { type DiffFile, looksLikeDiff, parseDiff } from "../../console/src/parts/diff/parse-diff.ts";

const filesOf = (text: string): DiffFile[] => parseDiff(text).flatMap((part) => ("file" in part ? [part.file] : []));

describe("reading a diff", () => {
  test("files, their kind, their lines with numbers, and the text around them", () => {
    const text = [
      "M a.txt",
      "--- a/a.txt",
      "+++ b/a.txt",
      "@@ -2,2 +2,3 @@ function f",
      " same",
      "-old",
      "+new",
      "+more",
      "--- /dev/null",
      "+++ b/b.txt",
      "@@ -0,0 +1,1 @@",
      "+b",
      "\\ No newline at end of file",
      "--- a/c.txt",
      "+++ /dev/null",
      "@@ -1,1 +0,0 @@",
      "-c",
      "--- a/d.txt",
      "+++ b/e.txt",
      "@@ -1 +1 @@",
      "-d",
      "+e",
      "",
    ].join("\n");
    expect(looksLikeDiff(text)).toBe(true);
    const parts = parseDiff(text);
    expect(parts[0]).toEqual({ text: "M a.txt" });
    const [changed, added, deleted, renamed] = filesOf(text);
    expect(changed).toMatchObject({ kind: "changed", path: "a.txt", added: 2, removed: 1, isCut: false });
    expect(changed?.hunks[0]).toMatchObject({
      place: "function f",
      lines: [{ oldLine: 2, newLine: 2 }, { oldLine: 3 }, { newLine: 3 }, { newLine: 4 }],
    });
    expect(added).toMatchObject({ kind: "new", path: "b.txt", noNewline: new Set(["new"]) });
    expect(deleted).toMatchObject({ kind: "deleted", path: "c.txt" });
    expect(renamed).toMatchObject({ kind: "renamed", path: "e.txt", from: "d.txt" });
    expect(filesOf("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n")).toMatchObject([
      { kind: "renamed", from: "x", path: "y", hunks: [] },
    ]);
  });

  test("a changed line that looks like the header of another file stays a line", () => {
    const text =
      "--- a/real.txt\n+++ b/real.txt\n@@ -1,2 +1,2 @@\n--- a/harmless.txt\n+++ b/harmless.txt\n @@ -1 +1 @@\n";
    expect(filesOf(text)).toMatchObject([
      {
        path: "real.txt",
        hunks: [{ lines: [{ text: "-- a/harmless.txt" }, { text: "++ b/harmless.txt" }, { type: "same" }] }],
      },
    ]);
  });

  test("quoted names are decoded, and a diff that was cut says so", () => {
    const text = '--- "a/\\346\\226\\207 \\"x\\".txt"\n+++ "b/\\346\\226\\207 \\"x\\".txt"\n@@ -1,3 +1,3 @@\n-a\n+b\n';
    expect(filesOf(text)).toMatchObject([{ path: '文 "x".txt', isCut: true, added: 1, removed: 1 }]);
  });

  test("text without a diff, and numbers beyond all bounds, harm nothing", () => {
    expect(parseDiff("just --- text\n+++ more")).toEqual([{ text: "just --- text\n+++ more" }]);
    expect(filesOf("--- a/x\n+++ b/x\n@@ -99999999999,1 +1,1 @@\n-a\n+b\n")).toEqual([]);
    const many = Array.from({ length: 1_000_000 }, (_, at) => `+line ${at}`).join("\n");
    expect(filesOf(`--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1,1000000 @@\n${many}\n`)).toMatchObject([
      { added: 1_000_000, isCut: false },
    ]);
  });
});

describe("showing a diff", () => {
  const linesOf = (lines: string): DiffFile["hunks"][number]["lines"] => {
    const all = lines.split("\n");
    const old = all.filter((line) => !line.startsWith("+")).length;
    const fresh = all.filter((line) => !line.startsWith("-")).length;
    return filesOf(`--- a/x\n+++ b/x\n@@ -1,${old} +1,${fresh} @@\n${lines}\n`)[0]?.hunks[0]?.lines ?? [];
  };

  test("the words that changed are marked, and not those of unlike lines", () => {
    const [before, after] = markWords(linesOf("-const total = price;\n+const sum = price;"));
    expect(before?.text.slice(before.marks[0]?.from, before.marks[0]?.to)).toBe("total");
    expect(after?.text.slice(after.marks[0]?.from, after.marks[0]?.to)).toBe("sum");
    expect(markWords(linesOf("-import a from b\n+zzz yyy xxx")).map(({ marks }) => marks)).toEqual([[], []]);
  });

  test("changes of white space can be hidden, and only those", () => {
    const kept = withoutWhitespaceChanges(linesOf("-a\n-b  c\n-gone\n+  a\n+b\tc \n+x"));
    expect(kept.map(({ type, text }) => [type, text])).toEqual([
      ["same", "  a"],
      ["same", "b\tc "],
      ["delete", "gone"],
      ["insert", "x"],
    ]);
    expect(kept[0]).toMatchObject({ oldLine: 1, newLine: 1 });
    // A blank between words changes what a command does, and one of another kind is not a blank.
    const command = linesOf("-rm -rf /tmp/x\n+rm -rf / tmp/x");
    expect(withoutWhitespaceChanges(command)).toEqual(command);
    const noBreak = linesOf("-a b\n+a\u00a0b");
    expect(withoutWhitespaceChanges(noBreak)).toEqual(noBreak);
  });

  test("side by side, a removed line is beside the line in its place", () => {
    const rows = splitRows(markWords(linesOf(" s\n-a\n-b\n+c\n t")));
    expect(rows.map(({ left, right }) => [left?.text, right?.text])).toEqual([
      ["s", "s"],
      ["a", "c"],
      ["b", undefined],
      ["t", "t"],
    ]);
  });

  test("long unchanged runs are folded, with three lines on each side", () => {
    const context = Array.from({ length: 20 }, (_, at) => ` ${at}`).join("\n");
    const runs = foldContext(linesOf(`-a\n${context}\n+b`));
    expect(runs.map((run) => ("hidden" in run ? -run.hidden.length : run.shown.length))).toEqual([4, -14, 4]);
  });
});
