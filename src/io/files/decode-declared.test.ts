import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { decodeDeclared } from "./text-encoding.ts";

const CHINESE = "这是一个测试的内容，你好世界";
const JAPANESE = "日本語の文字です";

describe("text with a declared encoding", () => {
  test.each([
    ["gb2312", "gbk", CHINESE],
    ["GBK", "gbk", CHINESE],
    ["big5", "big5", "這是一個測試"],
    ['"Shift_JIS"', "shift_jis", JAPANESE],
    ["euc-kr", "euc-kr", "한국어 내용"],
    ["windows-1251", "windows-1251", "Привет"],
    ["iso-8859-1", "windows-1252", "Grüße – “ja”"],
    ["utf-8", "utf8", "Grüße"],
  ])("is decoded by the label %s", (label, encoding, text) => {
    expect(decodeDeclared(iconv.encode(text, encoding), label).text).toBe(text);
  });

  test("is decoded by its byte order mark first", () => {
    expect(decodeDeclared(iconv.encode("Grüße", "utf-16le", { addBOM: true }), "utf-8").text).toBe("Grüße");
    expect(decodeDeclared(Buffer.from("\ufeffGrüße"), "gbk")).toEqual({ text: "Grüße", encoding: "utf-8" });
  });

  test("is decoded by its bytes if the label is wrong, unknown or missing", () => {
    expect(decodeDeclared(iconv.encode(CHINESE, "gbk"), "utf-8").text).toBe(CHINESE);
    expect(decodeDeclared(iconv.encode(CHINESE, "gbk"), "none-such").text).toBe(CHINESE);
    expect(decodeDeclared(iconv.encode(CHINESE, "gbk")).text).toBe(CHINESE);
    expect(decodeDeclared(Buffer.from("Grüße"), "iso-8859-1").text).toBe("Grüße");
  });

  test.each(["utf-7", "UTF-7", "hz-gb-2312", "iso-2022-kr", "utf-32"])("is refused as %s", (label) => {
    expect(() => decodeDeclared(Buffer.from("+ADw-script+AD4-"), label)).toThrow(/refused/);
  });
});
