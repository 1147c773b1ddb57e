import { expect, test } from "vitest";
import { hasRedirection, splitCommands, stripWrapper } from "./parse-command.ts";
import { normalizeProgramName } from "./command-wrappers.ts";

test("a text is split into its commands as written, without redirections", () => {
  expect(splitCommands(`a "b c" >> d && e < f | g 2>&1; (h $(i))`)).toEqual([`a "b c"`, "e", "g", "h $(i)", "i"]);
});

test("redirections are told from characters that look like them", () => {
  for (const text of ["a > b", "a >> b", "a < b", "a 2>&1", "a <<E\nE", "a <<< b", "(a) > b"]) {
    expect(hasRedirection(text)).toBe(true);
  }
  for (const text of ["a '>' b", 'a ">" b', "a \\> b", "[[ a > b ]]", "a <(b)", "a"])
    expect(hasRedirection(text)).toBe(false);
});

test("the text inside a shell is shown without the shell", () => {
  expect(stripWrapper(` /bin/bash  -c  'a b' `)).toBe("a b");
  expect(stripWrapper("sh -c a b")).toBe("a b");
  expect(stripWrapper('cmd.exe /c "dir"')).toBe("dir");
  expect(stripWrapper('pwsh -NoProfile -Command "Get-Item x"')).toBe("Get-Item x");
  expect(stripWrapper("bashful -c a")).toBe("bashful -c a");
});

test("a program has one name, however it is written", () => {
  expect(["/usr/bin/rg", "C:\\Tools\\RG.EXE", "rg", "./rg/"].map(normalizeProgramName)).toEqual([
    "rg",
    "rg",
    "rg",
    "rg",
  ]);
});
