import { describe, expect, test } from "vitest";
import { encodeText } from "../../io/files/text-encoding.ts";
import { describeChange } from "./file-access.ts";
import { editBytes, replaceText, type TextEdit } from "./edit.ts";

/** Above the size from which exact text is searched in the bytes. */
const LINES = 12_000;
const lineOf = (n: number) => `line ${n} of a file with ümläuts and 中文`;
const text = (eol = "\n", end = eol) => Array.from({ length: LINES }, (_, i) => lineOf(i + 1)).join(eol) + end;

describe("an edit in the bytes of a large file gives the same result as in its text", () => {
  const cases: [string, string, TextEdit][] = [
    ["in the middle", text(), { oldString: "line 6000 of", newString: "LINE 6000 von" }],
    ["at the very beginning", text(), { oldString: "line 1 of", newString: "x" }],
    ["on the second line", text(), { oldString: "line 2 of", newString: "" }],
    ["at the end, without a final newline", text("\n", ""), { oldString: `line ${LINES} of`, newString: "the end" }],
    ["with CRLF", text("\r\n"), { oldString: "line 6000 of", newString: "$& $1" }],
    ["over several lines", text(), { oldString: `${lineOf(70)}\n${lineOf(71)}`, newString: "a\nb\nc" }],
    ["where only blanks differ", text(), { oldString: "line 6000 of a file with ümläuts and 中文  ", newString: "x" }],
  ];
  test.each(cases)("%s", async (_, whole, edit) => {
    const bytes = Buffer.from(whole);
    expect(bytes.length).toBeGreaterThan(256 * 1024);
    const long = replaceText(whole, [edit]);
    const edited = editBytes(bytes, [edit]);
    expect(edited.bytes.equals(Buffer.from(long.text))).toBe(true);
    expect(edited.edits).toEqual(long.edits);
    expect(await describeChange("f", edited)).toEqual(await describeChange("f", { before: whole, after: long.text }));
  });

  test("with a byte order mark, which is neither matched nor lost", () => {
    const bytes = Buffer.from(`\ufeff${text()}`);
    const edited = editBytes(bytes, [{ oldString: "\ufeffline 1 of", newString: "LINE 1 of" }]);
    expect(edited.bytes.equals(Buffer.from(`\ufeff${text().replace("line 1 of", "LINE 1 of")}`))).toBe(true);
  });

  test("in UTF-16 without a mark, whose bytes look like UTF-8", () => {
    const whole = `${"plain words\n".repeat(20_000)}Q\n`;
    const utf16 = { encoding: "utf-16le", bom: false };
    const edited = editBytes(encodeText(whole, utf16), [{ oldString: "Q", newString: "QQ" }]);
    expect(edited.bytes.equals(encodeText(whole.replace("Q", "QQ"), utf16))).toBe(true);
  });

  test("an ambiguity, a placeholder and half a character are refused", () => {
    const bytes = Buffer.from(`${text()}\ufffd\n`);
    const refuse = (edit: TextEdit) => () => editBytes(bytes, [edit]);
    expect(refuse({ oldString: "line 60", newString: "x" })).toThrow(/not unique/);
    expect(refuse({ oldString: "line 6000 of", newString: "// ... rest of the code" })).toThrow(/placeholder/);
    expect(refuse({ oldString: "\ud83d", newString: "x" })).toThrow(/not found/);
  });
});
