import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import type { FileChange } from "../../io/files/undo-store.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createLineIndexes } from "../../io/files/line-index.ts";
import { createFileTools } from "../tool-families.ts";
import { createMoveFileTool } from "./move-file.ts";
import { createReadLedger } from "./read-before-edit.ts";

function stage(content: Record<string, string> = {}) {
  const folder = temporaryFolder("haft-move-");
  const at = (path: string) => join(folder, path);
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
  }
  const reported: FileChange[] = [];
  const files = createFiles(createPathPolicy({ workspace: folder }), {
    journal: { before: async (change) => void reported.push(change) },
  });
  const findFiles = async () => ({ files: [], hasMore: false });
  const listTree = async () => ({ paths: [], isComplete: true });
  const dependencies = { files, reads: createReadLedger(), lineIndexes: createLineIndexes(), findFiles, listTree };
  const haft = createHaft({
    tools: createFileTools(dependencies),
    folder,
    approver: async () => ({ approved: true, by: "test" }),
  });
  const move = (input: object) => haft.execute("move_file", input);
  return { at, folder, haft, move, reported, tool: createMoveFileTool(dependencies) };
}

test("move_file keeps the contract of tools", async () => {
  const { tool, folder } = stage({ "draft.md": "x" });
  await testTool(tool, { runtime: { folder }, badInputs: [{ from: "a" }, { from: "a", to: "" }] });
});

test("moves a file into new folders and journals it", async () => {
  const { at, move, reported } = stage({ "a.txt": "content" });
  const result = await move({ source: "a.txt", destination: "new/place/b.txt" });
  expect(result).toMatchObject({ details: { success: true, from: "a.txt", to: "new/place/b.txt" } });
  expect(readFileSync(at("new/place/b.txt"), "utf8")).toBe("content");
  expect(existsSync(at("a.txt"))).toBe(false);
  expect(reported.at(-1)).toMatchObject({
    kind: "move",
    path: at("a.txt"),
    to: at("new/place/b.txt"),
    callId: result.callId,
  });
});

test("an existing target is refused unless overwrite is set", async () => {
  const { at, move, reported } = stage({ "a.txt": "new", "b.txt": "old" });
  expect(await move({ from: "a.txt", to: "b.txt" })).toMatchObject({ error: { code: "path_exists" } });
  expect(readFileSync(at("b.txt"), "utf8")).toBe("old");
  expect(await move({ from: "a.txt", to: "b.txt", overwrite: true })).toMatchObject({ status: "completed" });
  expect(readFileSync(at("b.txt"), "utf8")).toBe("new");
  expect(reported.at(-1)?.old?.toString()).toBe("old");
});

test("moves a folder with its content but not into itself; a link moves as a link", async () => {
  const { at, move } = stage({ "d/x.txt": "1" });
  symlinkSync("d/x.txt", at("link"));
  expect(await move({ from: "d", to: "d/e" })).toMatchObject({ error: { code: "invalid_input" } });
  expect(await move({ from: "d", to: "e" })).toMatchObject({ status: "completed" });
  expect(readFileSync(at("e/x.txt"), "utf8")).toBe("1");
  expect(await move({ from: "link", to: "link2" })).toMatchObject({ status: "completed" });
  expect(lstatSync(at("link2")).isSymbolicLink()).toBe(true);
});

test("a missing file gets a suggestion; the workspace and outside paths are refused", async () => {
  const { move } = stage({ "config.ts": "" });
  expect(await move({ from: "confg.ts", to: "x" })).toMatchObject({
    error: { code: "path_not_found", data: { near: ["config.ts"] } },
  });
  expect(await move({ from: ".", to: "x" })).toMatchObject({ error: { code: "path_denied" } });
  expect(await move({ from: "config.ts", to: "../x" })).toMatchObject({ error: { code: "path_denied" } });
  expect(await move({ from: "config.ts", to: ".git/config" })).toMatchObject({ error: { code: "path_denied" } });
});

test("a read file is recorded as read at its new path; an unread one is not", async () => {
  const { haft, move } = stage({ "read.txt": "a\n", "unread.txt": "a\n" });
  await haft.execute("read", { path: "read.txt" });
  await move({ from: "read.txt", to: "1.txt" });
  await move({ from: "unread.txt", to: "2.txt" });
  const edit = (path: string) => haft.execute("edit", { path, old_string: "a", new_string: "b" });
  expect(await edit("1.txt")).toMatchObject({ status: "completed" });
  expect(await edit("2.txt")).toMatchObject({ error: { code: "not_read" } });
});

test("its preview shows what an overwrite loses, and names cannot imitate its lines", async () => {
  const { at, haft, previewOf } = asking({
    "a.txt": "new\n",
    "b.txt": "old\n",
    "big.txt": "line\n".repeat(300_000),
    "data.bin": "\u0000\u0001\u0002",
  });
  symlinkSync("b.txt", at("link"));
  const overwrite = true;
  expect(await previewOf({ from: "a.txt", to: "b\n→ safe.txt\n→ c" })).toMatchObject({
    title: "Move",
    text: 'a.txt\n→ "b\\n→ safe.txt\\n→ c"',
  });
  const replaced = await previewOf({ from: "a.txt", to: "b.txt", overwrite });
  expect(replaced).toMatchObject({ title: "Move, and replace the existing file", unseen: undefined });
  expect(replaced.text).toContain("a.txt\n→ b.txt\n");
  expect(replaced.text).toContain("-old\n+new\n");
  const large = await previewOf({ from: "a.txt", to: "big.txt", overwrite });
  expect(large.unseen).toBe("Not shown: the content of big.txt (1500000 bytes).");
  expect((await previewOf({ from: "data.bin", to: "a.txt", overwrite })).unseen).toContain(
    "data.bin, which is not text",
  );
  expect(await previewOf({ from: "a.txt", to: "link", overwrite })).toMatchObject({
    title: "Move, and replace the existing link",
    text: "a.txt\n→ link\nIt links to b.txt.",
  });
  await haft.shutdown();
});

function asking(content: Record<string, string>) {
  const { at, folder, tool } = stage(content);
  const haft = createHaft({ tools: [tool], folder });
  const previewOf = async (input: object) => {
    await haft.execute("move_file", input);
    const { preview, unseen } = (await haft.approvals.list("pending")).at(-1) ?? {};
    const [block] = preview?.content ?? [];
    return { title: preview?.title, text: block?.type === "text" ? block.text : "", unseen };
  };
  return { at, haft, previewOf };
}
