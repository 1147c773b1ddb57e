import { expect, test } from "vitest";
import { boundedTest, isExponentialPattern, judgePattern, maxLengthFor } from "./exponential-regex.ts";

test.each([
  "(a+)+$",
  "^(?:(?:a+)+)+$",
  "(a|aa)+$",
  "(a|a)*b",
  "(.*)*x",
  "(a*)*",
  "(a?b?)*c",
  "^(\\w+\\s?)*$",
  "^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+$",
  "^((a{0,100}){0,100}){0,100}$",
  "(?=(a+)+$)x",
  "([^,]*,?)*$",
  "(\\d+|\\w+)*!",
  "((?<word>a+)b?)+$",
  "^(?:a*){8}b$",
  "^(a+){10}$",
  "^(?:a|a|a){20}b$",
  "^.*.*.*.*.*=$",
])("finds that %s may take exponential time", (pattern) => {
  expect(isExponentialPattern(pattern)).toBe(true);
});

test.each([
  "^[a-z]+(-[a-z]+)*$",
  "^[a-z][a-z0-9_]*(\\.[a-z0-9_]+)+$",
  "^\\d{4}-\\d{2}-\\d{2}$",
  "^(?:\\d{1,3}\\.){3}\\d{1,3}$",
  "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
  "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
  "^https?://[^/]+(/[^/]*)*$",
  "(?:ab)+",
  "^.{1,500}$",
  "(a?)*b",
  "^(\"[^\"]*\"|'[^']*')+$",
  "^\\p{L}+( \\p{L}+)*$",
  "^(a|b|[c-e])*$",
  "\\bfoo\\b|^$",
  "^[a-f\\d]{32}[a-f\\d]{32}[a-f\\d]{32}[a-f\\d]{32}[a-f\\d]{32}[a-f\\d]{32}$",
  "^\\s*\\w+\\s*=\\s*\\w+\\s*,\\s*\\w+\\s*$",
  "^(?:[\\da-f]{2}:){19}[\\da-f]{2}$",
  "",
])("accepts %s", (pattern) => {
  new RegExp(pattern, "u");
  expect(isExponentialPattern(pattern)).toBe(false);
});

test("finds one after many harmless characters", () => {
  expect(isExponentialPattern(`${"b".repeat(1000)}(\\w|\\d)+$`)).toBe(true);
});

test("reports patterns that it has not judged", () => {
  expect(judgePattern(`(?:${"[a-z]?".repeat(300)}x)*`)).not.toBe("sound");
  expect(judgePattern("a".repeat(6000))).toBe("not judged");
  expect(judgePattern("^[a-z]+$")).toBe("sound");
});

test("is fast for patterns of any size", () => {
  expect(isExponentialPattern("(?:[a-z]{5}x)".repeat(4000))).toBe(false);
  expect(isExponentialPattern(`${"(".repeat(500)}a${")+".repeat(500)}`)).toBe(true);
  expect(isExponentialPattern("a*".repeat(60))).toBe(true);
});

test("bounds the text for patterns of polynomial time only", () => {
  for (const pattern of ["^.*.*=$", "^\\s*.*\\s*x$", "^(?:a+)(?:b?a+)c$", "[a-z]+$"]) {
    expect(maxLengthFor(pattern)).toBeLessThan(10_000);
  }
  expect(() => boundedTest("^.*.*=$")("a".repeat(200_000))).toThrow("too long for the pattern");
  expect(boundedTest("^.*.*=$")(`${"a".repeat(1000)}=`)).toBe(true);
  for (const pattern of ["^[a-z]+$", "\\S", "\\w+", "^[^@]+@[^@]+$", "^\\d+(?:\\.\\d+)*$", "^[\\s\\S]*$"]) {
    expect(maxLengthFor(pattern)).toBe(Infinity);
  }
});
