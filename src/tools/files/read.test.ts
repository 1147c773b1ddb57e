import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import iconv from "iconv-lite";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import type { ToolContext } from "../../core/tool.ts";
import { createFiles } from "../../io/files/files.ts";
import { createLineIndexes } from "../../io/files/line-index.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createReadLedger } from "./read-before-edit.ts";
import { createReadTool } from "./read.ts";

function stage(content: Record<string, string | Buffer> = {}, { maxReadBytes }: { maxReadBytes?: number } = {}) {
  const folder = temporaryFolder("haft-read-");
  for (const [path, bytes] of Object.entries(content)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  const files = createFiles(createPathPolicy({ workspace: folder }));
  const limits = maxReadBytes === undefined ? {} : { maxReadBytes };
  const tool = createReadTool({ files, reads: createReadLedger(), lineIndexes: createLineIndexes(), ...limits });
  const haft = createHaft({ tools: [tool], folder });
  return {
    folder,
    tool,
    read: (input: object) => haft.execute("read", input),
    readForModel: (input: object) => haft.execute("read", input, { caller: { session: "s1" } }),
  };
}

const lines = (count: number, line = (n: number) => `line ${n}`): string =>
  Array.from({ length: count }, (_, i) => `${line(i + 1)}\n`).join("");

test("read keeps the contract of tools", async () => {
  const { tool, folder } = stage({ "README.md": "# Read me\n", "server.log": lines(4200) });
  await testTool(tool, {
    runtime: { folder },
    inputs: [{ path: "." }],
    badInputs: [{}, { path: "" }, { path: ["README.md"] }, { path: "README.md", offset: -1 }],
  });
});

test("lines are numbered for the model, and a program gets the text and its size", async () => {
  const { read } = stage({ "a.txt": "one\ntwo\n" });
  const result = await read({ path: "a.txt" });
  expect(textOf(result.content)).toBe("1\tone\n2\ttwo");
  expect(result.details).toMatchObject({ content: "one\ntwo\n", size: 8, path: "a.txt", lines: 2, totalLines: 2 });
  expect(result.details).toMatchObject({ nextOffset: null, truncated: false });
  expect(result.display).toBe("Read a.txt: 2 lines");
});

test.each(["Read", "read_file", "read"])("is also available as %s with file_path", async (name) => {
  const { tool, folder } = stage({ "a.txt": "one" });
  const result = await createHaft({ tools: [tool], folder }).execute(name, { file_path: "a.txt" });
  expect(result.details).toMatchObject({ content: "one", size: 3 });
});

test("the content has a final line end only if the file has one and the last line is included", async () => {
  const { read } = stage({ "with.txt": "a\r\nb\r\n", "without.txt": "a\nb" });
  expect((await read({ path: "with.txt" })).details).toMatchObject({ content: "a\nb\n" });
  expect((await read({ path: "with.txt", limit: 1 })).details).toMatchObject({ content: "a" });
  expect((await read({ path: "without.txt" })).details).toMatchObject({ content: "a\nb" });
});

test("a program gets the whole file, whatever a model may be shown", async () => {
  const text = lines(2145, (n) => `${n} ${"x".repeat(135)}`);
  const { read, readForModel } = stage({ "long.txt": text });
  const whole = await read({ path: "long.txt" });
  expect(whole.details).toMatchObject({ content: text, size: text.length, lines: 2145, nextOffset: null });
  expect(whole.details).toMatchObject({ truncated: false, lastLine: 2145 });
  expect(textOf(whole.content)).toContain("to continue.]");
  expect(Buffer.byteLength(textOf(whole.content))).toBeLessThan(60 * 1024);
  const part = await read({ path: "long.txt", offset: 2, limit: 2000 });
  expect(part.details).toMatchObject({ lines: 2000, firstLine: 2, lastLine: 2001, nextOffset: 2002 });
  const { details } = await readForModel({ path: "long.txt" });
  expect(details).toMatchObject({ truncated: true, nextOffset: expect.any(Number) });
});

test("code that a tool runs for a model gets the whole file too", async () => {
  const text = lines(3000);
  const { tool, folder } = stage({ "long.txt": text });
  const haft = createHaft({
    folder,
    tools: [
      tool,
      {
        name: "count",
        description: "Counts lines.",
        kind: "readonly",
        parameters: [],
        run: async (_input: object, context: ToolContext) => {
          const { details } = await context.call("read", { path: "long.txt" });
          return (details as { content: string }).content.length;
        },
      },
    ],
  });
  const result = await haft.execute("count", {}, { caller: { session: "s1" } });
  expect(result.details).toBe(text.length);
});

test("a program that requests too much is told how to get it in parts", async () => {
  const { read, readForModel } = stage({ "big.log": lines(50_000, (n) => `${n} ${"x".repeat(100)}`) });
  expect(await read({ path: "big.log" })).toMatchObject({
    error: { code: "too_large", next: expect.stringContaining("offset and limit") },
  });
  expect((await read({ path: "big.log", limit: 10_000 })).details).toMatchObject({ lines: 10_000, nextOffset: 10_001 });
  expect(await readForModel({ path: "big.log" })).toMatchObject({ status: "completed", details: { truncated: true } });
});

test("returns 2,000 lines at once and the offset of the rest", async () => {
  const { readForModel: read } = stage({ "long.txt": lines(2500) });
  const first = await read({ path: "long.txt" });
  expect(textOf(first.content)).toContain("[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]");
  expect(first.details).toMatchObject({ firstLine: 1, lastLine: 2000, nextOffset: 2001, truncated: true });
  const rest = await read({ path: "long.txt", offset: 2001 });
  expect(textOf(rest.content).split("\n")[0]).toBe("2001\tline 2001");
  expect(rest.details).toMatchObject({ lastLine: 2500, nextOffset: null });
});

test("a result is limited to 50 KiB, and no line is lost when it continues", async () => {
  const { readForModel: read } = stage({ "wide.txt": lines(1000, (n) => `${n}:${"x".repeat(200)}`) });
  expect(textOf((await read({ path: "wide.txt" })).content)).toContain("(the size limit is reached)");
  const seen: string[] = [];
  for (let offset = 1; offset !== 0;) {
    const window = (await read({ path: "wide.txt", offset })).details as { content: string; nextOffset: number | null };
    expect(Buffer.byteLength(window.content)).toBeLessThanOrEqual(50 * 1024);
    seen.push(...window.content.replace(/\n$/, "").split("\n"));
    offset = window.nextOffset ?? 0;
  }
  expect(seen.map((line) => Number(line.split(":")[0]))).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1));
});

