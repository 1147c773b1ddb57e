import { expect, describe, test } from "vitest";
import { ConfigError } from "./problems.ts";
import { parseConfigText } from "./config-text.ts";

async function failure(text: string, file: string): Promise<string> {
  try {
    await parseConfigText(text, file);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("It was accepted.");
}

describe("positions", () => {
  test("of keys and items in YAML; for an alias, where it is used", async () => {
    const { value, positionOf } = await parseConfigText("a: &x\n  b: 1\nlist:\n  - one\n  - c: *x\n", "x.yml");
    expect(value).toEqual({ a: { b: 1 }, list: ["one", { c: { b: 1 } }] });
    expect(positionOf(["a", "b"])).toEqual({ line: 2, column: 3 });
    expect(positionOf(["list", 0])).toEqual({ line: 4, column: 5 });
    expect(positionOf(["list", 1, "c", "b"])).toEqual({ line: 5, column: 5 });
    expect(positionOf(["nothing"])).toBeUndefined();
  });

  test("of keys and items in JSON5, with comments, quotes and escapes of every kind", async () => {
    const text = [
      "// { not: this }",
      "{",
      "  plain: { /* nor: this */ 'single': [1, \"}\", { deep: .5, }] },",
      '  "quo\\"ted": \'a // "b" \\\' c\',',
      "  \\u0061b: +0x1F, last: Infinity,",
      "}",
    ].join("\n");
    const { value, positionOf } = await parseConfigText(text, "x.json5");
    expect(value).toEqual({
      plain: { single: [1, "}", { deep: 0.5 }] },
      'quo"ted': 'a // "b" \' c',
      ab: 31,
      last: Number.POSITIVE_INFINITY,
    });
    expect(positionOf(["plain", "single"])).toEqual({ line: 3, column: 28 });
    expect(positionOf(["plain", "single", 2])).toEqual({ line: 3, column: 47 });
    expect(positionOf(["plain", "single", 2, "deep"])).toEqual({ line: 3, column: 49 });
    expect(positionOf(['quo"ted'])).toEqual({ line: 4, column: 3 });
    expect(positionOf(["ab"])).toEqual({ line: 5, column: 3 });
    expect(positionOf(["last"])).toEqual({ line: 5, column: 19 });
  });

  test("a byte order mark is not part of the text", async () => {
    expect((await parseConfigText("\uFEFFa: 1", "x.yml")).value).toEqual({ a: 1 });
    expect((await parseConfigText('\uFEFF{"a": 1}', "x.json")).value).toEqual({ a: 1 });
  });
});

describe("text that does not fit its file name", () => {
  test.each([
    ["a: [1", "x.yml", /^x\.yml:1:6 Not valid YAML: .*\]/],
    ["a: 1\na: 2", "x.yml", /^x\.yml:2:1 Not valid YAML: Map keys must be unique/],
    ["a:\n\t- b", "x.yml", /^x\.yml:2:1 Not valid YAML: Tabs/],
    ["a: 1\n---\nb: 2", "x.yml", /^x\.yml:2:1 Not valid YAML: .*multiple documents/],
    ["a: !!js/function x", "x.yml", /Unresolved tag/],
    ["? [a]\n: b", "x.yml", /all keys must be strings/],
    ["{a: tru}", "x.json", /^x\.json:1:\d+ Not valid JSON: invalid character/],
    ["{a: 1", "x.json", /^x\.json:1:\d+ Not valid JSON: invalid end of input/],
    ["{a: {b: 1,\n b: 2}}", "x.json", /^x\.json:2:2 a\.b: This key is there twice/],
    ["a = 1\nb = ", "x.toml", /^x\.toml:2:\d+ Not valid TOML/],
    ["a = 1\na = 2", "x.toml", /^x\.toml:2:\d+ Not valid TOML/],
    ['{"__proto__": {"deny": []}}', "x.json", /"__proto__" cannot be a key/],
    ["__proto__: {}", "x.yml", /"__proto__" cannot be a key/],
    ["[__proto__]\na = 1", "x.toml", /x\.toml/],
  ])("%j in %s", async (text, file, message) => {
    expect(await failure(text, file)).toMatch(message);
  });
});

describe("text that would exhaust a parser is refused", () => {
  const lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
  for (const [from, to] of ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"]) {
    lines.push(`${to}: &${to} [${`*${from}, `.repeat(9)}*${from}]`);
  }
  test.each([
    ["brackets in YAML", "[".repeat(200_000), "x.yml", /Nested more than 64/],
    ["braces in YAML", `a: ${"{b: ".repeat(100_000)}`, "x.yml", /Nested more than 64/],
    ["brackets that close in JSON", "[".repeat(90) + "]".repeat(90), "x.json", /Nested more than 64/],
    ["brackets in TOML", `a = ${"[".repeat(100_000)}`, "x.toml", /Nested more than 64/],
    ["dotted keys in TOML", `${Array(200).fill("a").join(".")} = 1`, "x.toml", /Nested more than 64/],
    ["sequences in one line", `${"- ".repeat(100_000)}x`, "x.yml", /Nested more than 64/],
    [
      "indentation",
      Array.from({ length: 1300 }, (_, at) => `${" ".repeat(at)}a:`).join("\n"),
      "x.yml",
      /Nested more than 64|Larger/,
    ],
    ["aliases of aliases", lines.join("\n"), "x.yml", /alias/],
    ["an alias that holds itself", "a: &a { b: *a }", "x.yml", /holds itself/],
    ["a large file", `a: ${"x".repeat(1024 * 1024)}`, "x.yml", /Larger than 1048576 bytes/],
    ["a million values", `[${"1,".repeat(300_000)}1]`, "x.json", /more than 50000 values/],
  ])("%s", async (_what, text, file, message) => {
    expect(await failure(text, file)).toMatch(message);
  });

  test("text with many brackets in quotes, as rules have, is read", async () => {
    const rules = Array.from({ length: 40 }, (_, at) => `- "Bash(echo [ ${at})"`).join("\n");
    expect((await parseConfigText(rules, "x.yml")).value).toHaveLength(40);
  });
});
