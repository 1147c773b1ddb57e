import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createTwoFilesPatch } from "diff";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { applyTo, createApplyPatchTool } from "./apply-patch.ts";
import { parseUnifiedDiff } from "./parse-unified-diff.ts";
import { createReadLedger } from "./read-before-edit.ts";

function stage(content: Record<string, string>) {
  const folder = temporaryFolder("haft-diff-");
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(content)) write(path, text);
  const files = createFiles(createPathPolicy({ workspace: folder }));
  const tool = createApplyPatchTool({ files, reads: createReadLedger() });
  const haft = createHaft({ tools: [tool], folder, approver: async () => ({ approved: true, by: "test" }) });
  return {
    folder,
    write,
    apply: (patch: string) => haft.execute("apply_patch", { patch }),
    tree: () => treeOf(folder),
  };
}

function treeOf(folder: string): Record<string, string> {
  const found = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  const paths = found.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  return Object.fromEntries(
    paths.filter((path) => !path.startsWith(".git/")).map((path) => [path, readFileSync(join(folder, path), "utf8")]),
  );
}

const numbered = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join("");

test("applies what git diff prints: changed, new, deleted, renamed and executable files, and final line ends", async () => {
  const { folder, write, apply, tree } = stage({
    "a.txt": numbered(1, 60),
    "src/old name.txt": numbered(1, 20),
    "gone.txt": "x\ny\n",
    "empty-gone.txt": "",
    "end.txt": "one\ntwo",
    "noend.txt": "one\ntwo\n",
    "größe.txt": "ä\n",
    "dashes.sql": "-- one\n-- two\nselect 1\n",
    "crlf.txt": "a\r\nb\r\nc\r\n",
    "same.txt": `${"}\n".repeat(30)}x\n`,
  });
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
      cwd: folder,
      encoding: "utf8",
    });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "before");
  write("a.txt", `${numbered(0, 10)}changed\n${numbered(12, 40)}${numbered(45, 60)}more\n`);
  renameSync(join(folder, "src/old name.txt"), join(folder, "src/new.txt"));
  write("src/new.txt", numbered(1, 20).replace("line 7\n", "LINE 7\n"));
  for (const path of ["gone.txt", "empty-gone.txt"]) rmSync(join(folder, path));
  write("end.txt", "one\ntwo\n");
  write("noend.txt", "one\n2");
  write("größe.txt", "ä\nö\n");
  write("dashes.sql", "select 1\n-- three\n");
  write("crlf.txt", "a\r\nB\r\nc\r\n");
  write("same.txt", `${"}\n".repeat(12)}in the middle\n${"}\n".repeat(18)}x\n`);
  write("new/run.sh", "#!/bin/sh\n");
  chmodSync(join(folder, "new/run.sh"), 0o755);
  write("new/empty.txt", "");
  write("new/noend.txt", "text");
  git("add", "-A");
  const patch = git("diff", "--cached", "-M");
  const after = tree();
  git("reset", "-q", "--hard");

  const result = await apply(patch);
  expect(result).toMatchObject({ status: "completed" });
  expect(tree()).toEqual(after);
  expect(statSync(join(folder, "new/run.sh")).mode & 0o111).not.toBe(0);
  expect(git("status", "--porcelain")).toContain("?? src/new.txt");
});

test("the diff of two texts turns one into the other", async () => {
  const lines = fc.array(fc.constantFrom("a\n", "b\n", "-- c\n", "++ d\n", "\n", "  e\n"), { maxLength: 40 });
  const text = fc.tuple(lines, fc.constantFrom("", "end")).map(([all, end]) => all.join("") + end);
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      fc.pre(before !== after && before !== "" && after !== "");
      const [change] = parseUnifiedDiff(createTwoFilesPatch("a/f", "b/f", before, after)) ?? [];
      if (change?.type !== "update") throw new TypeError("no update");
      expect(await applyTo(before, change.hunks, change)).toBe(after);
    }),
    { numRuns: 200 },
  );
});

describe("a unified diff", () => {
  const HUNK = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
  const FILE = { "a.txt": "one\ntwo\nthree\n" };
  test.each([
    ["without git's first line", `--- a/a.txt\n+++ b/a.txt\n${HUNK}`],
    ["without prefixes", `--- a.txt\n+++ a.txt\n${HUNK}`],
    ["with time stamps", `--- a.txt\t2026-01-01 10:00:00\n+++ a.txt\t2026-01-02 10:00:00\n${HUNK}`],
    ["in a code fence", `\`\`\`diff\n--- a/a.txt\n+++ b/a.txt\n${HUNK}\`\`\`\n`],
    ["between the lines of a patch", `*** Begin Patch\n--- a/a.txt\n+++ b/a.txt\n${HUNK}*** End Patch\n`],
    ["with wrong numbers", `--- a/a.txt\n+++ b/a.txt\n@@ -7,9 +7,2 @@\n one\n-two\n+2\n three\n`],
    [
      "after a commit message, with a signature",
      `From 1234\nSubject: two\n\n---\n a.txt | 2 +-\n\ndiff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n${HUNK}-- \n2.39.0\n`,
    ],
  ])("is applied %s", async (_, patch) => {
    const { apply, tree } = stage(FILE);
    expect(await apply(patch)).toMatchObject({
      status: "completed",
      details: { files: [{ path: "a.txt", change: "update" }] },
    });
    expect(tree()).toEqual({ "a.txt": "one\n2\nthree\n" });
  });

  test.each([
    ["two names", `--- a/a.txt\n+++ b/b.txt\n${HUNK}`, "bad_patch", "names two files"],
    ["other permissions", "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n", "bad_patch", "permissions"],
    ["a binary file", "diff --git a/x b/x\nBinary files a/x and b/x differ\n", "bad_patch", "binary"],
    [
      "a link",
      "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a.txt\n",
      "bad_patch",
      "not a regular file",
    ],
    [
      "lines that are not there",
      `--- a/a.txt\n+++ b/a.txt\n${HUNK.replace("-two", "-zwei")}`,
      "no_match",
      "of a.txt does not match",
    ],
    ["a path outside", `--- a/../x.txt\n+++ b/../x.txt\n${HUNK}`, "path_denied", "Access denied"],
    [
      "the deletion of other content",
      "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-other\n",
      "no_match",
      "other content",
    ],
    ["a new file that exists", "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "path_exists", "already exists"],
    [
      "one file twice",
      `--- a/a.txt\n+++ b/a.txt\n${HUNK}--- a/a.txt\n+++ b/a.txt\n${HUNK}`,
      "bad_patch",
      "already changed",
    ],
  ])("with %s is refused, and nothing is changed", async (_, patch, code, message) => {
    const { apply, tree } = stage(FILE);
    expect(await apply(patch)).toMatchObject({ error: { code, message: expect.stringContaining(message) } });
    expect(tree()).toEqual(FILE);
  });
});
