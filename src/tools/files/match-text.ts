import { type Reindent, findFlatReindent, findReindent } from "./find-reindent.ts";
import { FOLDS, type LineFinder, createLineFinder } from "./match-lines.ts";
import { type Line, isBlank, splitLines, toLf, withoutBom } from "./split-lines.ts";
import { findLineNumbers } from "./strip-line-numbers.ts";

/** The rungs of the ladder, in order; each includes what the ones before it overlook. */
export type MatchStep =
  | "exact"
  | "line_ends"
  | "trailing_blanks"
  | "look_alikes"
  | "indentation"
  | "flattened_indentation"
  | "inner_blanks";

/** What had to be taken from the old text before it was looked for. */
export type Stripped = "blank_edges" | "line_numbers";

export interface TextRange {
  start: number;
  end: number;
  /** Index of the first matched line; absent where the match need not be whole lines. */
  firstLine?: number;
  reindent?: Reindent;
}

export interface TextMatch {
  step: MatchStep;
  stripped?: Stripped;
  /** In file order; more than one means ambiguous, unless all are wanted. */
  ranges: TextRange[];
  /** The old text as it was looked for. */
  old: WantedText;
  /** Does to the new text what was done to the old one. */
  prepareNew(newLines: readonly string[]): string[];
}

/** A text in lines with LF ends and without byte order mark. */
export interface WantedText {
  lines: string[];
  /** Whether a line end follows the last line. */
  ended: boolean;
}

/** Beyond this many places an ambiguity is no clearer; replacing all has no such limit. */
export const MAX_AMBIGUOUS_MATCHES = 100;

/**
 * Finds where `oldString` stands in `text`, on the first rung that finds it anywhere. Every rung but the first two takes
 * whole lines only, each of which must be equal under that rung's folding: a match never covers a line that the old
 * text did not spell out.
 */
export function findMatch(text: string, oldString: string, options: { all?: boolean } = {}): TextMatch | undefined {
  const all = options.all ?? false;
  const wanted = text.startsWith("\uFEFF") ? withoutBom(oldString) : oldString;
  const old = wantedText(wanted);
  const same = (newLines: readonly string[]): string[] => [...newLines];

  const exact = findSubstrings(text, wanted, all);
  if (exact.length > 0) return { step: "exact", ranges: exact, old, prepareNew: same };
  const lines = splitLines(text);
  const lf = joinWanted(old);
  const ends = lf === wanted && !text.includes("\r") ? [] : findAcrossLineEnds(text, lines, lf, all);
  if (ends.length > 0) return { step: "line_ends", ranges: ends, old, prepareNew: same };

  const finder = createLineFinder(lines);
  const asGiven = climb(lines, finder, { old, all });
  // Equal lines that are no equal text: the file lacks the final line end that the old text has.
  if (asGiven?.step === "exact") return { step: "line_ends", ranges: asGiven.ranges, old, prepareNew: same };
  if (asGiven) return { ...asGiven, old, prepareNew: same };
  const cut = withoutBlankEdges(old);
  const asCut = cut && climb(lines, finder, { old: cut.old, all });
  if (asCut) return { ...asCut, stripped: "blank_edges", old: cut.old, prepareNew: cut.prepareNew };
  const numbers = findLineNumbers(old.lines);
  const bare = numbers && { lines: numbers.lines, ended: old.ended };
  const asBare = bare && climb(lines, finder, { old: bare, all });
  if (asBare) return { ...asBare, stripped: "line_numbers", old: bare, prepareNew: numbers.strip };
  return undefined;
}

export function wantedText(text: string): WantedText {
  const lines = toLf(withoutBom(text)).split("\n");
  const ended = lines.length > 1 && lines.at(-1) === "";
  if (ended) lines.pop();
  return { lines, ended };
}

