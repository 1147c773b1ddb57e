// What readers of Chinese see of the server's sentences: those that have no key are translated by their English text, so a
// new or changed sentence must not be forgotten.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { translateSentence } from "../console/src/sentences.zh.ts";
import { GAPS } from "../src/cli/hook-setup.ts";
import { EXECUTED_NAMES } from "../src/io/files/executed-names.ts";
import { ROOT } from "./architecture/read-entries.ts";

/** The texts that a pattern finds in a file; `${…}` becomes a word. */
function textsOf(file: string, pattern: RegExp): string[] {
  const source = readFileSync(join(ROOT, file), "utf8");
  return [...source.matchAll(pattern)].map(([, text = ""]) => text.replaceAll(/\$\{[^}]+\}/g, "seven"));
}

const LISTS: Readonly<Record<string, readonly string[]>> = {
  "protected paths": EXECUTED_NAMES.map(({ why }) => why),
  "hooks of other agents": Object.values(GAPS),
  "unknown effects": textsOf("src/tools/shell/preview-effects.ts", /(?:return|=|\?|:) ["`](it [^"`]+)["`]/g),
  "unreadable commands": [
    ...textsOf("src/io/shell/parse-command.ts", /reason: ["`](The command (?!\$\{what\})[^"`]+)["`]/g),
    ...textsOf("src/io/shell/parse-command.ts", /tooComplex\(["`]([^"`]+)["`]\)/g).map(
      (what) => `The command ${what}. That is too complex to analyse.`,
    ),
  ],
  "conflicts of an undo": textsOf("src/io/files/undo.ts", /^ {2}\w+: "((?:was|is) [^"]+)",$/gm),
  "limits of programs": textsOf("src/config/trust-items.ts", /["`](runs (?:UN)?(?:CONFINED|confined)[^"`]*)["`]/g),
};

test.each(Object.entries(LISTS))("%s: every sentence is there in Chinese", (_, sentences) => {
  expect(sentences.length).toBeGreaterThan(3);
  expect(sentences.filter((text) => translateSentence(text) === undefined)).toEqual([]);
});

test("keeps what stands in a sentence, and leaves an unknown one alone", () => {
  expect(translateSentence("it did not end within 30 s")).toBe("它在 30 秒内没有结束");
  expect(translateSentence("The file ~/a.mjs does not exist. Correct its path in the entry.")).toContain("~/a.mjs");
  expect(translateSentence("somebody else wrote this")).toBeUndefined();
});