test("a long line is cut at 2,000 characters and reported", async () => {
  const { read } = stage({ "min.js": `short\n${"y".repeat(9000)}\nend\n` });
  const result = await read({ path: "min.js" });
  const shown = textOf(result.content).split("\n");
  expect(shown[1]).toHaveLength(2 + 2000);
  expect(shown.at(-1)).toBe(
    "[Only a part is shown of long line 2 (9000 bytes). Use offset=2, column=2001 to continue.]",
  );
  expect(result.details).toMatchObject({
    content: expect.stringMatching(/y{9000}/),
    truncated: false,
    nextOffset: null,
  });
});

test("offset 0 means the start, limit is respected, and many lines never exceed the result limit", async () => {
  const { readForModel: read } = stage({ "n.txt": lines(40_000, () => "x") });
  expect((await read({ path: "n.txt", offset: 0, limit: 2 })).details).toMatchObject({ firstLine: 1, lastLine: 2 });
  const max = await read({ path: "n.txt", limit: 10_000 });
  expect(max.details).toMatchObject({ lastLine: 4000, nextOffset: 4001 });
  expect(textOf(max.content)).toMatch(
    /Showing lines 1-4000 of 40000 \(the size limit is reached\). Use offset=4001 to continue/,
  );
  expect(max.metadata.spill).toBeUndefined();
  expect(await read({ path: "n.txt", limit: 10_001 })).toMatchObject({
    error: { code: "invalid_input", message: expect.stringContaining("at most 10,000 lines") },
  });
});

test("an offset past the end reports the number of lines", async () => {
  const { read } = stage({ "a.txt": "one\ntwo\n", "empty.txt": "" });
  expect(await read({ path: "a.txt", offset: 9 })).toMatchObject({
    error: { code: "bad_range", message: expect.stringContaining("a.txt has 2 lines; there is no line 9") },
  });
  const empty = await read({ path: "empty.txt" });
  expect(textOf(empty.content)).toBe("(empty file)");
  expect(empty.details).toMatchObject({ content: "", size: 0 });
});

test("lines deep in a very large file can be read", async () => {
  const { folder, read } = stage({ "big.log": lines(20_000, (n) => `${n} ${"z".repeat(60)}`) });
  truncateSync(join(folder, "big.log"), 200 * 1024 * 1024);
  const result = await read({ path: "big.log", offset: 19_999, limit: 2 });
  expect(result.details).toMatchObject({ content: expect.stringMatching(/^19999 z+\n20000 z+$/), nextOffset: 20_001 });
});

test("with maxReadBytes a larger file must be read in ranges", async () => {
  const { read } = stage({ "a.txt": lines(100) }, { maxReadBytes: 64 });
  expect(await read({ path: "a.txt" })).toMatchObject({ error: { code: "too_large" } });
  expect(await read({ path: "a.txt", offset: 5, limit: 50 })).toMatchObject({ error: { code: "too_large" } });
  expect(await read({ path: "a.txt", offset: 5, limit: 3 })).toMatchObject({ status: "completed" });
});

