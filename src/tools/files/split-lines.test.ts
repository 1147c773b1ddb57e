import fc from "fast-check";
import { expect, test } from "vitest";
import { commonLineEnd, lineNumbersOf, splitLines } from "./text-match.ts";

test("splits a text with any line ends after its byte order mark", () => {
  const part = fc.constantFrom("a", "bc", "\n", "\r\n", "\r", " ", "\u2028");
  fc.assert(
    fc.property(fc.array(part), fc.boolean(), (parts, marked) => {
      const mark = marked ? "\uFEFF" : "";
      const text = mark + parts.join("");
      const lines = splitLines(text);
      expect(mark + lines.map((line) => line.text + line.eol).join("")).toBe(text);
      for (const line of lines) expect(text.startsWith(line.text + line.eol, line.start)).toBe(true);
      expect(lines.slice(0, -1).every((line) => line.eol !== "")).toBe(true);
    }),
  );
});

test("line numbers count LF, CRLF and lone CR once each and agree with the lines", () => {
  const text = "a\r\nb\rc\n\nd";
  const lines = splitLines(text);
  expect(lines.map((line) => line.text)).toEqual(["a", "b", "c", "", "d"]);
  expect(
    lineNumbersOf(
      text,
      lines.map((line) => line.start),
    ),
  ).toEqual([1, 2, 3, 4, 5]);
});

test("the common line end is the most frequent one, the earlier on a tie, LF if there is none", () => {
  expect(commonLineEnd(splitLines("a\nb\r\nc\r\n"))).toBe("\r\n");
  expect(commonLineEnd(splitLines("a\r\nb\n"))).toBe("\r\n");
  expect(commonLineEnd(splitLines("a"))).toBe("\n");
});
