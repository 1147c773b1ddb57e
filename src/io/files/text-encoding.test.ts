import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  convertLineEnds,
  decodeText,
  detectBom,
  encodeText,
  isBinary,
  loadIconv,
  replaceSpan,
} from "./text-encoding.ts";

const SAMPLES: [encoding: string, text: string][] = [
  ["gb18030", "中文内容测试\n"],
  ["gb18030", "你好，世界\nabc\n"],
  ["gb18030", "x = 1 // 注释\n"],
  ["gb18030", "配置文件：数据库连接字符串，请不要修改。\nint main() { return 0; } // 主函数\n"],
  ["shift_jis", "日本\nabc\n"],
  ["shift_jis", "これはテストです。\n"],
  ["shift_jis", "日本語のコメント\nint a; // 変数\n"],
  ["big5", "繁體中文測試\n"],
  ["big5", "設定檔案：請勿修改這個檔案的內容。\n"],
  ["euc-kr", "한국어 테스트\n"],
  ["euc-kr", "안녕하세요 세계\nint a; // 변수\n"],
  ["euc-jp", "これは日本語の文章です。\n"],
  ["windows-1252", "café\n"],
  ["windows-1252", "naïve résumé — “quoted” text, Größe: 10 €\n"],
  ["windows-1251", "Привет, мир! Это комментарий к коду, который никто не читает.\n"],
];

