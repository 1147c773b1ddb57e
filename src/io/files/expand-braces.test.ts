import { expect, test } from "vitest";
import { expandBraces } from "./glob-pattern.ts";

test("a choice gives one pattern for each of its parts, in order", () => {
  expect(expandBraces("a{b,c}d")).toEqual(["abd", "acd"]);
  expect(expandBraces("{a,b}{c,d}")).toEqual(["ac", "ad", "bc", "bd"]);
  expect(expandBraces("x{a,{b,c}/d,}")).toEqual(["xa", "xb/d", "xc/d", "x"]);
});

test("ranges count up and down", () => {
  expect(expandBraces("{1..3}")).toEqual(["1", "2", "3"]);
  expect(expandBraces("{b..a}.txt")).toEqual(["b.txt", "a.txt"]);
});

test("what is not a choice stays text", () => {
  for (const text of ["a", "{a}", "{a", "a}", "{}", "\\{a,b}", "{a,b"]) expect(expandBraces(text)).toEqual([text]);
  expect(expandBraces("{a{b,c}")).toEqual(["{ab", "{ac"]);
  expect(expandBraces("{x}{a,b}")).toEqual(["{x}a", "{x}b"]);
});

test("more alternatives than anybody needs are refused instead of filling the memory", () => {
  for (const bomb of ["{a,b}".repeat(40), "{1..100000}", "{a,".repeat(500) + "b" + "}".repeat(500)]) {
    expect(() => expandBraces(bomb), bomb.slice(0, 20)).toThrow(expect.objectContaining({ code: "bad_pattern" }));
  }
});
