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

const NOT_ASCII = /[^\x00-\x7f]/;
const PLAIN_WORD = /^[!-~]*$/;

const LOOK_ALIKES: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019\u201A\u201B\u2032\u00B4\u02B9\u02BC]/g, "'"],
  [/[\u201C\u201D\u201E\u201F\u2033\u00AB\u00BB]/g, '"'],
  [/[\u2010-\u2015\u2212\uFE58\uFE63]/g, "-"],
  [/[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g, " "],
  [/[\u00AD\u200B-\u200D\u2060\uFEFF]/g, ""],
];

/** What a line looks like: typographic quotes, dashes and spaces as ASCII, invisible characters gone, the rest NFKC. */
export function foldLookAlikes(line: string): string {
  if (!NOT_ASCII.test(line)) return line;
  let folded = line;
  for (const [pattern, plain] of LOOK_ALIKES) folded = folded.replace(pattern, plain);
  return folded.normalize("NFKC");
}

/** A line with only those blanks left that part two words: `f( a,  b )` and `f(a, b)` fold alike, `ab` and `a b` do not. */
export function foldInnerBlanks(line: string): string {
  return foldLookAlikes(line)
    .trim()
    .replace(/\s+/g, " ")
    .replace(/(?<![\p{L}\p{N}_]) | (?![\p{L}\p{N}_])/gu, "");
}

/** The loosest key: equal for all lines that any other folding makes equal, and for some more. */
function withoutBlanks(line: string): string {
  const trimmed = line.trim();
  return PLAIN_WORD.test(trimmed) ? trimmed : foldLookAlikes(trimmed).replace(/\s+/g, "");
}

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

/** Where new lines go: their index among all new lines, and the indentation of the file's line there. */
export interface NewLinesAt {
  index: number;
  indent: string;
}

/** Moves new lines from the indentation the model wrote to the one the file has. */
type Reindent = (lines: readonly string[], at: NewLinesAt) => string[];

const TAB_WIDTHS = [4, 2, 8, 3];

interface Indents {
  model: string;
  file: string;
}

/** The one shift that carries every line the model wrote onto its line in the file; undefined where no single one does. */
export function findReindent(modelLines: readonly string[], fileLines: readonly string[]): Reindent | undefined {
  const pairs = pairIndents(modelLines, fileLines);
  return findShift(pairs) ?? findConversion(pairs) ?? findFirstLineShift(pairs);
}

/**
 * For text whose indentation was lost altogether: every line the model wrote stands at one depth, and new lines go to
 * the depth of the line they replace.
 */
export function findFlatReindent(modelLines: readonly string[], fileLines: readonly string[]): Reindent | undefined {
  const pairs = pairIndents(modelLines, fileLines);
  const flat = pairs[0]?.model;
  if (flat === undefined || pairs.length < 2 || pairs.some((pair) => pair.model !== flat)) return undefined;
  return (lines, at) =>
    mapIndents((indent) => at.indent + (indent.startsWith(flat) ? indent.slice(flat.length) : ""))(lines, at);
}

function pairIndents(modelLines: readonly string[], fileLines: readonly string[]): Indents[] {
  const pairs: Indents[] = [];
  modelLines.forEach((line, index) => {
    if (!isBlank(line)) pairs.push({ model: indentOf(line), file: indentOf(fileLines[index] ?? "") });
  });
  return pairs;
}

function findShift(pairs: readonly Indents[]): Reindent | undefined {
  const first = pairs[0];
  if (first === undefined) return undefined;
  const added = first.file.length - first.model.length;
  if (added >= 0) {
    const prefix = first.file.slice(0, added);
    if (pairs.every(({ model, file }) => file === prefix + model)) return mapIndents((indent) => prefix + indent);
    return undefined;
  }
  const prefix = first.model.slice(0, -added);
  if (!pairs.every(({ model, file }) => model === prefix + file)) return undefined;
  return mapIndents((indent) => (indent.startsWith(prefix) ? indent.slice(prefix.length) : ""));
}

/** Tabs against blanks: some tab width makes the difference the same on every line. */
function findConversion(pairs: readonly Indents[]): Reindent | undefined {
  const toTabs = pairs.every(({ file }) => !file.includes(" "));
  if (!toTabs && pairs.some(({ file }) => file.includes("\t"))) return undefined;
  let fit: Reindent | undefined;
  for (const tab of TAB_WIDTHS) {
    const shifts = new Set(pairs.map(({ model, file }) => widthOf(file, tab) - widthOf(model, tab)));
    const [shift] = shifts;
    if (shifts.size !== 1 || shift === undefined || (fit !== undefined && shift !== 0)) continue;
    fit = mapIndents((indent) => {
      const width = Math.max(0, widthOf(indent, tab) + shift);
      return toTabs ? "\t".repeat(Math.floor(width / tab)) + " ".repeat(width % tab) : " ".repeat(width);
    });
    if (shift === 0) return fit;
  }
  return fit;
}

