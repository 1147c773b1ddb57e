import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import type { FileChange } from "../../io/files/undo-store.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createDeleteFileTool } from "./delete-file.ts";

function stage(content: Record<string, string> = {}) {
  const base = temporaryFolder("haft-delete-");
  const folder = join(base, "workspace");
  const at = (path: string) => join(folder, path);
  mkdirSync(folder);
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
  }
  const reported: FileChange[] = [];
  const tool = createDeleteFileTool({
    files: createFiles(createPathPolicy({ workspace: folder }), {
      journal: { before: async (change) => void reported.push(change) },
    }),
  });
  const haft = createHaft({ tools: [tool], folder, approver: async () => ({ approved: true, by: "test" }) });
  return { at, folder, tool, reported, remove: (input: object) => haft.execute("delete_file", input) };
}

test("delete_file keeps the contract of tools", async () => {
  const { tool, folder } = stage({ "build/x": "" });
  await testTool(tool, { runtime: { folder }, badInputs: [{}, { path: "a", recursive: "perhaps" }] });
});

test("deletes a file after its content is journalled", async () => {
  const { at, remove, reported } = stage({ "a.txt": "1\n", "b.txt": "2\n" });
  const result = await remove({ path: "a.txt" });
  expect(result).toMatchObject({ details: { deleted: true, path: "a.txt", type: "file" } });
  expect([existsSync(at("a.txt")), existsSync(at("b.txt"))]).toEqual([false, true]);
  expect(reported).toMatchObject([
    { kind: "delete", path: at("a.txt"), old: Buffer.from("1\n"), callId: result.callId },
  ]);
});

test("deletes an empty folder, or a whole tree with recursive", async () => {
  const { at, remove, reported } = stage({ "full/a.txt": "1" });
  mkdirSync(at("empty"));
  expect(await remove({ path: "full" })).toMatchObject({ error: { code: "not_empty" } });
  expect(await remove({ path: "empty" })).toMatchObject({ details: { deleted: true, type: "directory" } });
  expect(await remove({ path: "full", recursive: true })).toMatchObject({ status: "completed" });
  expect(existsSync(at("full"))).toBe(false);
  expect(reported.map(({ path }) => path)).toContain(at("full/a.txt"));
});

test("deletes a link but not its target", async () => {
  const { at, folder, remove } = stage({ "kept.txt": "kept" });
  writeFileSync(join(folder, "../outside.txt"), "outside");
  symlinkSync("kept.txt", at("inside"));
  symlinkSync("../outside.txt", at("outside"));
  symlinkSync("..", at("folder"));
  symlinkSync("nowhere", at("broken"));
  for (const path of ["inside", "outside", "folder", "broken"]) {
    expect(await remove({ path, recursive: true }), path).toMatchObject({ status: "completed" });
  }
  expect(readFileSync(at("kept.txt"), "utf8")).toBe("kept");
  expect(readFileSync(join(folder, "../outside.txt"), "utf8")).toBe("outside");
});

test("the workspace, outside paths and protected files are refused; a missing file gets a suggestion", async () => {
  const { at, remove } = stage({ "config.ts": "", ".env": "A=1" });
  for (const path of [".", "..", "../outside", "/etc/hostname", ".env"]) {
    expect(await remove({ path, recursive: true }), path).toMatchObject({ error: { code: "path_denied" } });
  }
  expect(existsSync(at(".env"))).toBe(true);
  expect(await remove({ path: "confg.ts" })).toMatchObject({
    error: { code: "path_not_found", data: { near: ["config.ts"] } },
  });
});

test("its preview shows what is lost: lines, entries of a folder, the target of a link", async () => {
  const many = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`many/${1000 + at}.txt`, "x"]));
  const { at, folder, tool } = stage({ "a.txt": "one\ntwo\n", "full/b/c.txt": "12345", "empty.txt": "", ...many });
  writeFileSync(at("data.bin"), Buffer.from([0, 1, 2, 0]));
  symlinkSync("a.txt", at("link"));
  const haft = createHaft({ tools: [tool], folder });
  const previewOf = async (path: string) => {
    await haft.execute("delete_file", { path, recursive: true });
    const preview = (await haft.approvals.list("pending")).at(-1)?.preview;
    const [block] = preview?.content ?? [];
    return { text: block?.type === "text" ? block.text : "", omitted: preview?.omitted };
  };
  const lost = await previewOf("a.txt");
  expect(lost.text).toContain("--- a/a.txt\n+++ /dev/null");
  expect(lost.text).toContain("-one\n-two\n");
  expect(await previewOf("full")).toEqual({
    text: "full/ with 2 entries, 5 bytes:\n- full/b/\n- full/b/c.txt",
    omitted: undefined,
  });
  const folderOfMany = await previewOf("many");
  expect(folderOfMany.text).toMatch(/^many\/ with 250 entries, 250 bytes:\n- many\/1000\.txt\n/);
  expect(folderOfMany.omitted).toBe("50 of 250 entries");
  expect(await previewOf("link")).toMatchObject({ text: "link → a.txt\nOnly the link is deleted." });
  expect(await previewOf("empty.txt")).toMatchObject({ text: "empty.txt (empty)" });
  expect(await previewOf("data.bin")).toMatchObject({
    text: "data.bin",
    omitted: "the content of data.bin, which is not text (4 bytes)",
  });
});

test("all of a large file and of a large folder can be looked at", async () => {
  const { at, folder, tool } = stage({ "big.txt": `${"line\n".repeat(300_000)}the last\u202e\n`, "many/0": "" });
  for (let number = 1; number <= 10_000; number++) writeFileSync(at(`many/${number}`), "");
  const haft = createHaft({ tools: [tool], folder });
  const wholeOf = async (path: string) => {
    await haft.execute("delete_file", { path, recursive: true });
    const { id = "", unseen } = (await haft.approvals.list("pending")).at(-1) ?? {};
    return { unseen, ...(await haft.approvals.whole(id)) };
  };
  const file = await wholeOf("big.txt");
  expect(file.unseen).toBe("Not shown: the content of big.txt (1500012 bytes).");
  expect(file.missing).toBeUndefined();
  expect(file.text.match(/^-line$/gm)).toHaveLength(300_000);
  expect(file.text).toContain("\n-the last\\u{202e}\n");
  const entries = await wholeOf("many");
  expect(entries.unseen).toBe("Not shown: 9801 of 10001 entries.");
  expect(entries.missing).toBeUndefined();
  expect(entries.text.match(/^- many\/\d+$/gm)).toHaveLength(10_001);
});
