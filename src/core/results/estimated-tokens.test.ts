import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { openTokenizer } from "../../models/tokenizer.ts";
import { estimatedTokens } from "./estimated-tokens.ts";
import { startWithin, windowOf } from "./text-window.ts";

const numbers = Array.from({ length: 400 }, (_, i) => (i * 7919 + 104729) % 100_003);
const bytes = Buffer.from(numbers.flatMap((n) => [n & 255, (n >> 5) & 255, (n * 31) & 255]));
const texts: readonly (readonly [string, string])[] = [
  [
    "a log",
    numbers
      .map(
        (n) =>
          `2026-11-16T12:00:${n % 60}.${n % 1000}Z INFO [http-${n % 9}] GET /users/${n} 200 ${n % 900}ms trace=${(n * 997_331).toString(16)}`,
      )
      .join("\n"),
  ],
  ["JSON", JSON.stringify(numbers.map((id) => ({ id, name: `item ${id}`, price: id / 100, active: id % 2 === 0 })))],
  ["base64", bytes.toString("base64")],
  ["hashes", numbers.map((n) => `${(n * 2_654_435_761).toString(16)}${(n * 40_503).toString(16)}`).join("\n")],
  ["Chinese", "这个工具会读取文件的内容，并且把结果返回给模型。如果文件太长，就只显示一部分。".repeat(20)],
  ["Japanese", "このツールはファイルの内容を読み取り、結果をモデルに返します。".repeat(20)],
  ["code", "export function add(first: number, second: number): number {\n  return first + second;\n}\n".repeat(20)],
  ["prose", "Finds the newest message of a channel, and says who wrote it and when. ".repeat(20)],
];

const letters = (alphabet: string, length: number, row: number): string =>
  Array.from(
    createHash("sha512").update(String(row)).digest().subarray(0, length),
    (byte) => alphabet[byte % alphabet.length],
  ).join("");
const rows = Array.from({ length: 300 }, (_, i) => i);
const alphabet = "abcdefghijklmnopqrstuvwxyz";
/** Text without words: its budget may be exceeded by half, not by twice. */
const dearTexts: readonly (readonly [string, string])[] = [
  ["a protein", rows.map((row) => letters("ACDEFGHIKLMNPQRSTVWY", 60, row)).join("\n")],
  ["random names", rows.map((row) => `${letters(alphabet, 6, row)}_${letters(alphabet, 7, row + 1000)}`).join("\n")],
  ["mixed marks", rows.map((row) => letters("+-<>[].,!#$%&*=?@^{|}~", 60, row)).join("\n")],
  ["a table", rows.map((row) => `│ ${row} │ ok │\n├────────┼──────┤`).join("\n")],
  [
    "rare Korean",
    rows.map((row) => letters(String.fromCharCode(...rows.map((i) => 0xac00 + i * 37)), 40, row)).join("\n"),
  ],
];

describe("the estimate", () => {
  const tokens = openTokenizer();

  test.each(dearTexts)("of %s is at least 0.65 of o200k_base", (_, text) => {
    expect(estimatedTokens.count(text) / tokens.count(text)).toBeGreaterThan(0.65);
  });

  test.each(texts)("of %s is within a quarter of o200k_base", (_, text) => {
    expect(tokens.name).toBe("o200k_base");
    const ratio = estimatedTokens.count(text) / tokens.count(text);
    expect(ratio).toBeGreaterThan(0.75);
    expect(ratio).toBeLessThan(1.25);
  });

  test("of nothing is 0", () => expect(estimatedTokens.count("")).toBe(0));
});

test.each(texts)("windows over %s show all of it", (_, text) => {
  let seen = "";
  let next: { offset: number; column?: number } | undefined = { offset: 1 };
  while (next) {
    const window = windowOf(text, { ...next, maxTokens: 100 });
    expect(estimatedTokens.count(window.text)).toBeLessThanOrEqual(100);
    seen += window.text + (window.next && window.next.column === undefined ? "\n" : "");
    next = window.next;
  }
  expect(seen).toBe(text);
});

test("a beginning never ends with half of a pair", () => {
  for (let max = 1; max < 9; max++) expect(startWithin("😀".repeat(30), max).isWellFormed()).toBe(true);
});
