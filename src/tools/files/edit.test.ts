import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import iconv from "iconv-lite";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { createFiles } from "../../io/files/files.ts";
import { createLineIndexes } from "../../io/files/line-index.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import type { FileChange } from "../../io/files/undo-store.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createEditTool } from "./edit.ts";
import { createReadLedger } from "./read-before-edit.ts";
import { createReadTool } from "./read.ts";

function stage(
  content: Record<string, string | Buffer> = {},
  { requireRead = true, onAsked = (): unknown => undefined } = {},
) {
  const folder = temporaryFolder("haft-edit-");
  for (const [path, bytes] of Object.entries(content)) writeFileSync(join(folder, path), bytes);
  const reported: FileChange[] = [];
  const files = createFiles(createPathPolicy({ workspace: folder }), {
    journal: { before: async (change) => void reported.push(change) },
  });
  const dependencies = { files, reads: createReadLedger(), lineIndexes: createLineIndexes(), requireRead };
  const tool = createEditTool(dependencies);
  const tools = [tool, createReadTool(dependencies)];
  const approver = async () => {
    onAsked();
    return { approved: true, by: "test" } as const;
  };
  const haft = createHaft({ tools, folder, approver });
  return {
    folder,
    tool,
    haft,
    reported,
    at: (path: string) => join(folder, path),
    text: (path: string) => readFileSync(join(folder, path), "utf8"),
    read: (input: object) => haft.execute("read", input),
    edit: (input: object) => haft.execute("edit", input),
  };
}

test("edit keeps the contract of tools", async () => {
  const { tool, folder } = stage({}, { requireRead: false });
  mkdirSync(join(folder, "src"));
  writeFileSync(join(folder, "src/app.ts"), "let count = 0;\n");
  await testTool(tool, {
    runtime: { folder },
    inputs: [{ path: "new.txt", old_string: "", new_string: "x" }],
    badInputs: [{ path: "a" }, { path: "a", old_string: 1, new_string: "b" }, { old_string: "a", new_string: "b" }],
  });
});

test.each([
  ["unchanged", (large: string) => large, true],
  ["changed by somebody", (large: string) => large.replace("first", "other"), false],
])("a large file that is %s while a person is asked", async (_name, change, requireRead) => {
  const large = `first\n${"filler line\n".repeat(30_000)}MARK here\n`;
  const { edit, read, text, at } = stage(
    { "a.txt": large },
    { requireRead, onAsked: () => change(large) !== large && writeFileSync(at("a.txt"), change(large)) },
  );
  await read({ path: "a.txt" });
  const result = await edit({ path: "a.txt", old_string: "MARK", new_string: "DONE" });
  expect(result).toMatchObject({ success: true, details: { replacements: 1 } });
  expect(text("a.txt") === change(large).replace("MARK", "DONE")).toBe(true);
});

test("replaces the unique match and returns diff, step and line", async () => {
  const { edit, read, text, reported, at } = stage({ "a.txt": "one\ntwo\nthree\n" });
  await read({ path: "a.txt" });
  const result = await edit({ path: "a.txt", old_string: "two", new_string: "zwei" });
  expect(text("a.txt")).toBe("one\nzwei\nthree\n");
  expect(result.details).toMatchObject({
    path: "a.txt",
    replacements: 1,
    edits: [{ step: "exact", replacements: 1, lines: [2] }],
    bytesWritten: 15,
    added: 1,
    removed: 1,
    diff: expect.stringContaining("@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n"),
  });
  expect(result.display).toBe("Edited a.txt: 1 replacement, +1 −1");
  expect(reported).toMatchObject([
    { kind: "write", path: at("a.txt"), old: Buffer.from("one\ntwo\nthree\n"), callId: result.callId },
  ]);
});

test("accepts parameter names of other model families", async () => {
  const { haft, text } = stage({ "a.txt": "a a\n" }, { requireRead: false });
  await haft.execute("Edit", { file_path: "a.txt", old_string: "a", new_string: "b", replace_all: true });
  expect(text("a.txt")).toBe("b b\n");
  await haft.execute("edit_file", { path: "a.txt", oldText: "b", newText: "c", replaceAll: true });
  expect(text("a.txt")).toBe("c c\n");
});

test("special characters of patterns in the new text are literal", async () => {
  const { edit, text } = stage({ "a.txt": "price\n" }, { requireRead: false });
  await edit({ path: "a.txt", old_string: "price", new_string: "$& $1 $` $$ \\1" });
  expect(text("a.txt")).toBe("$& $1 $` $$ \\1\n");
});

