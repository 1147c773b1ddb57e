import { describe, expect, test } from "vitest";
import { findMatch } from "./text-match.ts";

function found(text: string, old: string, all = false) {
  const match = findMatch(text, old, { all });
  return (
    match && { step: match.step, stripped: match.stripped, ranges: match.ranges.map((p) => text.slice(p.start, p.end)) }
  );
}

describe("each match step", () => {
  test.each([
    ["exact", "x = 1; y = 2;", "y = 2", "y = 2"],
    ["line_ends", "a\r\nb\r\nc\r\n", "b\nc\n", "b\r\nc\r\n"],
    ["line_ends", "xa\r\nby\r\n", "a\nb", "a\r\nb"],
    ["line_ends", "a\nb\n", "a\r\nb\r\n", "a\nb\n"],
    ["line_ends", "a\rb\rc", "a\nb", "a\rb"],
    ["line_ends", "a\nlast", "last\n", "last"],
    ["line_ends", "one\ntwo\n", "\uFEFFone\n", "one\n"],
    ["trailing_blanks", "a  \nb\t\nc", "a\nb", "a  \nb\t"],
    ["trailing_blanks", "a\nb\nc", "a  \nb ", "a\nb"],
    ["look_alikes", "say(“hi”) – now\n", 'say("hi") - now', "say(“hi”) – now"],
    ["look_alikes", "x\u00a0= 1\n", "x = 1", "x\u00a0= 1"],
    ["look_alikes", "ｆｕｌｌ（１）\n", "full(1)", "ｆｕｌｌ（１）"],
    ["look_alikes", "caf\u0065\u0301\n", "café", "caf\u0065\u0301"],
    ["indentation", "if (a) {\n    b();\n    c();\n}", "  b();\n  c();\n", "    b();\n    c();\n"],
    ["indentation", "\tif x:\n\t\ty()\n", "if x:\n    y()", "\tif x:\n\t\ty()"],
    ["indentation", "  if x:\n    y() \n  z()", "if x:\n    y()\n  z()", "  if x:\n    y() \n  z()"],
    ["flattened_indentation", "  a {\n    b\n  }\n", "a {\nb\n}", "  a {\n    b\n  }"],
    ["inner_blanks", "  call( a,b )\n", "call(a, b)", "  call( a,b )"],
  ])("%s", (step, text, old, range) => {
    expect(found(text, old)).toEqual({ step, stripped: undefined, ranges: [range] });
  });

  test("an earlier step wins over a later one with more matches", () => {
    expect(found("a  \nb\n", "a")).toMatchObject({ step: "exact", ranges: ["a"] });
    expect(found("x y  \n x y\n", "x y\n")).toMatchObject({ step: "exact" });
  });
});

describe("no match", () => {
  test.each([
    [
      "another middle between equal first and last lines",
      "f() {\n  a();\n  b();\n}\n",
      "f() {\n  other();\n  b();\n}\n",
    ],
    ["part of a line by its look only", "call(‘a’, ‘b’)\n", "call('a'"],
    ["words run together", "ab cd\n", "a bcd"],
    ["uneven indentation", "  a\n      b\n", "a\n  b"],
    ["blank lines by their blanks", "a\n \n\t\n \nb", "\n\n\n"],
    ["letters by their case", "Hello\n", "hello\n"],
  ])("%s", (_, text, old) => {
    expect(found(text, old)).toBeUndefined();
  });
});

test("returns all matches, including overlapping ones", () => {
  expect(found("aXaXa", "aXa")?.ranges).toHaveLength(2);
  expect(found("aXaXa", "aXa", true)?.ranges).toHaveLength(1);
  expect(found("a \nb\n-\na  \nb\n", "a\nb\n")).toMatchObject({
    step: "trailing_blanks",
    ranges: ["a \nb\n", "a  \nb\n"],
  });
});

test("ambiguous matches are limited, a search for all is not", () => {
  const text = "x\n".repeat(1_000);
  expect(found(text, "x")?.ranges).toHaveLength(100);
  expect(found(text, "x", true)?.ranges).toHaveLength(1_000);
  const blanks = "x  \n".repeat(1_000);
  expect(found(blanks, "x\n")?.ranges).toHaveLength(100);
  expect(found(blanks, "x\n", true)?.ranges).toHaveLength(1_000);
});

test("a match beyond the limit still makes the text ambiguous", () => {
  const uneven = "x {\n      y\n  }\n".repeat(150);
  const even = "    x {\n      y\n    }\n";
  expect(found(`${even}${uneven}${even}`, "  x {\n    y\n  }\n")).toMatchObject({
    step: "indentation",
    ranges: [even, even],
  });
});

test("a run at each of many equal lines is compared only to a bound, and no match is taken for the only one", () => {
  const lines = 20_000;
  expect(findMatch("a\n".repeat(lines), " a \n".repeat(lines / 4))).toMatchObject({ step: "indentation" });
  // A longer text is quoted exactly or not found.
  expect(findMatch("a\n".repeat(lines), "a\n".repeat(lines / 2))).toMatchObject({ step: "exact" });
  expect(findMatch("a\n".repeat(lines), " a \n".repeat(lines / 2))).toBeUndefined();
  const uneven = "  a\n     a\n";
  const text = `${uneven}${"a\n".repeat(3 * lines)}${uneven}`;
  expect(findMatch(text, " a\n    a\n")?.ranges ?? []).not.toHaveLength(1);
});

describe("line numbers pasted from a listing", () => {
  const text = "zero\none\ntwo\n\nfour\n";
  test.each([
    ["     2\tone\n     3\ttwo\n"],
    ["2: one\n3: two\n4:\n5: four\n"],
    [" 9 | one\n10 | two\n"],
    ["2→one\n3→two"],
  ])("are removed if they are consecutive: %j", (old) => {
    expect(found(text, old)).toMatchObject({ step: "exact", stripped: "line_numbers" });
  });

  test("stay if they are not consecutive, a line lacks one, or the file has them", () => {
    expect(found(text, "2: one\n4: two\n")).toBeUndefined();
    expect(found(text, "2: one\ntwo\n")).toBeUndefined();
    expect(found("1: one\n2: two\n", "1: one\n2: two\n")).toMatchObject({ step: "exact", stripped: undefined });
  });
});

test("an extra empty line at the edges of the old text is ignored", () => {
  expect(found("a\nb\nc\n", "\na\nb\n\n")).toEqual({ step: "exact", stripped: "blank_edges", ranges: ["a\nb\n"] });
});
