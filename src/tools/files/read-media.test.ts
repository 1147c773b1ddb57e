import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { createFiles } from "../../io/files/files.ts";
import { createLineIndexes } from "../../io/files/line-index.ts";
import { measureImage } from "../../io/files/media.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { createReadLedger } from "./read-before-edit.ts";
import { createReadTool } from "./read.ts";

function stage(content: Record<string, string | Buffer>) {
  const folder = temporaryFolder("haft-media-");
  for (const [path, bytes] of Object.entries(content)) writeFileSync(join(folder, path), bytes);
  const files = createFiles(createPathPolicy({ workspace: folder }));
  const tool = createReadTool({ files, reads: createReadLedger(), lineIndexes: createLineIndexes() });
  const haft = createHaft({ tools: [tool], folder });
  return {
    read: (input: object) => haft.execute("read", input),
    readForModel: (input: object) => haft.execute("read", input, { caller: { session: "s1" } }),
  };
}

/** One red pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);

test("an image is shown as an image, named by its path, with its size in pixels", async () => {
  const { read } = stage({ "pixel.dat": PNG });
  const result = await read({ path: "pixel.dat" });
  expect(result.content).toEqual([
    { type: "text", text: "MEDIA:pixel.dat" },
    { type: "image", data: PNG.toString("base64"), mimeType: "image/png" },
  ]);
  expect(result.details).toEqual({ path: "pixel.dat", mimeType: "image/png", size: PNG.length, width: 1, height: 1 });
});

function png(width: number, height: number, data: Buffer): Buffer {
  const chunk = (type: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(body.length);
    head.write(type, 4, "latin1");
    const end = Buffer.alloc(4);
    end.writeUInt32BE(crc32(Buffer.concat([head.subarray(4), body])));
    return Buffer.concat([head, body, end]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    PNG.subarray(0, 8),
    chunk("IHDR", header),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Node 20 has none. */
function crc32(bytes: Buffer): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ -1) >>> 0;
}

test("a large image is scaled, and the result names both sizes", async () => {
  const { read } = stage({
    "wide.png": png(3000, 30, deflateSync(Buffer.alloc(30 * 9001))),
  });
  const wide = await read({ path: "wide.png" });
  expect(textOf(wide.content)).toBe("MEDIA:wide.png (scaled from 3000×30 to 2000×20)");
  const shown = wide.content[1] as { data: string; mimeType: string };
  expect(shown.mimeType).toBe("image/png");
  expect(await measureImage(Buffer.from(shown.data, "base64"))).toEqual({ width: 2000, height: 20 });
  expect(wide.details).toMatchObject({ width: 3000, height: 30, shownWidth: 2000, shownHeight: 20 });
});

test("an image with too many pixels is not decoded, and the error names the command that scales it", async () => {
  const { read } = stage({ "bomb.png": png(8000, 8000, deflateSync(Buffer.alloc(10))) });
  expect(await read({ path: "bomb.png" })).toMatchObject({
    error: {
      code: "too_large",
      message: expect.stringContaining("cannot be scaled: more than 24000000 pixels"),
      next: expect.stringContaining("magick"),
    },
  });
});

test("an image that cannot be decoded is an error, and is not sent", async () => {
  const { read } = stage({
    "damaged.png": png(3000, 30, Buffer.alloc(10)),
    "cut.png": png(3000, 30, deflateSync(Buffer.alloc(30 * 9001))).subarray(0, 60),
    "head.png": PNG.subarray(0, 20),
  });
  for (const path of ["damaged.png", "cut.png", "head.png"]) {
    const result = await read({ path });
    expect(result).toMatchObject({
      error: { code: "bad_encoding", message: expect.stringContaining(`${path} cannot be decoded as image/png`) },
    });
    expect(result.content.map(({ type }) => type)).toEqual(["text"]);
  }
});

test("an image may exceed the limit for text, but not the limit for models", async () => {
  const padded = Buffer.concat([PNG, Buffer.alloc(1024 * 1024)]);
  const { read } = stage({ "big.png": padded, "huge.png": Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]) });
  const result = await read({ path: "big.png" });
  expect(result.content[1]).toMatchObject({ type: "image", data: padded.toString("base64") });
  const huge = (await read({ path: "huge.png" })).content[1] as { data: string };
  expect(huge.data.length).toBeLessThan(1000);
});

test("an unsupported image type is refused by name", async () => {
  const { read } = stage({ "scan.tiff": Buffer.from("II*\0rest of it", "latin1") });
  expect(await read({ path: "scan.tiff" })).toMatchObject({
    error: { code: "not_regular_file", message: expect.stringContaining("image/tiff") },
  });
});

