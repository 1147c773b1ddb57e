import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import iconv from "iconv-lite";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import type { Preview, ToolContext } from "../../core/tool.ts";
import { createFiles } from "../../io/files/files.ts";
import { createLineIndexes } from "../../io/files/line-index.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import type { FileChange } from "../../io/files/undo-store.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createReadLedger } from "./read-before-edit.ts";
import { createReadTool } from "./read.ts";
import { createWriteTool } from "./write.ts";

function stage(content: Record<string, string | Buffer> = {}, { requireRead = true } = {}) {
  const folder = temporaryFolder("haft-write-");
  for (const [path, bytes] of Object.entries(content)) writeFileSync(join(folder, path), bytes);
  const reported: (FileChange & { onDisk: string | undefined })[] = [];
  const journal = {
    async before(change: FileChange) {
      reported.push({ ...change, onDisk: existsSync(change.path) ? readFileSync(change.path, "latin1") : undefined });
    },
  };
  const files = createFiles(createPathPolicy({ workspace: folder }), { journal });
  const dependencies = { files, reads: createReadLedger(), lineIndexes: createLineIndexes(), requireRead };
  const tool = createWriteTool(dependencies);
  const tools = [tool, createReadTool(dependencies)];
  const haft = createHaft({ tools, folder, approver: async () => ({ approved: true, by: "test" }) });
  const call = (name: string) => (input: object, session?: string) =>
    haft.execute(name, input, session === undefined ? {} : { caller: { session } });
  return { folder, tool, reported, at: (path: string) => join(folder, path), read: call("read"), write: call("write") };
}

test("write keeps the contract of tools", async () => {
  const { tool, folder } = stage({}, { requireRead: false });
  await testTool(tool, { runtime: { folder }, badInputs: [{ path: "a" }, { path: "a", content: 1 }] });
});

test("creates a new file with its folders after it is journalled", async () => {
  const { at, reported, write } = stage();
  const result = await write({ path: "deep/er/a.txt", content: "hello\n" });
  expect(readFileSync(at("deep/er/a.txt"), "utf8")).toBe("hello\n");
  expect(result.details).toMatchObject({ bytesWritten: 6, path: "deep/er/a.txt", created: true, added: 1, removed: 0 });
  expect(reported.at(-1)).toMatchObject({
    kind: "write",
    path: at("deep/er/a.txt"),
    was: "absent",
    callId: result.callId,
  });
  expect(reported.at(-1)?.onDisk).toBeUndefined();
});

test.each(["Write", "write_file"])("is also available as %s with file_path and contents", async (name) => {
  const { tool, folder, at } = stage();
  const haft = createHaft({ tools: [tool], folder, approver: async () => ({ approved: true, by: "test" }) });
  const result = await haft.execute(name, { file_path: "a.txt", contents: "x" });
  expect(result.details).toMatchObject({ bytesWritten: 1 });
  expect(readFileSync(at("a.txt"), "utf8")).toBe("x");
});

test("an unread file and a changed file are refused with different errors", async () => {
  const { at, read, write } = stage({ "a.txt": "old\n" });
  expect(await write({ path: "a.txt", content: "new\n" })).toMatchObject({ error: { code: "not_read" } });
  await read({ path: "a.txt" });
  writeFileSync(at("a.txt"), "theirs\n");
  expect(await write({ path: "a.txt", content: "new\n" })).toMatchObject({ error: { code: "stale" } });
  expect(readFileSync(at("a.txt"), "utf8")).toBe("theirs\n");
  await read({ path: "a.txt", limit: 1 });
  const result = await write({ path: "a.txt", content: "new\n" });
  expect(textOf(result.content)).toContain("-theirs\n+new\n");
});

test("a session's own writes are recorded as read, another session's reads are not", async () => {
  const { read, write } = stage({ "a.txt": "old\n" });
  await read({ path: "a.txt" }, "one");
  expect(await write({ path: "a.txt", content: "1\n" }, "two")).toMatchObject({ error: { code: "not_read" } });
  expect(await write({ path: "a.txt", content: "1\n" }, "one")).toMatchObject({ status: "completed" });
  expect(await write({ path: "a.txt", content: "2\n" }, "one")).toMatchObject({ status: "completed" });
});

