import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { createFiles } from "../../io/files/files.ts";
import { createLineIndexes } from "../../io/files/line-index.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import type { FileChange } from "../../io/files/undo-store.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createApplyPatchTool } from "./apply-patch.ts";
import { createEditTool } from "./edit.ts";
import { createReadLedger } from "./read-before-edit.ts";

interface Stage {
  /** Called before each change, including rollbacks; a rejection makes it fail. */
  before?: (change: FileChange, nth: number) => void;
}

function stage(content: Record<string, string | Buffer> = {}, { before }: Stage = {}) {
  const folder = temporaryFolder("haft-patch-");
  for (const [path, bytes] of Object.entries(content)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  const reported: FileChange[] = [];
  const journal = {
    async before(change: FileChange) {
      reported.push(change);
      before?.(change, reported.length);
    },
  };
  const files = createFiles(createPathPolicy({ workspace: folder }), { journal });
  const reads = createReadLedger();
  const tool = createApplyPatchTool({ files, reads });
  const tools = [tool, createEditTool({ files, reads, lineIndexes: createLineIndexes() })];
  const haft = createHaft({ tools, folder, approver: async () => ({ approved: true, by: "test" }) });
  return {
    folder,
    tool,
    haft,
    reported,
    at: (path: string) => join(folder, path),
    tree: () => readTree(folder),
    apply: (...lines: string[]) =>
      haft.execute("apply_patch", { patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") }),
  };
}

/** Every file with its content, and every folder. */
function readTree(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(folder.length + 1), entry.isFile() ? readFileSync(path, "utf8") : "/"] as const;
  });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

test("apply_patch keeps the contract of tools", async () => {
  const { tool, folder } = stage();
  await testTool(tool, { runtime: { folder }, badInputs: [{}, { patch: 7 }] });
});

test("adds, updates, moves and deletes in one patch and reports it", async () => {
  const { apply, tree, reported } = stage({ "a.txt": "one\ntwo\n", "b.txt": "b\n", "old.txt": "o\np\n" });
  const result = await apply(
    "*** Add File: sub/new.txt",
    "+hello",
    "*** Update File: a.txt",
    "@@",
    " one",
    "-two",
    "+zwei",
    "*** Update File: old.txt",
    "*** Move to: moved/old.txt",
    "@@",
    "-o",
    "+O",
    "*** Delete File: b.txt",
  );
  expect(tree()).toEqual({
    "a.txt": "one\nzwei\n",
    moved: "/",
    "moved/old.txt": "O\np\n",
    sub: "/",
    "sub/new.txt": "hello\n",
  });
  expect(textOf(result.content)).toBe(
    "Applied the patch:\nA sub/new.txt\nM a.txt\nM moved/old.txt (was old.txt)\nD b.txt",
  );
  expect(result.details).toMatchObject({
    files: [
      { path: "sub/new.txt", change: "add", added: 1, removed: 0 },
      { path: "a.txt", change: "update", added: 1, removed: 1 },
      { path: "moved/old.txt", from: "old.txt", change: "update", added: 1, removed: 1 },
      { path: "b.txt", change: "delete", added: 0, removed: 1 },
    ],
    diff: expect.stringContaining("-two\n+zwei\n"),
  });
  expect(new Set(reported.map(({ callId }) => callId))).toEqual(new Set([result.callId]));
  expect(
    reported.filter(({ kind }) => kind !== "make_directory").map(({ kind, old }) => [kind, old?.toString()]),
  ).toEqual([
    ["write", undefined],
    ["write", "one\ntwo\n"],
    ["write", undefined],
    ["delete", "o\np\n"],
    ["delete", "b\n"],
  ]);
});

test("nothing is changed if a later part of the patch does not match", async () => {
  const { apply, tree, reported } = stage({ "a.txt": "one\n", "b.txt": "two\n" });
  const before = tree();
  const result = await apply(
    "*** Add File: new.txt",
    "+x",
    "*** Update File: a.txt",
    "@@",
    "-one",
    "+1",
    "*** Update File: b.txt",
    "@@",
    "-not there",
    "+2",
  );
  expect(result).toMatchObject({ error: { code: "no_match" } });
  expect(tree()).toEqual(before);
  expect(reported).toEqual([]);
});

test("a file system failure rolls everything back, including created folders", async () => {
  const { apply, tree, at } = stage({ "a.txt": "one\n", "gone.txt": "g\n", "old.txt": "o\n" });
  chmodSync(at("gone.txt"), 0o640);
  const before = tree();
  // A file and a folder of the same name: only the file system can detect this.
  const result = await apply(
    "*** Update File: a.txt",
    "@@",
    "-one",
    "+1",
    "*** Delete File: gone.txt",
    "*** Update File: old.txt",
    "*** Move to: deep/er/old.txt",
    "@@",
    "-o",
    "+O",
    "*** Add File: x",
    "+file",
    "*** Add File: x/y",
    "+below a file",
  );
  expect(result).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("Nothing of the patch was applied") },
  });
  expect(tree()).toEqual(before);
  expect(statSync(at("gone.txt")).mode & 0o777).toBe(0o640);
});