/** A PDF with one line of text on each page. */
function makePdf(texts: readonly string[]): Buffer {
  const pageIds = texts.map((_, i) => 4 + i * 2);
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${pageIds.map((id) => `${id} 0 R`).join(" ")}] /Count ${texts.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...texts.flatMap((text, i) => {
      const stream = `BT /F1 24 Tf 72 700 Td (${text}) Tj ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + i * 2} 0 R >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
      ];
    }),
  ];
  let body = "%PDF-1.4\n";
  const offsets = objects.map((object, i) => {
    const at = body.length;
    body += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const table = offsets.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("");
  const head = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`;
  return Buffer.from(
    `${body}${head}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`,
    "latin1",
  );
}

test("a PDF is read page by page, as text", async () => {
  const { read } = stage({ "paper.pdf": makePdf(["First page", "Second page", "Third page"]) });
  const whole = await read({ path: "paper.pdf" });
  expect(textOf(whole.content)).toBe(
    "--- page 1 of 3 ---\nFirst page\n\n--- page 2 of 3 ---\nSecond page\n\n--- page 3 of 3 ---\nThird page",
  );
  expect(whole.details).toMatchObject({ totalPages: 3, firstPage: 1, lastPage: 3 });
  const one = await read({ path: "paper.pdf", pages: "2" });
  expect(textOf(one.content)).toBe("--- page 2 of 3 ---\nSecond page\n\n[Use pages=3-3 to continue.]");
  expect(textOf((await read({ path: "paper.pdf", pages: "2-" })).content)).toContain("Third page");
});

test("shows at most 20 pages, and missing pages are refused; a program gets all", async () => {
  const { readForModel: read, read: readAll } = stage({
    "book.pdf": makePdf(Array.from({ length: 22 }, (_, i) => `Page ${i + 1}`)),
  });
  const first = await read({ path: "book.pdf" });
  expect(first.details).toMatchObject({ firstPage: 1, lastPage: 20, totalPages: 22 });
  expect(textOf(first.content)).toContain("[Use pages=21-22 to continue.]");
  for (const pages of ["23", "5-2", "1-22", "two", "0", "1 2"]) {
    expect(await read({ path: "book.pdf", pages }), pages).toMatchObject({ error: { code: "bad_range" } });
  }
  expect((await readAll({ path: "book.pdf" })).details).toMatchObject({
    content: expect.stringMatching(/Page 1\n[^]*Page 22$/),
    lastPage: 22,
  });
});

test("a broken PDF fails with a clear message", async () => {
  const { read } = stage({ "broken.pdf": "%PDF-1.4\nnothing of it is here" });
  expect(await read({ path: "broken.pdf" })).toMatchObject({ error: { code: "bad_encoding" } });
});

test("a notebook is read as its cells with their outputs", async () => {
  const notebook = {
    cells: [
      { cell_type: "markdown", id: "intro", source: ["# Title\n", "text"] },
      {
        cell_type: "code",
        source: "print(1)",
        outputs: [
          { output_type: "stream", text: ["1\n"] },
          { output_type: "error", ename: "ValueError", evalue: "bad" },
          { output_type: "display_data", data: { "image/png": "AAAA" } },
          { output_type: "stream", text: "o".repeat(5000) },
        ],
      },
    ],
  };
  const { read } = stage({ "n.ipynb": JSON.stringify(notebook) });
  const result = await read({ path: "n.ipynb" });
  const shown = textOf(result.content);
  expect(shown).toContain(
    "[1] markdown intro\n# Title\ntext\n\n[2] code\nprint(1)\n→ 1\n\n→ ValueError: bad\n→ (image/png)",
  );
  expect(shown).toContain(`${"o".repeat(2000)}…`);
  expect(result.details).toMatchObject({
    cells: [
      { index: 1, id: "intro", type: "markdown" },
      { index: 2, type: "code" },
    ],
  });
  expect(textOf((await read({ path: "n.ipynb", offset: 1 })).content)).toContain('1\t{"cells"');
});

test("a file that is not a notebook despite its name is read as text", async () => {
  const { read } = stage({ "empty.ipynb": "", "odd.ipynb": '{"cells": [null]}', "broken.ipynb": '{"cells": [' });
  expect(textOf((await read({ path: "empty.ipynb" })).content)).toBe("(empty file)");
  expect((await read({ path: "odd.ipynb" })).details).toMatchObject({ content: '{"cells": [null]}' });
  expect((await read({ path: "broken.ipynb" })).details).toMatchObject({ content: '{"cells": [' });
});