describe("decodeText", () => {
  it.each(SAMPLES)("knows %s: %s", (encoding, text) => {
    const bytes = loadIconv().encode(text, encoding);
    const decoded = decodeText(bytes);
    expect(decoded.text).toBe(text);
    expect(encodeText(decoded.text, decoded)).toEqual(bytes);
    expect(isBinary(bytes)).toBe(false);
  });

  it.each([
    ["utf-8", [0xef, 0xbb, 0xbf]],
    ["utf-16le", [0xff, 0xfe]],
    ["utf-16be", [0xfe, 0xff]],
    ["utf-32le", [0xff, 0xfe, 0, 0]],
    ["utf-32be", [0, 0, 0xfe, 0xff]],
  ])("reads %s by its byte order mark and writes it back", (encoding, bom) => {
    const bytes = Buffer.concat([Buffer.from(bom), loadIconv().encode("añ語😀\r\nb", encoding)]);
    const decoded = decodeText(bytes);
    expect(decoded).toMatchObject({ text: "añ語😀\r\nb", encoding, bom: true, eol: "\r\n", finalNewline: false });
    expect(detectBom(bytes)).toEqual({ encoding, length: bom.length });
    expect(encodeText("new", decoded)).toEqual(Buffer.concat([Buffer.from(bom), loadIconv().encode("new", encoding)]));
    expect(isBinary(bytes)).toBe(false);
  });

  it("knows UTF-16 without a mark by its zeros", () => {
    for (const encoding of ["utf-16le", "utf-16be"]) {
      expect(decodeText(loadIconv().encode("plain text\n", encoding))).toMatchObject({
        text: "plain text\n",
        encoding,
        bom: false,
      });
    }
  });

  it("tells line ends and the final newline", () => {
    const eolOf = (text: string) => [decodeText(Buffer.from(text)).eol, decodeText(Buffer.from(text)).finalNewline];
    expect(eolOf("")).toEqual(["\n", false]);
    expect(eolOf("a")).toEqual(["\n", false]);
    expect(eolOf("a\nb\n")).toEqual(["\n", true]);
    expect(eolOf("a\r\nb\r\n")).toEqual(["\r\n", true]);
    expect(eolOf("a\r\nb\n")).toEqual(["mixed", true]);
    expect(eolOf("a\nb\r\nc")).toEqual(["mixed", false]);
    expect(eolOf("a\rb\n")).toEqual(["\n", true]);
    expect(convertLineEnds("a\r\nb\nc", "\r\n")).toBe("a\r\nb\r\nc");
    expect(convertLineEnds("a\r\nb\nc", "\n")).toBe("a\nb\nc");
  });

  it("loses no byte, whatever the bytes are", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
      fc
        .tuple(fc.constantFrom(...SAMPLES), fc.uint8Array({ maxLength: 3 }))
        .map(([[encoding, text], noise]) => Buffer.concat([loadIconv().encode(text, encoding), noise])),
    );
    fc.assert(
      fc.property(bytes, (value) => {
        const original = Buffer.from(value);
        const decoded = decodeText(original);
        expect(encodeText(decoded.text, decoded).equals(original)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("encodeText", () => {
  it("refuses what the encoding cannot hold and names it", () => {
    expect(() => encodeText("né 語 😀", { encoding: "windows-1252", bom: false })).toThrow(
      /windows-1252, which cannot hold: 語 😀/,
    );
    expect(() => encodeText("a\ud800b", { encoding: "utf-8", bom: false })).toThrow("cannot hold");
  });
});

describe("isBinary", () => {
  it("takes zeros, control characters and bytes of no encoding for binary", () => {
    expect(isBinary(Buffer.from("He\0lo\0\0\0\0\0"))).toBe(true);
    expect(isBinary(Buffer.alloc(120, 0x80))).toBe(true);
    expect(isBinary(Buffer.alloc(100, 0x01))).toBe(true);
    expect(isBinary(Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"))).toBe(true);
  });

  it("takes empty files, literal U+FFFD, colours and a character cut at the sample's end for text", () => {
    expect(isBinary(Buffer.alloc(0))).toBe(false);
    expect(isBinary(Buffer.from("const REPLACEMENT = '\ufffd';\n"))).toBe(false);
    expect(isBinary(Buffer.from("\u001b[31mred\u001b[0m\n"))).toBe(false);
    expect(isBinary(Buffer.from(`${"x".repeat(8191)}語`))).toBe(false);
  });
});

describe("replaceSpan", () => {
  it("changes only the bytes of the span: mixed line ends, mark and missing newline stay", () => {
    const bytes = Buffer.from("\ufeffone\r\ntwo\nthrée\r\nfour");
    const decoded = decodeText(bytes);
    const start = decoded.text.indexOf("two");
    expect(replaceSpan(decoded, { start, end: start + 3 }, "T$&WO").toString()).toBe(
      "\ufeffone\r\nT$&WO\nthrée\r\nfour",
    );
  });

  it.each(SAMPLES)("keeps the other bytes in %s: %s", (encoding, text) => {
    const decoded = decodeText(loadIconv().encode(`${text}needle\r\n${text}`, encoding));
    const start = decoded.text.indexOf("needle");
    const result = replaceSpan(decoded, { start, end: start + 6 }, text.trim());
    expect(result).toEqual(loadIconv().encode(`${text}${text.trim()}\r\n${text}`, encoding));
  });

  it("agrees with replacing in the text, in every encoding", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("utf-8", "utf-16le", "utf-16be", "utf-32le"),
        fc.boolean(),
        fc.array(fc.constantFrom("a", "ü", "語", "😀", "\r\n", "\n"), { maxLength: 30 }),
        fc.nat(30),
        fc.nat(30),
        fc.string({ unit: "grapheme" }),
        (encoding, bom, characters, from, count, fresh) => {
          const bytes = encodeText(characters.join(""), { encoding, bom: bom || encoding !== "utf-8" });
          const decoded = decodeText(bytes);
          const start = characters.slice(0, from).join("").length;
          const end = characters.slice(0, from + count).join("").length;
          const result = decodeText(replaceSpan(decoded, { start, end }, fresh));
          expect(result.text).toBe(decoded.text.slice(0, start) + fresh + decoded.text.slice(end));
          expect(result.bom).toBe(decoded.bom);
        },
      ),
    );
  });

  it("refuses a span that is none, and a text that the encoding cannot hold", () => {
    const decoded = decodeText(Buffer.from("a😀b"));
    expect(() => replaceSpan(decoded, { start: 2, end: 3 }, "x")).toThrow("whole characters");
    expect(() => replaceSpan(decoded, { start: 2, end: 9 }, "x")).toThrow("whole characters");
    const legacy = decodeText(loadIconv().encode("これはテストです。abc", "shift_jis"));
    expect(() => replaceSpan(legacy, { start: 0, end: 1 }, "😀")).toThrow("cannot hold: 😀");
  });
});
