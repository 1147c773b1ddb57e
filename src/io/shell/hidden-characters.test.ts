import { expect, test } from "vitest";
import { findHiddenCharacter, showHiddenCharacters } from "./terminal-text.ts";

test.each([
  ["a bidirectional override", "\u202e", "202e"],
  ["a zero-width space", "\u200b", "200b"],
  ["a Hangul filler, which is a letter that draws nothing", "\u3164", "3164"],
  ["a variation selector", "\ufe0f", "fe0f"],
  ["a no-break space", "\u00a0", "a0"],
  ["a blank Braille pattern", "\u2800", "2800"],
  ["a tag character", "\u{e0041}", "e0041"],
  ["an escape", "\u001b", "1b"],
  ["a line separator", "\u2028", "2028"],
])("%s is found and escaped", (_what, character, hex) => {
  expect(findHiddenCharacter(`rm ${character}x`)).toBe(`U+${hex.toUpperCase().padStart(4, "0")}`);
  expect(showHiddenCharacters(`rm ${character}x`)).toBe(`rm \\u{${hex}}x`);
});

test("plain text in any language is unchanged", () => {
  for (const text of ["ls -la\n\techo 'x'", "echo 你好 é ü"]) {
    expect(findHiddenCharacter(text)).toBeUndefined();
    expect(showHiddenCharacters(text)).toBe(text);
  }
});