test("a failed rollback is reported with its paths", async () => {
  const { apply, tree } = stage(
    { "a.txt": "one\n", "b.txt": "two\n" },
    {
      before: (_change, nth) => {
        if (nth >= 2) throw new Error("the journal is full");
      },
    },
  );
  const result = await apply(
    "*** Update File: a.txt",
    "@@",
    "-one",
    "+1",
    "*** Update File: b.txt",
    "@@",
    "-two",
    "+2",
  );
  expect(result).toMatchObject({ error: { code: "io_error", data: { paths: ["a.txt"] } } });
  expect(tree()).toEqual({ "a.txt": "1\n", "b.txt": "two\n" });
});

test("a change that cannot be recorded does not happen, and the earlier ones are rolled back", async () => {
  const { apply, tree } = stage(
    { "a.txt": "one\n", "b.txt": "two\n" },
    {
      before: ({ path }) => {
        if (path.endsWith("b.txt")) throw new Error("the journal is full");
      },
    },
  );
  const result = await apply(
    "*** Update File: a.txt",
    "@@",
    "-one",
    "+1",
    "*** Update File: b.txt",
    "@@",
    "-two",
    "+2",
  );
  expect(result).toMatchObject({ error: { code: "not_recorded" } });
  expect(tree()).toEqual({ "a.txt": "one\n", "b.txt": "two\n" });
});

test("changing one file under two names is refused", async () => {
  const { apply, at, tree } = stage({ "a.txt": "one\n" });
  symlinkSync("a.txt", at("link.txt"));
  const result = await apply(
    "*** Update File: a.txt",
    "@@",
    "-one",
    "+1",
    "*** Update File: link.txt",
    "@@",
    "-one",
    "+2",
  );
  expect(result).toMatchObject({ error: { code: "bad_patch", data: { reason: "duplicate_path" } } });
  expect(tree()).toMatchObject({ "a.txt": "one\n" });
});

test("an update follows a link; a link is neither deleted nor moved", async () => {
  const { apply, at, tree } = stage({ "a.txt": "one\n" });
  symlinkSync("a.txt", at("link.txt"));
  expect(await apply("*** Update File: link.txt", "@@", "-one", "+1")).toMatchObject({ status: "completed" });
  expect(tree()).toMatchObject({ "a.txt": "1\n", "link.txt": "/" });
  for (const lines of [
    ["*** Delete File: link.txt"],
    ["*** Update File: link.txt", "*** Move to: b.txt", "@@", "-1", "+2"],
  ]) {
    expect(await apply(...lines)).toMatchObject({ error: { code: "not_regular_file" } });
  }
  expect(existsSync(at("link.txt"))).toBe(true);
});

test("an existing file is neither added nor overwritten; a missing one gets a suggestion", async () => {
  const { apply } = stage({ "config.ts": "a\n", "b.txt": "b\n" });
  expect(await apply("*** Add File: b.txt", "+x")).toMatchObject({ error: { code: "path_exists" } });
  const onto = ["*** Update File: config.ts", "*** Move to: b.txt", "@@", "-a", "+b"];
  expect(await apply(...onto)).toMatchObject({ error: { code: "path_exists" } });
  expect(await apply("*** Update File: confg.ts", "@@", "-a", "+b")).toMatchObject({
    error: { code: "path_not_found", data: { near: ["config.ts"] } },
  });
  expect(await apply("*** Delete File: nope")).toMatchObject({ error: { code: "path_not_found" } });
});

test("an empty file can be added and deleted; a patch without changes is refused", async () => {
  const { apply, tree } = stage({ "empty.txt": "", "a.txt": "one\n" });
  expect(await apply("*** Add File: new.txt", "*** Delete File: empty.txt")).toMatchObject({ status: "completed" });
  expect(tree()).toEqual({ "a.txt": "one\n", "new.txt": "" });
  expect(await apply("*** Update File: a.txt", "@@", " one")).toMatchObject({ error: { code: "no_change" } });
});

test("line ends, byte order mark, mode and encoding are preserved", async () => {
  const latin = Buffer.from("gr\xfc\xdfe\nzwei\n", "latin1");
  const { apply, at } = stage({ "crlf.txt": "\ufeffone\r\ntwo\r\n", "latin.txt": latin });
  chmodSync(at("crlf.txt"), 0o755);
  await apply("*** Update File: crlf.txt", "@@", "-two", "+2", "+3", "*** Update File: latin.txt", "@@", "-zwei", "+2");
  expect(readFileSync(at("crlf.txt"), "utf8")).toBe("\ufeffone\r\n2\r\n3\r\n");
  expect(statSync(at("crlf.txt")).mode & 0o777).toBe(0o755);
  expect(readFileSync(at("latin.txt"))).toEqual(Buffer.from("gr\xfc\xdfe\n2\n", "latin1"));
});