test("an unread file reveals nothing; a partial read is enough", async () => {
  const { edit, read, text } = stage({ "a.txt": "one\ntwo\nthree\n" });
  const blind = await edit({ path: "a.txt", old_string: "nine", new_string: "x" });
  expect(blind).toMatchObject({ error: { code: "not_read" } });
  expect(textOf(blind.content)).not.toContain("two");
  await read({ path: "a.txt", offset: 3, limit: 1 });
  expect(await edit({ path: "a.txt", old_string: "one", new_string: "1" })).toMatchObject({ status: "completed" });
  expect(await edit({ path: "a.txt", old_string: "two", new_string: "2" })).toMatchObject({ status: "completed" });
  expect(text("a.txt")).toBe("1\n2\nthree\n");
});

test("a file that someone else changed must be read again", async () => {
  const { at, edit, read, text } = stage({ "a.txt": "one\n" });
  await read({ path: "a.txt" });
  writeFileSync(at("a.txt"), "one\ntheirs\n");
  expect(await edit({ path: "a.txt", old_string: "one", new_string: "1" })).toMatchObject({ error: { code: "stale" } });
  expect(text("a.txt")).toBe("one\ntheirs\n");
  writeFileSync(at("a.txt"), "all theirs\n");
  expect(await edit({ path: "a.txt", old_string: "one", new_string: "1" })).toMatchObject({ error: { code: "stale" } });
});

test("a concurrent write between read and write is not lost", async () => {
  const { folder, at, text } = stage({ "a.txt": "one\n" });
  const theirs = vi.fn<() => void>().mockImplementationOnce(() => writeFileSync(at("a.txt"), "theirs\n"));
  const journal = { before: async () => theirs() };
  const files = createFiles(createPathPolicy({ workspace: folder }), { journal });
  const reads = createReadLedger();
  const tool = createEditTool({ files, reads, lineIndexes: createLineIndexes(), requireRead: false });
  const haft = createHaft({ tools: [tool], approver: async () => ({ approved: true, by: "test" }) });
  const result = await haft.execute("edit", { path: "a.txt", old_string: "one", new_string: "1" });
  expect(result).toMatchObject({ error: { code: "stale" } });
  expect(text("a.txt")).toBe("theirs\n");
});

test("a miss shows similar lines, an ambiguity lists its lines; neither changes anything", async () => {
  const { edit, text } = stage({ "a.txt": "alpha beta\nsame\nsame\n" }, { requireRead: false });
  const miss = await edit({ path: "a.txt", old_string: "alpha bet4", new_string: "x" });
  expect(miss).toMatchObject({ error: { code: "no_match", next: expect.stringContaining("alpha beta") } });
  expect(textOf(miss.content)).toContain("was not found in a.txt");
  const twice = await edit({ path: "a.txt", old_string: "same", new_string: "x" });
  expect(twice).toMatchObject({ error: { code: "ambiguous", data: { lines: [2, 3] } } });
  expect(text("a.txt")).toBe("alpha beta\nsame\nsame\n");
});

test("an inexact match is named in the result", async () => {
  const { edit, text } = stage({ "a.txt": "say “hi”  \n" }, { requireRead: false });
  const result = await edit({ path: "a.txt", old_string: 'say "hi"', new_string: 'say "ho"' });
  const [{ step }] = (result.details as { edits: [{ step: string }] }).edits;
  expect(step).not.toBe("exact");
  expect(textOf(result.content)).toContain(`(found by: ${step})`);
  expect(text("a.txt")).toContain("ho");
});

test("several edits refer to the original file and are applied all or nothing", async () => {
  const { edit, text } = stage({ "a.txt": "a\nb\nc\n" }, { requireRead: false });
  const swap = [
    { old_string: "a", new_string: "b" },
    { old_string: "b", new_string: "a", reason: "they were the wrong way round" },
  ];
  expect(await edit({ path: "a.txt", edits: swap, reason: "swap" })).toMatchObject({ details: { replacements: 2 } });
  expect(text("a.txt")).toBe("b\na\nc\n");
  const half = [
    { old_string: "c", new_string: "C" },
    { old_string: "zzz", new_string: "Z" },
  ];
  expect(await edit({ path: "a.txt", edits: half })).toMatchObject({ error: { code: "no_match" } });
  const overlapping = [
    { old_string: "b\na", new_string: "1" },
    { old_string: "a\nc", new_string: "2" },
  ];
  expect(await edit({ path: "a.txt", edits: overlapping })).toMatchObject({ error: { code: "overlap" } });
  expect(text("a.txt")).toBe("b\na\nc\n");
});

test("accepts edits as a JSON string or next to empty strings", async () => {
  const { edit, text } = stage({ "a.txt": "a\nb\n" }, { requireRead: false });
  const encoded = JSON.stringify([{ old_string: "a", new_string: "A" }]);
  expect(await edit({ path: "a.txt", edits: encoded })).toMatchObject({ status: "completed" });
  const filled = { path: "a.txt", old_string: "", new_string: "", edits: [{ old_string: "b", new_string: "B" }] };
  expect(await edit(filled)).toMatchObject({ status: "completed" });
  expect(await edit({ path: "a.txt", old_string: "B", new_string: "b", edits: [] })).toMatchObject({
    status: "completed",
  });
  expect(text("a.txt")).toBe("A\nb\n");
  const both = { path: "a.txt", old_string: "A", new_string: "x", edits: [{ old_string: "b", new_string: "B" }] };
  expect(await edit(both)).toMatchObject({ error: { code: "invalid_input" } });
});