test("a folder is listed, folders and links marked, in pages", async () => {
  const { folder, read } = stage({ "b/x.txt": "", "a.txt": "", ".hidden": "" });
  symlinkSync("a.txt", join(folder, "link"));
  const result = await read({ path: "." });
  expect(textOf(result.content)).toBe(". is a folder:\n.hidden\na.txt\nb/\nlink@");
  expect(result.details).toMatchObject({ total: 4, nextOffset: null });
  const page = await read({ path: ".", offset: 2, limit: 2 });
  expect(textOf(page.content)).toContain("[Showing entries 2-3 of 4. Use offset=4 to continue.]");
  expect(await read({ path: ".", offset: 5 })).toMatchObject({ error: { code: "bad_range" } });
});

test("a missing file gets suggestions", async () => {
  const { read } = stage({ "src/config.ts": "", "Screenshot 10.00.30\u202fPM.png.txt": "" });
  const typo = await read({ path: "src/confg.ts" });
  expect(typo).toMatchObject({ error: { code: "path_not_found", data: { near: ["src/config.ts"] } } });
  expect(textOf(typo.content)).toContain("Did you mean src/config.ts?");
  const blanks = await read({ path: "Screenshot 10.00.30 PM.png.txt" });
  expect(textOf(blanks.content)).toContain("Did you mean Screenshot 10.00.30\u202fPM.png.txt?");
  expect(textOf(blanks.content)).toContain("its name has U+202F (narrow no-break space) at column 20");
  expect(textOf((await read({ path: "zzzzzzzz" })).content)).not.toContain("Did you mean");
});

test("a refused path has both standard phrases and lists the allowed paths", async () => {
  const { read } = stage({ ".env": "TOKEN=1\n" });
  for (const path of ["/etc/passwd", "../x", ".env", "/proc/self/environ"]) {
    const { error } = (await read({ path })) as { error?: { code: string; message: string; next: string } };
    expect(error?.code).toBe("path_denied");
    expect(error?.message).toMatch(/^Permission denied: Access denied/);
    expect(error?.next).toContain('Allowed paths: "." (the workspace)');
  }
});

test("a call can narrow its paths, never widen them", async () => {
  const { tool, folder } = stage({ "in/a.txt": "a", "out/b.txt": "b" });
  const haft = createHaft({ tools: [tool], folder });
  const call = { allowedPaths: [join(folder, "in"), "/etc"] };
  expect(await haft.execute("read", { path: "in/a.txt" }, call)).toMatchObject({ status: "completed" });
  expect(await haft.execute("read", { path: "out/b.txt" }, call)).toMatchObject({ error: { code: "path_denied" } });
  expect(await haft.execute("read", { path: "/etc/hostname" }, call)).toMatchObject({ error: { code: "path_denied" } });
});

test("a FIFO and a device are refused without blocking", async () => {
  const { folder, read } = stage();
  execFileSync("mkfifo", [join(folder, "pipe")]);
  expect(await read({ path: "pipe" })).toMatchObject({ error: { code: "not_regular_file" } });
  expect(await read({ path: "/dev/zero" })).toMatchObject({ error: { code: "path_denied" } });
});

test("a binary file is refused by its type, not by its name", async () => {
  const { read } = stage({
    "notes.txt": Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0]),
    "data.txt": Buffer.from([1, 0, 2, 0, 3, 255, 0, 254]),
    "id3.md": "ID3 tags are at the beginning of a file.\n",
  });
  expect(await read({ path: "notes.txt" })).toMatchObject({
    error: { code: "not_regular_file", data: { mediaType: "application/x-elf" } },
  });
  expect(await read({ path: "data.txt" })).toMatchObject({ error: { code: "not_regular_file" } });
  expect(await read({ path: "id3.md" })).toMatchObject({ status: "completed" });
});

test.each([
  ["utf-16le", Buffer.from("\ufeffgrüße\nzwei\n", "utf16le"), "grüße\nzwei\n"],
  [
    "gb18030",
    iconv.encode("这是一个测试文件，用来检查编码。\n第二行也是中文的内容。\n", "gb18030"),
    "这是一个测试文件，用来检查编码。\n第二行也是中文的内容。\n",
  ],
  [
    "shift_jis",
    iconv.encode("これは日本語のテキストです。\n二行目もあります。\n", "shift_jis"),
    "これは日本語のテキストです。\n二行目もあります。\n",
  ],
])("text in %s is detected, decoded and named", async (encoding, bytes, text) => {
  const { read } = stage({ "old.txt": bytes });
  const result = await read({ path: "old.txt" });
  expect(result.details).toMatchObject({ content: text, encoding, size: bytes.length });
  expect(textOf(result.content)).toContain(`[Encoding: ${encoding}.]`);
});

test("a given encoding is used, and an unknown one is refused", async () => {
  const { read } = stage({ "short.txt": iconv.encode("中\n文\n", "gbk"), "plain.txt": "grüße" });
  const forced = await read({ path: "short.txt", encoding: "GBK", offset: 2 });
  expect(forced.details).toMatchObject({ content: "文\n", encoding: "gb18030", size: 6 });
  expect((await read({ path: "plain.txt", encoding: "UTF8" })).details).toMatchObject({ content: "grüße" });
  expect(await read({ path: "plain.txt", encoding: "klingon" })).toMatchObject({ error: { code: "bad_encoding" } });
});