/** A quotation that begins at the first word of its first line: only that line lacks its indentation. */
function findFirstLineShift(pairs: readonly Indents[]): Reindent | undefined {
  const [first, ...rest] = pairs;
  if (first === undefined || first.model !== "" || rest.some(({ model, file }) => model !== file)) return undefined;
  return (lines, at) =>
    lines.map((line, index) => (at.index + index === 0 && !isBlank(line) ? first.file + line : line));
}

function mapIndents(map: (indent: string) => string): Reindent {
  return (lines) =>
    lines.map((line) => {
      if (isBlank(line)) return line;
      const indent = indentOf(line);
      return map(indent) + line.slice(indent.length);
    });
}

function widthOf(indent: string, tab: number): number {
  let width = 0;
  for (const char of indent) width += char === "\t" ? tab - (width % tab) : 1;
  return width;
}

/** What `read` and its kin put before a line: `12<tab>`, `12: `, `12 | `, `12→`. A blank line may have lost its last blank. */
const FORMATS = [/^ *(\d+)\t/, /^ *(\d+):(?: |$)/, /^ *(\d+) ?\|(?: |$)/, /^ *(\d+)→/];

export interface LineNumbers {
  /** The lines without their numbers. */
  lines: string[];
  /** Takes numbers of the same run from other lines; a line without one stays as it is. */
  strip(lines: readonly string[]): string[];
}

/** Finds numbers that stand in one format before every line and count up by one; undefined where they do not. */
function findLineNumbers(lines: readonly string[]): LineNumbers | undefined {
  for (const format of FORMATS) {
    const numbers = lines.map((line) => numberOf(line, format));
    const first = numbers[0];
    if (first === undefined || numbers.some((number, index) => number !== first + index)) continue;
    const bare = (line: string): string => line.replace(format, "");
    return {
      lines: lines.map(bare),
      strip: (others) => {
        const last = first + lines.length + others.length;
        return others.map((line) => {
          const number = numberOf(line, format);
          return number !== undefined && number >= first && number < last ? bare(line) : line;
        });
      },
    };
  }
  return undefined;
}

function numberOf(line: string, format: RegExp): number | undefined {
  const digits = format.exec(line)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** A line of a text: where it starts, what it says, and the line end it carries ("" only on the last one). */
export interface Line {
  start: number;
  text: string;
  eol: string;
}

const BOM = "\uFEFF";

/**
 * Lines ended by LF, CRLF or a lone CR. A byte order mark belongs to no line, and a final line end starts no further
 * line, so that joining every line to its end gives the text back, its mark aside.
 */
export function splitLines(text: string): Line[] {
  const lines: Line[] = [];
  let start = text.startsWith(BOM) ? 1 : 0;
  while (start < text.length) {
    const end = findLineEnd(text, start);
    const eol = lineEndAt(text, end);
    lines.push({ start, text: text.slice(start, end), eol });
    start = end + eol.length;
  }
  return lines;
}

/** The line end that stands at an offset, or "". */
export function lineEndAt(text: string, offset: number): "" | "\n" | "\r" | "\r\n" {
  const code = text.charCodeAt(offset);
  if (code === 10) return "\n";
  if (code !== 13) return "";
  return text.charCodeAt(offset + 1) === 10 ? "\r\n" : "\r";
}

/** The line numbers, from 1, of offsets given in ascending order; one pass up to the last of them. */
export function lineNumbersOf(text: string, offsets: readonly number[]): number[] {
  let line = 1;
  // Searching for the next line end is many times faster than looking at each character of a large file.
  let lf = indexOrEnd(text, "\n", 0);
  let cr = indexOrEnd(text, "\r", 0);
  return offsets.map((offset) => {
    for (; lf < offset; lf = indexOrEnd(text, "\n", lf + 1)) line++;
    for (; cr < offset; cr = indexOrEnd(text, "\r", cr + 1)) if (text.charCodeAt(cr + 1) !== 10) line++;
    return line;
  });
}

function indexOrEnd(text: string, wanted: string, from: number): number {
  const at = text.indexOf(wanted, from);
  return at < 0 ? text.length : at;
}

/** The most frequent line end, the earlier one on a tie; LF where there is none. */
export function commonLineEnd(lines: readonly Line[]): string {
  const counts = new Map<string, number>();
  for (const { eol } of lines) if (eol !== "") counts.set(eol, (counts.get(eol) ?? 0) + 1);
  let best = "\n";
  let max = 0;
  for (const [eol, count] of counts) if (count > max) [best, max] = [eol, count];
  return best;
}

export function toLf(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

export function withoutBom(text: string): string {
  return text.startsWith(BOM) ? text.slice(1) : text;
}

export function isBlank(line: string): boolean {
  return line.trim() === "";
}

export function indentOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
}

function findLineEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 10 || code === 13) break;
    at++;
  }
  return at;
}