test("an empty old_string creates a missing file and never replaces one", async () => {
  const { at, edit, text } = stage({ "a.txt": "content\n" }, { requireRead: false });
  const made = await edit({ path: "sub/new.txt", old_string: "", new_string: "hello\n" });
  expect(made).toMatchObject({ details: { created: true } });
  expect(text("sub/new.txt")).toBe("hello\n");
  expect(await edit({ path: "a.txt", old_string: "", new_string: "x" })).toMatchObject({
    error: { code: "invalid_input" },
  });
  const elided = { path: "b.ts", old_string: "", new_string: "// ... existing code ...\n" };
  expect(await edit(elided)).toMatchObject({ error: { code: "elided" } });
  expect(existsSync(at("b.ts"))).toBe(false);
});

test("a placeholder for omitted text is refused", async () => {
  const { edit, text } = stage({ "a.ts": "let a;\n" }, { requireRead: false });
  const elided = { path: "a.ts", old_string: "let a;", new_string: "let b;\n// ... rest of the code" };
  expect(await edit(elided)).toMatchObject({ error: { code: "elided" } });
  expect(text("a.ts")).toBe("let a;\n");
});

test("a missing file gets a suggestion", async () => {
  const { edit } = stage({ "config.ts": "" });
  expect(await edit({ path: "confg.ts", old_string: "a", new_string: "b" })).toMatchObject({
    error: { code: "path_not_found", data: { near: ["config.ts"] } },
  });
});

test.each([
  ["CRLF", Buffer.from("one\r\ntwo\r\n"), "two\n", "2\n3\n", Buffer.from("one\r\n2\r\n3\r\n")],
  ["mixed line ends", Buffer.from("a\r\nb\nc\r\n"), "b", "B", Buffer.from("a\r\nB\nc\r\n")],
  ["a byte order mark", Buffer.from("\ufeffone\n"), "one", "1", Buffer.from("\ufeff1\n")],
  ["no final newline", Buffer.from("one\ntwo"), "two", "2", Buffer.from("one\n2")],
  ["UTF-16", Buffer.from("\ufeffgrüße\nzwei\n", "utf16le"), "zwei", "2", Buffer.from("\ufeffgrüße\n2\n", "utf16le")],
  ["Latin-1", Buffer.from("gr\xfc\xdfe\nzwei\n", "latin1"), "zwei", "2", Buffer.from("gr\xfc\xdfe\n2\n", "latin1")],
  [
    "Big5",
    iconv.encode("這是一個測試檔案，用來檢查編碼是否保留。\n舊的內容在這裡。\n", "big5"),
    "舊的內容在這裡。",
    "新的內容。",
    iconv.encode("這是一個測試檔案，用來檢查編碼是否保留。\n新的內容。\n", "big5"),
  ],
])("everything outside the match is preserved byte for byte: %s", async (_, before, old_string, new_string, after) => {
  const { at, edit, read } = stage({ "a.txt": before });
  await read({ path: "a.txt" });
  expect(await edit({ path: "a.txt", old_string, new_string })).toMatchObject({ status: "completed" });
  expect(readFileSync(at("a.txt"))).toEqual(after);
});

test("parallel edits of one file are all applied, even under two names", async () => {
  const { at, haft, read, text } = stage({ "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n" });
  symlinkSync("a.txt", at("link.txt"));
  await read({ path: "a.txt" });
  const calls = Array.from({ length: 8 }, (_, i) => ({
    name: "edit",
    input: { path: i % 2 === 0 ? "a.txt" : "link.txt", old_string: `${i + 1}\n`, new_string: `line ${i + 1}\n` },
  }));
  const results = await haft.executeMany(calls);
  expect(results.map(({ status }) => status)).toEqual(Array(8).fill("completed"));
  expect(text("a.txt")).toBe("line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\n");
});

test("a change that cannot be recorded for undo does not happen", async () => {
  const { folder, text } = stage({ "a.txt": "one\n" });
  const journal = { before: () => Promise.reject(new Error("disk full")) };
  const files = createFiles(createPathPolicy({ workspace: folder }), { journal });
  const tool = createEditTool({
    files,
    reads: createReadLedger(),
    lineIndexes: createLineIndexes(),
    requireRead: false,
  });
  const haft = createHaft({ tools: [tool], approver: async () => ({ approved: true, by: "test" }) });
  const result = await haft.execute("edit", { path: "a.txt", old_string: "one", new_string: "1" });
  expect(result).toMatchObject({ error: { code: "not_recorded" } });
  expect(text("a.txt")).toBe("one\n");
});