test("a concurrent write between read and write is not lost", async () => {
  const { folder, at } = stage({ "a.txt": "old\n" });
  const theirs = vi.fn<() => void>().mockImplementationOnce(() => writeFileSync(at("a.txt"), "theirs\n"));
  const files = createFiles(createPathPolicy({ workspace: folder }), { journal: { before: async () => theirs() } });
  const tool = createWriteTool({
    files,
    reads: createReadLedger(),
    lineIndexes: createLineIndexes(),
    requireRead: false,
  });
  const haft = createHaft({ tools: [tool], approver: async () => ({ approved: true, by: "test" }) });
  expect(await haft.execute("write", { path: "a.txt", content: "new\n" })).toMatchObject({ error: { code: "stale" } });
  expect(readFileSync(at("a.txt"), "utf8")).toBe("theirs\n");
});

test("a file with only a new timestamp has not changed", async () => {
  const { at, read, write } = stage({ "a.txt": "old\n" });
  await read({ path: "a.txt" });
  utimesSync(at("a.txt"), new Date(), new Date(Date.now() + 60_000));
  expect(await write({ path: "a.txt", content: "new\n" })).toMatchObject({ status: "completed" });
});

test("the preview of an unread file is refused like the write", async () => {
  const { tool, folder, read } = stage({ "a.txt": "secret\n" });
  const requested: unknown[] = [];
  const approver = async (approval: unknown) => void requested.push(approval);
  const haft = createHaft({ tools: [tool], folder, approver });
  expect(await haft.execute("write", { path: "a.txt", content: "x\n" })).toMatchObject({ error: { code: "not_read" } });
  expect(requested).toEqual([]);
  await read({ path: "a.txt" });
  await haft.execute("write", { path: "a.txt", content: "x\n" });
  expect(JSON.stringify(requested)).toContain("-secret\\n+x");
});

test("a file that was read in part is replaced only after the rest was read", async () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join("");
  const json = JSON.stringify({ a: "x".repeat(4_000) });
  const { at, ...project } = stage({ "lines.txt": lines, "one-line.json": json });
  const read = (input: object) => project.read(input, "s1");
  const write = (input: object) => project.write(input, "s1");
  const refused = { error: { code: "not_read", message: expect.stringContaining("only in part") } };
  await read({ path: "lines.txt", limit: 10 });
  await read({ path: "lines.txt", offset: 21 });
  expect(await write({ path: "lines.txt", content: "new\n" })).toMatchObject(refused);
  await read({ path: "lines.txt", offset: 11, limit: 10 });
  expect(await write({ path: "lines.txt", content: "new\n" })).toMatchObject({ status: "completed" });

  const first = await read({ path: "one-line.json" });
  expect(first.details).toMatchObject({ content: json, truncated: false, nextOffset: null });
  expect(textOf(first.content)).toContain("Use offset=1, column=2001 to continue.");
  expect(await write({ path: "one-line.json", content: "{}" })).toMatchObject(refused);
  await read({ path: "one-line.json", column: 4001 });
  expect(await write({ path: "one-line.json", content: "{}" })).toMatchObject(refused);
  await read({ path: "one-line.json", column: 2001 });
  expect(await write({ path: "one-line.json", content: "{}" })).toMatchObject({ status: "completed" });
  expect(readFileSync(at("one-line.json"), "utf8")).toBe("{}");
});

test("the preview shows a change in a long line, and says what it leaves out or cannot show", async () => {
  const long = "some words ".repeat(60_000);
  const { tool, folder } = stage(
    { "long.txt": long, "image.png": Buffer.from([0, 1, 2, 0xff]) },
    { requireRead: false },
  );
  const preview = async (input: object): Promise<Preview> => {
    let shown: Preview | undefined;
    const run = async (_: unknown, context: ToolContext) => {
      shown = await tool.preview?.({ path: "", content: "", ...input }, context);
    };
    const probe = createTool({ name: "probe", description: "Shows a preview.", kind: "readonly", parameters: {}, run });
    const result = await createHaft({ tools: [probe], folder }).execute("probe", {});
    expect(result.status).toBe("completed");
    return shown as Preview;
  };
  const inLine = await preview({ path: "long.txt", content: `${long}evil` });
  expect(textOf(inLine.content)).toMatch(/^\+\[… \d+ characters …\].*some words evil$/m);
  expect(inLine).toMatchObject({ omitted: undefined, unshown: undefined });
  const cut = await preview({ path: "new.txt", content: "line\n".repeat(100_000) });
  expect(cut.omitted).toMatch(/^\d+ of 100000 changed lines$/);
  const binary = await preview({ path: "image.png", content: "text\n" });
  expect(binary.unshown).toBe("The present content of image.png is not text.");
});

