import { expect, test } from "vitest";
import { safeName } from "./browser-profiles.ts";

test.each([
  ["tea.txt", "tea.txt"],
  ["../../etc/passwd", "etc_passwd"],
  [".bashrc", "bashrc"],
  ["a\u0000b\u202Etxt.exe", "a_b_txt.exe"],
  ["C:\\x.bat", "C__x.bat"],
  ["茶 (1).pdf", "茶 (1).pdf"],
  ["", "file"],
  ["...", "file"],
  [`${"x".repeat(300)}.csv`, `${"x".repeat(100)}.csv`],
])("the file name %j becomes %j", (given, expected) => {
  expect(safeName(given)).toBe(expected);
});
