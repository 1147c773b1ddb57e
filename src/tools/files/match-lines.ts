import { foldInnerBlanks, foldLookAlikes, withoutBlanks } from "./fold-line.ts";
import type { Line } from "./split-lines.ts";

/** What a rung of the ladder makes equal. */
export type Fold = (line: string) => string;

export const FOLDS = {
  exact: (line) => line,
  trailing_blanks: (line) => line.trimEnd(),
  look_alikes: (line) => foldLookAlikes(line).trimEnd(),
  indentation: (line) => foldLookAlikes(line).trim(),
  inner_blanks: foldInnerBlanks,
} satisfies Record<string, Fold>;

export interface LineFinder {
  /** Every index at which lines stand that equal `wanted` but for blanks and look-alikes; all folds find only these. */
  findLoosely(wanted: readonly string[]): number[];
  /** Those of `firsts` at which the lines also equal under `fold`. */
  narrow(firsts: readonly number[], wanted: readonly string[], fold: Fold): number[];
}

/** Above this many comparisons one more pass over the file is cheaper than looking at each place. */
const MAX_DIRECT_COMPARISONS = 20_000;

/** Finds runs of lines. A search is one pass over the file, whatever it holds, and most misses end with it. */
export function createLineFinder(lines: readonly Line[]): LineFinder {
  const keys: (string | undefined)[] = [];
  const textAt = (index: number): string => lines[index]?.text ?? "";
  return {
    findLoosely(wanted) {
      // A line several times as long as any wanted one does not equal it, and may be a whole minified file.
      const maxLength = 1_000 + 4 * Math.max(0, ...wanted.map((line) => line.length));
      const keyAt = (index: number): string | undefined => {
        const text = textAt(index);
        return text.length > maxLength ? undefined : (keys[index] ??= withoutBlanks(text));
      };
      return findRuns(lines.length, keyAt, wanted.map(withoutBlanks));
    },
    narrow(firsts, wanted, fold) {
      const folded = wanted.map(fold);
      if (firsts.length * wanted.length <= MAX_DIRECT_COMPARISONS) {
        return firsts.filter((first) => folded.every((line, offset) => line === fold(textAt(first + offset))));
      }
      const loose = new Set(firsts);
      return findRuns(lines.length, (index) => fold(textAt(index)), folded).filter((first) => loose.has(first));
    },
  };
}

/** All indices, overlapping ones included, at which `pattern` stands among `count` keys (Knuth, Morris and Pratt). */
function findRuns(count: number, keyAt: (index: number) => string | undefined, pattern: readonly string[]): number[] {
  const found: number[] = [];
  if (pattern.length === 0 || pattern.length > count) return found;
  const fallback = fallbackTable(pattern);
  let matched = 0;
  for (let index = 0; index < count; index++) {
    const key = keyAt(index);
    while (matched > 0 && pattern[matched] !== key) matched = fallback[matched - 1] ?? 0;
    if (pattern[matched] === key) matched++;
    if (matched === pattern.length) {
      found.push(index + 1 - matched);
      matched = fallback[matched - 1] ?? 0;
    }
  }
  return found;
}

function fallbackTable(pattern: readonly string[]): number[] {
  const table = [0];
  let matched = 0;
  for (let index = 1; index < pattern.length; index++) {
    while (matched > 0 && pattern[matched] !== pattern[index]) matched = table[matched - 1] ?? 0;
    if (pattern[matched] === pattern[index]) matched++;
    table.push(matched);
  }
  return table;
}