function climb(
  lines: readonly Line[],
  finder: LineFinder,
  { old, all }: { old: WantedText; all: boolean },
): Pick<TextMatch, "step" | "ranges"> | undefined {
  if (old.lines.every(isBlank)) return undefined;
  const loose = finder.findLoosely(old.lines);
  if (loose.length === 0) return undefined;
  const runsOf = (step: keyof typeof FOLDS): number[] => {
    const runs = finder.narrow(loose, old.lines, FOLDS[step]);
    return all ? withoutOverlap(runs, old.lines.length) : runs;
  };
  const reindented = (runs: readonly number[], find: typeof findReindent): TextRange[] =>
    runs.flatMap((first) => {
      const fileLines = lines.slice(first, first + old.lines.length).map((line) => line.text);
      const reindent = find(old.lines, fileLines);
      return reindent ? [{ ...rangeOf(lines, old, first), reindent }] : [];
    });
  const answer = (step: MatchStep, ranges: TextRange[]) =>
    ranges.length > 0 ? { step, ranges: all ? ranges : ranges.slice(0, MAX_AMBIGUOUS_MATCHES) } : undefined;
  const asTheyStand = (step: "exact" | "trailing_blanks" | "look_alikes") =>
    answer(
      step,
      runsOf(step).map((first) => rangeOf(lines, old, first)),
    );

  const unshifted = asTheyStand("exact") ?? asTheyStand("trailing_blanks") ?? asTheyStand("look_alikes");
  if (unshifted) return unshifted;
  const shifted = runsOf("indentation");
  const spaced = shifted.length > 0 ? [] : runsOf("inner_blanks");
  return (
    answer("indentation", reindented(shifted, findReindent)) ??
    answer("flattened_indentation", reindented(shifted, findFlatReindent)) ??
    answer("inner_blanks", reindented(spaced, findReindent)) ??
    answer("inner_blanks", reindented(spaced, findFlatReindent))
  );
}

function rangeOf(lines: readonly Line[], old: WantedText, first: number): TextRange {
  const from = lines[first];
  const last = lines[first + old.lines.length - 1];
  if (from === undefined || last === undefined) throw new RangeError("a matched run lies outside the text");
  const end = last.start + last.text.length + (old.ended ? last.eol.length : 0);
  return { start: from.start, end, firstLine: first };
}

function findSubstrings(text: string, wanted: string, all: boolean): TextRange[] {
  const ranges: TextRange[] = [];
  if (wanted === "") return ranges;
  let start = text.indexOf(wanted);
  while (start >= 0 && (all || ranges.length < MAX_AMBIGUOUS_MATCHES)) {
    ranges.push({ start, end: start + wanted.length });
    // Overlapping places are still two readings of one request, so only "replace all" steps over them.
    start = text.indexOf(wanted, start + (all ? wanted.length : 1));
  }
  return ranges;
}

/** Looks for LF text in a text of any line ends; offsets are those of the text as it is. */
function findAcrossLineEnds(text: string, lines: readonly Line[], wanted: string, all: boolean): TextRange[] {
  if (!text.includes("\r")) return findSubstrings(text, wanted, all);
  const starts: number[] = [];
  let length = 0;
  let lf = "";
  for (const line of lines) {
    starts.push(length);
    lf += line.eol === "" ? line.text : `${line.text}\n`;
    length += line.text.length + (line.eol === "" ? 0 : 1);
  }
  const original = (offset: number): number => {
    const index = lastAtMost(starts, offset);
    return (lines[index]?.start ?? 0) + offset - (starts[index] ?? 0);
  };
  return findSubstrings(lf, wanted, all).map(({ start, end }) => {
    const last = lines[lastAtMost(starts, end - 1)];
    const reachesEnd = lf[end - 1] === "\n" && last !== undefined;
    return {
      start: original(start),
      end: reachesEnd ? last.start + last.text.length + last.eol.length : original(end),
    };
  });
}

function lastAtMost(sorted: readonly number[], wanted: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((sorted[middle] ?? 0) <= wanted) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Models often begin or end a quotation with an empty line that the file does not have. */
function withoutBlankEdges(old: WantedText): { old: WantedText; prepareNew: TextMatch["prepareNew"] } | undefined {
  const head = old.lines.findIndex((line) => !isBlank(line));
  const tail = old.lines.length - 1 - old.lines.findLastIndex((line) => !isBlank(line));
  if (head < 0 || head + tail === 0) return undefined;
  const cutTail = (lines: readonly string[], max: number): string[] => {
    let end = lines.length;
    while (end > 0 && lines.length - end < max && isBlank(lines[end - 1] ?? "")) end--;
    return lines.slice(0, end);
  };
  return {
    old: { lines: old.lines.slice(head, old.lines.length - tail), ended: old.ended },
    prepareNew: (newLines) => cutTail(cutTail(newLines, tail).reverse(), head).reverse(),
  };
}

function withoutOverlap(runs: readonly number[], length: number): number[] {
  let free = 0;
  return runs.filter((first) => {
    if (first < free) return false;
    free = first + length;
    return true;
  });
}

function joinWanted(wanted: WantedText): string {
  return wanted.lines.join("\n") + (wanted.ended ? "\n" : "");
}
