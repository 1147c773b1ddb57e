import fc from "fast-check";
import { expect, test } from "vitest";
import { stripTerminalCodes } from "./terminal-text.ts";

const cases: [name: string, input: string, output: string][] = [
  ["plain text stays", "héllo 日本 😀\n\tx", "héllo 日本 😀\n\tx"],
  ["colours go", "\x1b[1;31mred\x1b[0m", "red"],
  ["private modes and queries go", "\x1b[?25l\x1b[6nx\x1b[>0q", "x"],
  ["a title goes", "a\x1b]0;title\x07b", "ab"],
  ["a link keeps its text", "\x1b]8;;http://example.com\x1b\\click\x1b]8;;\x1b\\", "click"],
  ["a device string goes", "a\x1bPq#0;2;0\x1b\\b", "ab"],
  ["eight-bit introducers go", "a\u009b31mb\u009dtitle\u009cc", "abc"],
  ["charset and keypad escapes go", "\x1b(B\x1b=\x1b>\x1b7x", "x"],
  ["Windows line ends become line ends", "a\r\nb\r\n", "a\nb\n"],
  ["Windows line ends leave the spaces before them", "a  \r\nb", "a  \nb"],
  ["a progress line shows its last state", "10%\r50%\r100%\ndone", "100%\ndone"],
  ["a shorter text over a longer one leaves the rest", "abcdef\rXY", "XYcdef"],
  ["erase to the end of the line", "downloading\r\x1b[Kdone", "done"],
  ["erase the line and go to its start", "50%\x1b[2K\x1b[1G100%", "100%"],
  ["erase what is before", "secret\x1b[1K\rls", "ls"],
  ["backspaces write over", "abX\bc", "abc"],
  ["bold by overstriking is read once", "N\bNA\bAM\bME\bE", "NAME"],
  ["bells, NUL and DEL go", "x\x07\0\x7fy", "xy"],
  ["a form feed is a line end", "a\fb", "a\nb"],
  ["a title that never ends does not swallow the output", "\x1b]0;evil\nall the output\n", "]0;evil\nall the output\n"],
  ["a sequence at the very end", "abc\x1b[", "abc["],
  ["a lone escape at the end", "abc\x1b", "abc"],
  ["text dressed as a sequence stays readable", "/tmp/x\x1b[/../../etc/hosts", "/tmp/x[/../../etc/hosts"],
  ["spaces before a line end stay where nothing was written over", "a  \nb", "a  \nb"],
];

test.each(cases)("%s", (_, input, output) => {
  expect(stripTerminalCodes(input)).toBe(output);
});

test("only tab and line feed remain of all control characters", () => {
  const pieces = fc.constantFrom(
    "\x1b",
    "[",
    "]",
    "P",
    "0",
    ";",
    "m",
    "K",
    "\x07",
    "\r",
    "\b",
    "\n",
    "a",
    "\u009b",
    "\u009d",
    "é",
    "/",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
      const stripped = stripTerminalCodes(parts.join(""));
      expect(stripped).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
});

test("stripping twice changes nothing more", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("\x1b", "[", "]", "m", "\r", "a", "b", "\n", "\x07") }), (text) => {
      const once = stripTerminalCodes(text);
      expect(stripTerminalCodes(once)).toBe(once);
    }),
  );
});

test.each(["\x1b]", "\x1b[", "\u009d", "\x1b[2K", "\x1b[1K", "\x1b[K", "\r", "\b", "a\r", "\x1b[0;0;0", "\x1bP\x1b"])(
  "a long line and a megabyte of %j ends in linear time",
  (piece) => {
    // Quadratic time would exceed the time limit of the test many times.
    const text = "x".repeat(500_000) + piece.repeat(1_000_000 / piece.length);
    expect(stripTerminalCodes(text).length).toBeLessThanOrEqual(text.length);
  },
);
