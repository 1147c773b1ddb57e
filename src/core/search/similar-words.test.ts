import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createNearWords, editDistance } from "./similar-words.ts";

describe("editDistance", () => {
  it.each([
    ["weather", "weather", 0],
    ["weather", "wether", 1],
    ["weather", "waether", 1],
    ["weather", "wheather", 1],
    ["weather", "leather", 1],
    ["calendar", "calandra", 2],
    ["abcd", "wxyz", 3],
  ])("from %s to %s is %d within a bound of 2", (one, other, distance) => {
    expect(editDistance(one, other, 2)).toBe(distance);
  });

  it("agrees with the unbounded table if the bound is not exceeded", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });
    fc.assert(
      fc.property(word, word, fc.integer({ min: 0, max: 3 }), (one, other, bound) => {
        const exact = wholeTable(one, other);
        const bounded = editDistance(one, other, bound);
        return exact <= bound ? bounded === exact : bounded > bound;
      }),
    );
  });
});

function wholeTable(one: string, other: string): number {
  const table = Array.from({ length: one.length + 1 }, (_, row) =>
    Array.from({ length: other.length + 1 }, (_unused, column) => (row === 0 ? column : column === 0 ? row : 0)),
  );
  const cell = (row: number, column: number): number => table[row]?.[column] ?? 99;
  for (let row = 1; row <= one.length; row++) {
    for (let column = 1; column <= other.length; column++) {
      const change = one[row - 1] === other[column - 1] ? 0 : 1;
      let cost = Math.min(cell(row - 1, column) + 1, cell(row, column - 1) + 1, cell(row - 1, column - 1) + change);
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) {
        cost = Math.min(cost, cell(row - 2, column - 2) + 1);
      }
      (table[row] as number[])[column] = cost;
    }
  }
  return cell(one.length, other.length);
}

describe("createNearWords", () => {
  function vocabulary(...words: string[]) {
    const near = createNearWords();
    for (const word of words) near.add(word);
    return (word: string) => near.near(word).map((answer) => answer.word);
  }

  it("finds the word that was meant, nearest first", () => {
    expect(vocabulary("weather", "whether", "leather")("wether")).toEqual(["weather", "whether"]);
  });

  it("completes a shortened word", () => {
    expect(vocabulary("configur", "confirm")("config")).toEqual(["configur"]);
  });

  it("corrects no short words and returns at most three answers", () => {
    expect(vocabulary("cat", "car")("cab")).toEqual([]);
    expect(vocabulary("bank", "band", "bang", "bans", "barn")("banx")).toHaveLength(3);
  });

  it("does not find a removed word", () => {
    const near = createNearWords();
    near.add("weather");
    near.remove("weather");
    expect(near.near("wether")).toEqual([]);
  });
});
