import { expect, test } from "vitest";
import { keyBytes } from "./pseudo-terminal.ts";

test.each([
  ["Enter", "\r"],
  ["C-c", "\x03"],
  ["c-D", "\x04"],
  ["Ctrl+C", "\x03"],
  ["^Z", "\x1a"],
  ["C-[", "\x1b"],
  ["C-Space", "\0"],
  ["M-x", "\x1bx"],
  ["M-Enter", "\x1b\r"],
  ["Up", "\x1b[A"],
  ["S-Tab", "\x1b[Z"],
  ["F5", "\x1b[15~"],
  ["PageDown", "\x1b[6~"],
  ["ls -la", "ls -la"],
  ["C", "C"],
  ["^", "^"],
])("%s", (key, bytes) => {
  expect(keyBytes([key])).toBe(bytes);
});

test("keys are concatenated", () => {
  expect(keyBytes(["git st", "Tab", "Enter"])).toBe("git st\t\r");
});

test("a control key that does not exist is refused with examples", () => {
  expect(() => keyBytes(["C-1"])).toThrow(/no control key "C-1".*C-c/);
});
