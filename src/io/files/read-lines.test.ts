import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createLineIndexes, createNewlineCounter, createPlainCounter, type LineIndexes } from "./line-index.ts";
import { createFiles } from "./files.ts";
import { loadIconv } from "./text-encoding.ts";
import { createPathPolicy } from "./path-policy.ts";
import { readLines, type ReadLinesOptions } from "./read-lines.ts";

let workspace: string;
let indexes: LineIndexes;

beforeEach(() => {
  workspace = temporaryFolder("haft-lines-");
  indexes = createLineIndexes();
});

async function linesOf(content: string | Buffer | null, options?: ReadLinesOptions) {
  if (content !== null) writeFileSync(join(workspace, "f"), content);
  const file = await createFiles(createPathPolicy({ workspace })).openForRead("f");
  try {
    return await readLines(file, indexes, options);
  } finally {
    file.close();
  }
}

describe("readLines", () => {
  it.each([
    ["", [], 0],
    ["a", ["a"], 1],
    ["a\n", ["a"], 1],
    ["a\n\nb", ["a", "", "b"], 3],
    ["\n", [""], 1],
    ["a\r\nb\r\n", ["a", "b"], 2],
    ["\ufeffa\nb", ["a", "b"], 2],
    ["lone\rreturn\n", ["lone\rreturn"], 1],
  ])("reads the lines of %j", async (content, lines, total) => {
    expect(await linesOf(content)).toMatchObject({ lines, totalLines: total, nextOffset: null, stoppedBy: "end" });
  });

  it("reaches every part of a long line by column, and returns it whole within a limit", async () => {
    const long = "añ語😀".repeat(3_000);
    const text = `first\n${long}\nlast\n`;
    let read = "";
    for (let column: number | undefined = 1; column !== undefined;) {
      const page = await linesOf(text, { offset: 2, limit: 1, column });
      read += page.lines[0];
      column = page.cut[0]?.nextColumn;
    }
    expect(read).toBe(long);
    const whole = await linesOf(text, { maxWholeBytes: 100_000 });
    expect(whole).toMatchObject({ whole: ["first", long, "last"], wholeCut: [], cut: [{ line: 2 }] });
    const limited = await linesOf(text, { maxWholeBytes: 10_001 });
    expect(long.startsWith(limited.whole[1] ?? "")).toBe(true);
    expect(limited.wholeCut).toEqual([{ line: 2, bytes: 30_000, nextColumn: (limited.whole[1]?.length ?? 0) + 1 }]);
    await expect(linesOf(text, { column: 1e9 })).rejects.toMatchObject({ code: "bad_range" });
  });

  it("returns the exact next offset", async () => {
    const content = Array.from({ length: 2500 }, (_, index) => `Line ${index + 1}\n`).join("");
    const first = await linesOf(content);
    expect(first).toMatchObject({
      firstLine: 1,
      lastLine: 2000,
      totalLines: 2500,
      nextOffset: 2001,
      stoppedBy: "lines",
    });
    const second = await linesOf(null, { offset: 2001 });
    expect(second).toMatchObject({
      firstLine: 2001,
      lastLine: 2500,
      totalLines: 2500,
      nextOffset: null,
      stoppedBy: "end",
    });
    expect([...first.lines, ...second.lines]).toEqual(content.trim().split("\n"));
    expect(await linesOf(null, { offset: 0, limit: 1 })).toMatchObject({ lines: ["Line 1"], nextOffset: 2 });
    expect(await linesOf(null, { offset: 2500, limit: 1 })).toMatchObject({ lines: ["Line 2500"], nextOffset: null });
    expect(await linesOf(null, { offset: 2501 })).toMatchObject({
      lines: [],
      lastLine: 2500,
      totalLines: 2500,
      nextOffset: null,
    });
  });

  it("cuts long lines between characters and lists them", async () => {
    const long = `${"x".repeat(1999)}😀tail`;
    const window = await linesOf(`short\n${long}\n${"語".repeat(2000)}\n${"é".repeat(300_000)}\nend`);
    expect(window.lines.map((line) => line.length)).toEqual([5, 1999, 2000, 2000, 3]);
    expect(window.cut).toEqual([
      { line: 2, bytes: 2007, nextColumn: 2000 },
      { line: 4, bytes: 600_000, nextColumn: 2001 },
    ]);
    expect(window.lines[4]).toBe("end");
  });

  it("stops at its byte limit but returns a part of the first line", async () => {
    const window = await linesOf(`${"語".repeat(100)}\n`.repeat(400));
    expect(window).toMatchObject({ lastLine: 170, nextOffset: 171, totalLines: 400, stoppedBy: "bytes" });
    expect(await linesOf("abcdef\nb\n", { maxBytes: 3 })).toMatchObject({
      lines: ["abc"],
      cut: [{ line: 1, nextColumn: 4 }],
      nextOffset: 2,
      stoppedBy: "bytes",
    });
  });

  it("stops at its token limit, and continues inside a line without the limit of its length", async () => {
    const log = Array.from({ length: 400 }, (_, i) => `2026-11-16 12:00:00.${i} GET /a/${i} 200`).join("\n");
    const window = await linesOf(log, { maxTokens: 1000 });
    expect(window.stoppedBy).toBe("bytes");
    expect(window.lastLine).toBeGreaterThan(30);
    expect(window.lastLine).toBeLessThan(60);
    const [line = ""] = (await linesOf("a word ".repeat(5000), { column: 3, maxTokens: 1000 })).lines;
    expect(line.length).toBeGreaterThan(2500);
    expect(line.length).toBeLessThan(5000);
  });

  it("finds any line of a file of many blocks, with and without its index", async () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `${index + 1}:${"é".repeat((index * 7919) % 40)}`);
    writeFileSync(join(workspace, "f"), lines.join("\r\n"));
    for (const offset of [60_000, 1, 31_415, 59_990, 4_096, 31_416, 60_001]) {
      const window = await linesOf(null, { offset, limit: 3 });
      expect(window.lines).toEqual(lines.slice(offset - 1, offset + 2));
    }
    writeFileSync(join(workspace, "f"), `changed\n${lines.join("\n")}\n`);
    expect(await linesOf(null, { offset: 60_001 })).toMatchObject({ lines: [lines[59_999]], totalLines: 60_001 });
  });

  it("does not count a large rest, and skips one huge line in bounded memory", async () => {
    writeFileSync(join(workspace, "f"), "first\n");
    truncateSync(join(workspace, "f"), 200 * 1024 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    expect(await linesOf(null, { limit: 1 })).toMatchObject({ lines: ["first"], totalLines: null, nextOffset: 2 });
    const window = await linesOf(null, { offset: 2 });
    expect(window).toMatchObject({ lastLine: 2, totalLines: 2, cut: [{ line: 2, bytes: 200 * 1024 * 1024 - 6 }] });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
  });

  it("ends on abort", async () => {
    writeFileSync(join(workspace, "f"), "");
    truncateSync(join(workspace, "f"), 2 ** 40);
    const work = linesOf(null, { offset: 2, signal: AbortSignal.timeout(50) });
    await expect(work).rejects.toThrow(/aborted|timeout|timed out/i);
  });

  it.each(["gb18030", "utf-16le", "shift_jis"])("decodes %s", async (encoding) => {
    const text = encoding === "gb18030" ? "中文内容测试" : "これはテストです";
    const bytes = loadIconv().encode(`a\r\n${text}\r\nb`, encoding, { addBOM: encoding.startsWith("utf-16") });
    expect(await linesOf(bytes)).toMatchObject({ lines: ["a", text, "b"], encoding, totalLines: 3 });
    expect(await linesOf(bytes, { offset: 2, limit: 1 })).toMatchObject({ lines: [text], nextOffset: 3 });
  });

  it("detects an encoding that is visible only late in the file", async () => {
    const bytes = Buffer.concat([
      Buffer.from("plain\n".repeat(10_000)),
      loadIconv().encode("中文内容测试\n", "gb18030"),
    ]);
    expect(await linesOf(bytes, { offset: 10_001 })).toMatchObject({ lines: ["中文内容测试"], encoding: "gb18030" });
  });

  it("agrees with splitting the text, at every offset and limit", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("a", "é", "😀", "\n", "\r\n", "\n\n", "x".repeat(50)), { maxLength: 60 }),
        fc.nat(30),
        fc.integer({ min: 1, max: 10 }),
        async (parts, offset, limit) => {
          const content = parts.join("");
          const all = content.split("\n").map((line) => line.replace(/\r$/, ""));
          if (content.endsWith("\n") || content === "") all.pop();
          const first = Math.max(1, offset);
          const window = await linesOf(content, { offset, limit });
          expect(window.lines).toEqual(all.slice(first - 1, first - 1 + limit));
          expect(window.totalLines).toBe(all.length);
          expect(window.nextOffset).toBe(first - 1 + limit < all.length ? first + limit : null);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("the newline counters", () => {
  it("agree with a plain count for every length and density", () => {
    const size = 64 * 1024;
    for (const counter of [createNewlineCounter(size), createPlainCounter(size)]) {
      for (const every of [1, 2, 7, 1000]) {
        for (let index = 0; index < size; index += 1) counter.block[index] = index % every === 0 ? 10 : 120;
        for (const length of [0, 1, 15, 16, 17, 4079, 4080, 4081, 8160, 8177, size])
          expect(counter.count(length)).toBe(Math.ceil(length / every));
      }
    }
  });
});
