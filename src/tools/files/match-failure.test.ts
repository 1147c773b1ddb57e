import { describe, expect, test } from "vitest";
import { explainAmbiguity, explainMiss } from "./match-failure.ts";

const file = [
  "import { a } from 'a';",
  "",
  "export function total(items) {",
  "  let sum = 0;",
  "  for (const item of items) {",
  "    sum += item.price;",
  "  }",
  "  return sum;",
  "}",
].join("\n");

describe("a miss describes the difference", () => {
  test.each([
    [
      "another word",
      "  let sum = 1;\n  for (const item of items) {",
      'line 4 is "  let sum = 0;", old_string has "  let sum = 1;"',
    ],
    [
      "a line left out",
      "  let sum = 0;\n    sum += item.price;\n",
      'old_string lacks line 5 of the file: "  for (const item of items) {"',
    ],
    [
      "a line that is not there",
      "  let sum = 0;\n  // go\n  for (const item of items) {",
      'the file has no line "  // go" before line 5',
    ],
    ["case", "  RETURN sum;\n}", "upper and lower case differ on line 8"],
    ["indentation", "for (const item of items) {\n  sum += item.prices;", 'line 6 is "    sum += item.price;"'],
    ["backslashes", "import { a } from \\'a\\';", "old_string has backslashes that line 1 does not have"],
    [
      "the end of the file",
      "  return sum;\n}\n\nexport default total;",
      'the file ends before "export default total;"',
    ],
    ["a part of a line", "item of item)", 'line 5 is "  for (const item of items) {"'],
    ["a misspelt word", "retrun summ", 'line 8 is "  return sum;"'],
  ])("%s", (_, old, said) => {
    expect(explainMiss(file, old)).toContain(said);
  });

  test("trailing whitespace and look-alikes are named if another line prevents the match", () => {
    expect(explainMiss("const a = ‘x’;\nconst b = 2;", "const a = 'x';\nconst b = 3;")).toContain(
      'line 1 looks the same, but the file has U+2018 (left single quotation mark) at column 11, old_string has U+0027 ("\'"): "const a = ‘x’;"',
    );
    expect(explainMiss("alpha beta  \ngamma delta", "alpha beta\ngamma dolta")).toContain(
      "trailing whitespace differs on line 1",
    );
    expect(explainMiss("\tif (ready) {\n\tgo(1);", "    if (ready) {\n\tgo(2);")).toContain(
      "indentation of line 1 is 1 tab in the file, 4 spaces in old_string",
    );
  });
});

test("characters that look like others are named whatever else differs", () => {
  const have = "const total\u00a0= sumOf(items, prices);";
  const said = explainMiss(have, "const total = sumOf(item, prices)\u200b;");
  expect(said).toContain(
    "; the file has U+00A0 (no-break space) at column 12; old_string has U+200B (zero width space)",
  );
  expect(explainMiss(have, "const total = SUMOF(items, prices);")).toContain("U+00A0 (no-break space) at column 12");
  expect(explainMiss(have, "const total\u00a0= sumOf(item, prices);")).not.toContain("U+00A0");
});

test("shows at most three passages, the best first", () => {
  const text = Array.from({ length: 9 }, (_, index) => `server.listen(80${index}0, host);`).join("\nother();\n");
  const said = explainMiss(text, "server.listen(8050, hosts);");
  expect(said.match(/^- /gm)).toHaveLength(3);
  expect(said.indexOf("line 11 is")).toBeGreaterThan(0);
  expect(said.indexOf("line 11 is")).toBeLessThan(said.search(/- line (?!11)/));
});

test("shows the beginning of the file if nothing is similar", () => {
  expect(explainMiss("alpha\nbeta\n", "QQQQ")).toMatch(/1: alpha\n2: beta\nRead the file again/);
  expect(explainMiss("", "x")).toBe("The file is empty.");
  expect(explainMiss("alpha\n", " \n\n")).toContain("1: alpha");
});

test("the message has at most 800 characters", () => {
  const long = `start ${"word ".repeat(4_000)}end`;
  for (const [text, old] of [
    [long, long.replace("end", "END!")],
    [Array(500).fill(long).join("\n"), `${long}x`],
    ["😀".repeat(5_000), "😀😀 nothing"],
    [Array.from({ length: 300 }, (_, index) => `line ${index} ${"x".repeat(300)}`).join("\n"), "zzz"],
  ] as const) {
    const said = explainMiss(text, old);
    expect(said.length).toBeLessThanOrEqual(800);
    expect(said).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
  }
});

test("an ambiguity lists its lines and what was ignored, and is short", () => {
  expect(explainAmbiguity([3, 9], "exact")).toBe("It is found 2 times: lines 3, 9. Nothing was changed.");
  expect(explainAmbiguity([3, 9], "indentation")).toContain("if indentation is ignored");
  expect(explainAmbiguity([4, 4], "exact")).toContain("2 times: line 4.");
  const many = explainAmbiguity(
    Array.from({ length: 100 }, (_, index) => index + 1),
    "exact",
  );
  expect(many).toContain("at least 100 times");
  expect(many.length).toBeLessThan(250);
});

describe("names characters that look the same", () => {
  test.each([
    [
      "a no-break space in a part of a line",
      "  run(a,\u00a0b);\n",
      "a, b",
      "the file has U+00A0 (no-break space) at column 9, old_string has U+0020 (space)",
    ],
    ["a narrow no-break space", "x = 10\u202f000 km\n", "10 000", "U+202F (narrow no-break space) at column 7"],
    [
      "a zero width space",
      "na\u200bme = value\n",
      "name = v",
      'the file has U+200B (zero width space) at column 3, old_string has U+006D ("m")',
    ],
    [
      "a no-break space in the old text",
      "if (a b)\n",
      "(a\u00a0b)",
      "the file has U+0020 (space) at column 6, old_string has U+00A0",
    ],
    [
      "another normal form",
      "const cafe\u0301 = 1;\n",
      "café =",
      'U+0065 ("e") U+0301 at column 10, old_string has U+00E9 ("é"), the same letter in another normal form',
    ],
    [
      "a typographic quotation mark",
      "say(“hi”) // x\n",
      'say("hi")',
      "U+201C (left double quotation mark) at column 5",
    ],
    [
      "a tab between words",
      "alpha\tbeta = 1\ngamma\n",
      "alpha  beta = 1\ndelta",
      "the file has U+0009 (tab) at column 6, old_string has U+0020 (space)",
    ],
  ])("%s", (_, text, wanted, expected) => {
    expect(explainMiss(text, wanted)).toContain(expected);
  });
});
