import { describe, expect, test } from "vitest";
import { estimatedTokens } from "../core/results/estimated-tokens.ts";
import { openTokenizer } from "./tokenizer.ts";

describe("openTokenizer", () => {
  const tokens = openTokenizer();

  test("counts in o200k_base", () => {
    expect(tokens.name).toBe("o200k_base");
    expect(tokens.count("hello world")).toBe(2);
    expect(tokens.count("")).toBe(0);
  });

  test("counts what looks like a control token as text", () => {
    expect(tokens.count("a <|endoftext|> b")).toBeGreaterThan(5);
  });

  test("counts runs without a break in pieces, with nearly the same result", () => {
    let longest = 0;
    const counter = openTokenizer({
      load: () => ({ countTokens: (text) => ((longest = Math.max(longest, text.length)), text.length) }),
    });
    expect(counter.count(`words before ${"x".repeat(10_000)}${" ".repeat(5000)}after`)).toBe(15_018);
    expect(longest).toBeLessThanOrEqual(128);
    const run = "字".repeat(4000);
    expect(Math.abs(tokens.count(run) - 4 * tokens.count("字".repeat(1000)))).toBeLessThan(40);
  });

  test("estimates if the package is missing, and its name tells so", () => {
    const counter = openTokenizer({
      load: () => {
        throw new Error("missing");
      },
    });
    expect(counter.name).toBe("estimate");
    expect(counter.count("hello world")).toBe(estimatedTokens.count("hello world"));
  });

  test.each([
    ["English", "Finds the newest message of a channel, and says who wrote it and when. ".repeat(20)],
    ["JSON", JSON.stringify({ type: "object", properties: { path: { type: "string", description: "Where" } } })],
  ])("%s is estimated to within a third", (_, text) => {
    expect(estimatedTokens.count(text) / tokens.count(text)).toBeGreaterThan(0.67);
    expect(estimatedTokens.count(text) / tokens.count(text)).toBeLessThan(1.5);
  });
});