test.each([
  ["CRLF", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"],
  ["LF", "a\nb\n", "a\r\nc\r\n", "a\nc\n"],
  ["mixed, where the intent is not clear", "a\r\nb\n", "c\nd\r\n", "c\nd\r\n"],
  ["none", "a", "b\r\nc", "b\r\nc"],
  ["a byte order mark and CRLF", "\ufeffa\r\n", "b\n", "\ufeffb\r\n"],
  ["a byte order mark that is given once more", "\ufeffa\n", "\ufeffb\n", "\ufeffb\n"],
])("line ends are preserved: %s", async (_, before, content, after) => {
  const { at, read, write } = stage({ "a.txt": before });
  await read({ path: "a.txt" });
  await write({ path: "a.txt", content });
  expect(readFileSync(at("a.txt"), "utf8")).toBe(after);
});

test("a legacy encoding is preserved, and characters it lacks are refused without a change", async () => {
  const old = iconv.encode("这是一个测试文件，用来检查编码。\n", "gb18030");
  const { at, read, write } = stage({
    "a.txt": iconv.encode("これは日本語のテキストです。\n", "shift_jis"),
    "b.txt": old,
  });
  await read({ path: "b.txt" });
  await write({ path: "b.txt", content: "这是新的内容。\n" });
  expect(readFileSync(at("b.txt"))).toEqual(iconv.encode("这是新的内容。\n", "gb18030"));
  await read({ path: "a.txt" });
  expect(await write({ path: "a.txt", content: "Ω ✓\n" })).toMatchObject({ error: { code: "bad_encoding" } });
  expect(readFileSync(at("a.txt"))).toEqual(iconv.encode("これは日本語のテキストです。\n", "shift_jis"));
});

test("a new file gets the given encoding; an unknown one is refused", async () => {
  const { at, write } = stage();
  await write({ path: "a.txt", content: "中文\n", encoding: "GBK" });
  expect(readFileSync(at("a.txt"))).toEqual(iconv.encode("中文\n", "gbk"));
  expect(await write({ path: "b.txt", content: "x", encoding: "klingon" })).toMatchObject({
    error: { code: "bad_encoding" },
  });
  expect(existsSync(at("b.txt"))).toBe(false);
});

test("the mode is preserved, links are followed, and no temporary file is left", async () => {
  const { folder, at, read, write } = stage({ "run.sh": "#!/bin/sh\n" });
  chmodSync(at("run.sh"), 0o751);
  symlinkSync("run.sh", at("link"));
  await read({ path: "link" });
  expect((await write({ path: "link", content: "#!/bin/sh\ntrue\n" })).details).toMatchObject({ path: "run.sh" });
  expect(readlinkSync(at("link"))).toBe("run.sh");
  expect(statSync(at("run.sh")).mode & 0o777).toBe(0o751);
  expect(readdirSync(folder).sort()).toEqual(["link", "run.sh"]);
});

test("a placeholder for omitted text is refused unless the file already has it", async () => {
  const { at, read, write } = stage({ "a.ts": "// ... existing code ...\nlet a;\n" });
  const elided = await write({ path: "new.ts", content: "let x;\n// ... rest of the code\n" });
  expect(elided).toMatchObject({ error: { code: "elided", data: { line: 2 } } });
  expect(existsSync(at("new.ts"))).toBe(false);
  await read({ path: "a.ts" });
  expect(await write({ path: "a.ts", content: "// ... existing code ...\nlet b;\n" })).toMatchObject({
    status: "completed",
  });
});

test("folders, protected paths and paths outside are refused", async () => {
  const { write } = stage();
  expect(await write({ path: ".", content: "x" })).toMatchObject({ error: { code: "is_directory" } });
  expect(await write({ path: ".git/hooks/pre-commit", content: "x" })).toMatchObject({
    error: { code: "path_denied" },
  });
  const outside = await write({ path: "../x.txt", content: "x" });
  expect(outside).toMatchObject({ error: { code: "path_denied" } });
  expect(textOf(outside.content)).toMatch(/Permission denied: Access denied.*Allowed paths: "\." \(the workspace\)/s);
});