test("placeholders for omitted text are refused in added files and in hunks", async () => {
  const { apply, tree } = stage({ "a.ts": "let a;\n" });
  expect(await apply("*** Add File: b.ts", "+let b;", "+// ... rest of the code")).toMatchObject({
    error: { code: "elided" },
  });
  const hunk = ["*** Update File: a.ts", "@@", "-let a;", "+let b;", "+// ... existing code ..."];
  expect(await apply(...hunk)).toMatchObject({ error: { code: "elided" } });
  expect(tree()).toEqual({ "a.ts": "let a;\n" });
});

test("outside and protected paths are refused anywhere in the patch", async () => {
  const { apply, tree } = stage({ "a.txt": "one\n" });
  for (const path of ["../escape.txt", "/etc/escape.txt", ".git/hooks/pre-commit"]) {
    const added = await apply("*** Update File: a.txt", "@@", "-one", "+1", `*** Add File: ${path}`, "+x");
    expect(added).toMatchObject({ error: { code: "path_denied" } });
    const moved = await apply("*** Update File: a.txt", `*** Move to: ${path}`, "@@", "-one", "+1");
    expect(moved).toMatchObject({ error: { code: "path_denied" } });
  }
  expect(tree()).toEqual({ "a.txt": "one\n" });
});

test("files written by a patch are recorded as read", async () => {
  const { apply, haft, tree } = stage({ "a.txt": "one\n" });
  await apply("*** Update File: a.txt", "@@", "-one", "+1");
  const edited = await haft.execute("edit", { path: "a.txt", old_string: "1", new_string: "2" });
  expect(edited).toMatchObject({ status: "completed" });
  expect(tree()).toEqual({ "a.txt": "2\n" });
});

test("two concurrent patches of one file are both applied", async () => {
  const { haft, tree } = stage({ "a.txt": "1\n2\n3\n4\n" });
  const patch = (n: number) => `*** Begin Patch\n*** Update File: a.txt\n@@\n-${n}\n+line ${n}\n*** End Patch`;
  const results = await haft.executeMany(
    [1, 2, 3, 4].map((n) => ({ name: "apply_patch", input: { patch: patch(n) } })),
  );
  expect(results.map(({ status }) => status)).toEqual(Array(4).fill("completed"));
  expect(tree()).toEqual({ "a.txt": "line 1\nline 2\nline 3\nline 4\n" });
});

test("the preview shows the change; an invalid patch needs no approval", async () => {
  const { tool, folder } = stage({ "a.txt": "one\n" });
  const requested: unknown[] = [];
  const haft = createHaft({
    tools: [tool],
    folder,
    approver: async (approval) => void requested.push(approval),
  });
  const update = "*** Update File: a.txt\n*** Move to: c.txt\n@@\n-one\n+1\n";
  await haft.execute("apply_patch", { patch: `*** Begin Patch\n${update}*** Add File: empty.txt\n*** End Patch` });
  const shown = JSON.stringify(requested);
  expect(shown).toContain("--- a/a.txt\\n+++ b/c.txt");
  expect(shown).toContain("-one\\n+1");
  // Without a diff, the file is named.
  expect(shown).toContain("A empty.txt");
  expect(await haft.execute("apply_patch", { patch: "" })).toMatchObject({ error: { code: "bad_patch" } });
  expect(requested).toHaveLength(1);
});

test("the preview shows what is lost or changed before what is new", async () => {
  const { tool, folder } = stage({ "a.txt": "one\n", "b.txt": "two\n" });
  const haft = createHaft({ tools: [tool], folder });
  const changes = "*** Add File: new.txt\n+new\n*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: b.txt\n";
  await haft.execute("apply_patch", { patch: `*** Begin Patch\n${changes}*** End Patch` });
  const [question] = await haft.approvals.list("pending");
  expect(JSON.stringify(question?.preview)).toMatch(/-two.*-one.*\+new/s);
});

test("a patch that does not match names the file", async () => {
  const { apply } = stage({ "a.txt": "one\n", "src/b.txt": "two\n" });
  const result = await apply("*** Update File: a.txt", "-one", "+1", "*** Update File: src/b.txt", "-three", "+3");
  const message = expect.stringContaining("Hunk 1 (patch line 6) of src/b.txt does not match the file");
  expect(result).toMatchObject({ error: { code: "no_match", message } });
});

test("a patch of thousands of hunks or files is refused before it is read", async () => {
  const { apply } = stage({ "a.txt": "a\n" });
  const hunks = Array.from({ length: 2001 }, () => "@@\n a");
  const files = Array.from({ length: 1001 }, (_each, at) => `*** Add File: f${at}\n+a`);
  const limit = (message: string) => ({ error: { code: "too_large", message: expect.stringContaining(message) } });
  expect(await apply("*** Update File: a.txt", ...hunks)).toMatchObject(limit("2001 hunks; the limit is 2000"));
  expect(await apply(...files)).toMatchObject(limit("1001 files; the limit is 1000"));
});
