import { expect, test } from "vitest";
import { approximateEnds } from "./fuzzy-replace.ts";

/** The same computation with a plain table. */
function plainEnds(pattern: string, text: string, fromStart: boolean): number[] {
  let column = Array.from({ length: pattern.length + 1 }, (_, i) => i);
  return Array.from({ length: text.length }, (_, at) => {
    const next = [fromStart ? at + 1 : 0];
    for (let i = 1; i <= pattern.length; i += 1) {
      const change = pattern[i - 1] === text[at] ? 0 : 1;
      next.push(Math.min(column[i]! + 1, next[i - 1]! + 1, column[i - 1]! + change));
    }
    column = next;
    return column[pattern.length]!;
  });
}

/** The same numbers in each run. */
function createDice(seed: number): (max: number) => number {
  let state = seed;
  return (max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % max;
  };
}

test("the distances equal those of a plain table, for short and long patterns", async () => {
  const dice = createDice(7);
  const word = (length: number): string => Array.from({ length }, () => "abc"[dice(3)]).join("");
  for (const length of [1, 2, 5, 31, 32, 33, 63, 64, 65, 96, 130]) {
    for (let round = 0; round < 6; round += 1) {
      const pattern = word(length);
      // The text contains something similar to the pattern.
      const text = word(dice(40)) + pattern.slice(0, dice(length + 1)) + word(dice(4)) + pattern + word(dice(40));
      for (const fromStart of [false, true]) {
        const ends = await approximateEnds(pattern, text, { fromStart });
        expect([...ends], `${pattern} in ${text}`).toEqual(plainEnds(pattern, text, fromStart));
      }
    }
  }
});

test("an aborted search ends", async () => {
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(approximateEnds("ab".repeat(5_000), "ba".repeat(20_000), { signal })).rejects.toThrow("enough");
});
