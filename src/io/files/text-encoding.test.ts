import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { convertLineEnds, decodeText, detectBom, encodeText, isBinary, loadIconv } from "./text-encoding.ts";

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
  it.each(SAMPLES)("recognises %s: %s", (encoding, text) => {
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
  ])("decodes %s by its byte order mark and encodes it again", (encoding, bom) => {
    const bytes = Buffer.concat([Buffer.from(bom), loadIconv().encode("añ語😀\r\nb", encoding)]);
    const decoded = decodeText(bytes);
    expect(decoded).toMatchObject({ text: "añ語😀\r\nb", encoding, bom: true, eol: "\r\n", finalNewline: false });
    expect(detectBom(bytes)).toEqual({ encoding, length: bom.length });
    expect(encodeText("new", decoded)).toEqual(Buffer.concat([Buffer.from(bom), loadIconv().encode("new", encoding)]));
    expect(isBinary(bytes)).toBe(false);
  });

  it("recognises UTF-16 without a mark by its zeros", () => {
    for (const encoding of ["utf-16le", "utf-16be"]) {
      expect(decodeText(loadIconv().encode("plain text\n", encoding))).toMatchObject({
        text: "plain text\n",
        encoding,
        bom: false,
      });
    }
  });

  it("reports line ends and the final newline", () => {
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

  it("loses no byte of any input", () => {
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
  it("refuses characters that the encoding cannot represent and names them", () => {
    expect(() => encodeText("né 語 😀", { encoding: "windows-1252", bom: false })).toThrow(
      /windows-1252, which cannot represent: 語 😀/,
    );
    expect(() => encodeText("a\ud800b", { encoding: "utf-8", bom: false })).toThrow("cannot represent");
  });
});

describe("isBinary", () => {
  it("is true for zeros, control characters and bytes of no encoding", () => {
    expect(isBinary(Buffer.from("He\0lo\0\0\0\0\0"))).toBe(true);
    expect(isBinary(Buffer.alloc(120, 0x80))).toBe(true);
    expect(isBinary(Buffer.alloc(100, 0x01))).toBe(true);
    expect(isBinary(Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"))).toBe(true);
  });

  it("is false for empty files, literal U+FFFD, colours and a character cut at the end of the sample", () => {
    expect(isBinary(Buffer.alloc(0))).toBe(false);
    expect(isBinary(Buffer.from("const REPLACEMENT = '\ufffd';\n"))).toBe(false);
    expect(isBinary(Buffer.from("\u001b[31mred\u001b[0m\n"))).toBe(false);
    expect(isBinary(Buffer.from(`${"x".repeat(8191)}語`))).toBe(false);
  });
});
