import { expect, test } from "vitest";
import { expandBraces } from "./glob-pattern.ts";

test("a choice expands to one pattern per part, in order", () => {
  expect(expandBraces("a{b,c}d")).toEqual(["abd", "acd"]);
  expect(expandBraces("{a,b}{c,d}")).toEqual(["ac", "ad", "bc", "bd"]);
  expect(expandBraces("x{a,{b,c}/d,}")).toEqual(["xa", "xb/d", "xc/d", "x"]);
});

test("ranges count up and down", () => {
  expect(expandBraces("{1..3}")).toEqual(["1", "2", "3"]);
  expect(expandBraces("{b..a}.txt")).toEqual(["b.txt", "a.txt"]);
});

test("anything else stays literal", () => {
  for (const text of ["a", "{a}", "{a", "a}", "{}", "\\{a,b}", "{a,b"]) expect(expandBraces(text)).toEqual([text]);
  expect(expandBraces("{a{b,c}")).toEqual(["{ab", "{ac"]);
  expect(expandBraces("{x}{a,b}")).toEqual(["{x}a", "{x}b"]);
});

test("too many alternatives are refused", () => {
  for (const bomb of ["{a,b}".repeat(40), "{1..100000}", "{a,".repeat(500) + "b" + "}".repeat(500)]) {
    expect(() => expandBraces(bomb), bomb.slice(0, 20)).toThrow(expect.objectContaining({ code: "bad_pattern" }));
  }
});
