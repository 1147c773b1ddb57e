import { expect, test } from "vitest";
import { literalWord } from "./parse-command.ts";

test.each([
  ["a-b_c./:=@%+,^!", "a-b_c./:=@%+,^!"],
  ["HEAD~1", "HEAD~1"],
  ["a#b", "a#b"],
  ["'$x `y` \\'", "$x `y` \\"],
  [`"a b"'c'd`, "a bcd"],
  ["''", ""],
  [`"a\\.b\\d"`, "a\\.b\\d"],
  [`"^a$"`, "^a$"],
  [`"(a$|b$)"`, "(a$|b$)"],
  ["a\\\nb", "ab"],
  ["日本語", "日本語"],
])("%j is literally %j", (source, value) => {
  expect(literalWord(source)).toBe(value);
});

test.each([
  "",
  "a*",
  "a?",
  "[a]",
  "{a,b}",
  "a\\b",
  "\\*",
  "$a",
  "a$",
  '"$a"',
  '"${a}"',
  '"`a`"',
  '"a\\\\b"',
  '"a\\"b"',
  '"a\\$b"',
  '"$\\\n(a)"',
  '"a\\\nb"',
  "$'a'",
  '$"a"',
  "~",
  "~a",
  "a=~",
  "a:~b",
  "#a",
  "'a",
  '"a',
  "a b",
  "a;b",
  "a|b",
  "a>b",
  "(a)",
])("%j is not certain", (source) => {
  expect(literalWord(source)).toBeUndefined();
});
