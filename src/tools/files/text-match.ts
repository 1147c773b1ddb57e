/** The match steps in order. Each ignores more differences than the previous one. */
export type MatchStep =
  | "exact"
  | "line_ends"
  | "trailing_blanks"
  | "look_alikes"
  | "indentation"
  | "flattened_indentation"
  | "inner_blanks";

/** What was removed from the old text before the search. */
export type Stripped = "blank_edges" | "line_numbers";

export interface TextRange {
  start: number;
  end: number;
  /** Index of the first matched line; undefined if the match need not be whole lines. */
  firstLine?: number;
  reindent?: Reindent;
}

export interface TextMatch {
  step: MatchStep;
  stripped?: Stripped;
  /** In file order. More than one is ambiguous unless all are to be replaced. */
  ranges: TextRange[];
  /** The old text as it was searched. */
  old: WantedText;
  /** Removes from the new text what was removed from the old one. */
  prepareNew(newLines: readonly string[]): string[];
}

/** A text in lines with LF ends and without byte order mark. */
export interface WantedText {
  lines: string[];
  /** Whether a line end follows the last line. */
  ended: boolean;
}

/** More matches do not make an ambiguity clearer. "Replace all" has no such limit. */
export const MAX_AMBIGUOUS_MATCHES = 100;
/** A longer text must be quoted exactly: each further step is a pass over the file. */
const MAX_LOOSE_LINES = 5000;
/** In overlapping runs together: among equal lines a run begins at each of them. */
const MAX_REINDENTED_LINES = 50_000;

/** Finds `oldString` by the first step that matches. All but two match whole lines that are equal under their fold. */
export function findMatch(text: string, oldString: string, options: { all?: boolean } = {}): TextMatch | undefined {
  const all = options.all ?? false;
  const wanted = text.startsWith("\uFEFF") ? withoutBom(oldString) : oldString;
  const old = wantedText(wanted);
  const unchanged = (newLines: readonly string[]): string[] => [...newLines];

  const exact = findSubstrings(text, wanted, all);
  if (exact.length > 0) return { step: "exact", ranges: exact, old, prepareNew: unchanged };
  const lines = splitLines(text);
  const lf = joinWanted(old);
  const ends = lf === wanted && !text.includes("\r") ? [] : findAcrossLineEnds(text, lines, lf, all);
  if (ends.length > 0) return { step: "line_ends", ranges: ends, old, prepareNew: unchanged };
  if (old.lines.length > MAX_LOOSE_LINES) return undefined;

  const finder = createLineFinder(lines);
  const asGiven = tryLineSteps(lines, finder, { old, all });
  // Equal lines but different text: the file lacks the final line end of the old text.
  if (asGiven?.step === "exact") return { step: "line_ends", ranges: asGiven.ranges, old, prepareNew: unchanged };
  if (asGiven) return { ...asGiven, old, prepareNew: unchanged };
  const cut = withoutBlankEdges(old);
  const asCut = cut && tryLineSteps(lines, finder, { old: cut.old, all });
  if (asCut) return { ...asCut, stripped: "blank_edges", old: cut.old, prepareNew: cut.prepareNew };
  const numbers = findLineNumbers(old.lines);
  const bare = numbers && { lines: numbers.lines, ended: old.ended };
  const asBare = bare && tryLineSteps(lines, finder, { old: bare, all });
  if (asBare) return { ...asBare, stripped: "line_numbers", old: bare, prepareNew: numbers.strip };
  return undefined;
}

export function wantedText(text: string): WantedText {
  const lines = toLf(withoutBom(text)).split("\n");
  const ended = lines.length > 1 && lines.at(-1) === "";
  if (ended) lines.pop();
  return { lines, ended };
}

function tryLineSteps(
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
  const reindented = (runs: readonly number[], find: typeof findReindent): TextRange[] => {
    const tried = all ? runs : runs.slice(0, Math.max(2, Math.floor(MAX_REINDENTED_LINES / old.lines.length)));
    const ranges = tried.flatMap((first) => {
      const fileLines = lines.slice(first, first + old.lines.length).map((line) => line.text);
      const reindent = find(old.lines, fileLines);
      return reindent ? [{ ...rangeOf(lines, old, first), reindent }] : [];
    });
    // A single match is not known to be the only one.
    return tried.length < runs.length && ranges.length === 1 ? [] : ranges;
  };
  const matchOf = (step: MatchStep, ranges: TextRange[]) =>
    ranges.length > 0 ? { step, ranges: all ? ranges : ranges.slice(0, MAX_AMBIGUOUS_MATCHES) } : undefined;
  const unshiftedBy = (step: "exact" | "trailing_blanks" | "look_alikes") =>
    matchOf(
      step,
      runsOf(step).map((first) => rangeOf(lines, old, first)),
    );

  const unshifted = unshiftedBy("exact") ?? unshiftedBy("trailing_blanks") ?? unshiftedBy("look_alikes");
  if (unshifted) return unshifted;
  const shifted = runsOf("indentation");
  const spaced = shifted.length > 0 ? [] : runsOf("inner_blanks");
  return (
    matchOf("indentation", reindented(shifted, findReindent)) ??
    matchOf("flattened_indentation", reindented(shifted, findFlatReindent)) ??
    matchOf("inner_blanks", reindented(spaced, findReindent)) ??
    matchOf("inner_blanks", reindented(spaced, findFlatReindent))
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
    // Overlapping matches are ambiguous, too; only "replace all" skips them.
    start = text.indexOf(wanted, start + (all ? wanted.length : 1));
  }
  return ranges;
}

/** Searches LF text in a text with any line ends. Offsets refer to the unchanged text. */
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

/** Models often begin or end a quotation with an extra empty line. */
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

/** Typographic quotes, dashes and spaces become ASCII, invisible characters are removed, the rest is NFKC. */
export function foldLookAlikes(line: string): string {
  if (!NOT_ASCII.test(line)) return line;
  let folded = line;
  for (const [pattern, plain] of LOOK_ALIKES) folded = folded.replace(pattern, plain);
  return folded.normalize("NFKC");
}

/** Keeps only whitespace between two words: `f( a,  b )` and `f(a, b)` fold to the same, `ab` and `a b` do not. */
export function foldInnerBlanks(line: string): string {
  return foldLookAlikes(line)
    .trim()
    .replace(/\s+/g, " ")
    .replace(/(?<![\p{L}\p{N}_]) | (?![\p{L}\p{N}_])/gu, "");
}

/** The loosest key: all lines that are equal under any other fold are equal under this one. */
function withoutBlanks(line: string): string {
  const trimmed = line.trim();
  return PLAIN_WORD.test(trimmed) ? trimmed : foldLookAlikes(trimmed).replace(/\s+/g, "");
}

/** Maps lines that a match step treats as equal to the same text. */
export type Fold = (line: string) => string;

export const FOLDS = {
  exact: (line) => line,
  trailing_blanks: (line) => line.trimEnd(),
  look_alikes: (line) => foldLookAlikes(line).trimEnd(),
  indentation: (line) => foldLookAlikes(line).trim(),
  inner_blanks: foldInnerBlanks,
} satisfies Record<string, Fold>;

export interface LineFinder {
  /** Every index where the lines equal `wanted` except for whitespace and look-alikes; a superset for all folds. */
  findLoosely(wanted: readonly string[]): number[];
  /** Those of `firsts` where the lines are also equal under `fold`. */
  narrow(firsts: readonly number[], wanted: readonly string[], fold: Fold): number[];
}

/** Above this number of comparisons another pass over the file is cheaper. */
const MAX_DIRECT_COMPARISONS = 20_000;

/** Finds runs of lines. A search is one pass over the file, which is usually sufficient for a miss. */
export function createLineFinder(lines: readonly Line[]): LineFinder {
  const keys: (string | undefined)[] = [];
  const textAt = (index: number): string => lines[index]?.text ?? "";
  return {
    findLoosely(wanted) {
      // A much longer line cannot be equal, and it may be a whole minified file.
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
      let at = 0;
      // Both ascend.
      return findRuns(lines.length, (index) => fold(textAt(index)), folded).filter((first) => {
        while ((firsts[at] ?? Infinity) < first) at++;
        return firsts[at] === first;
      });
    },
  };
}

/** All indices, including overlapping ones, of `pattern` among `count` keys (Knuth–Morris–Pratt). */
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

/** The index among all new lines, and the indentation of the line in the file at that position. */
interface NewLinesAt {
  index: number;
  indent: string;
}

/** Changes the indentation of new lines from the model's to the file's. */
type Reindent = (lines: readonly string[], at: NewLinesAt) => string[];

const TAB_WIDTHS = [4, 2, 8, 3];

interface Indents {
  model: string;
  file: string;
}

/** The single shift that maps the indentation of every line of the model to the file; undefined if there is none. */
export function findReindent(modelLines: readonly string[], fileLines: readonly string[]): Reindent | undefined {
  const pairs = pairIndents(modelLines, fileLines);
  return findShift(pairs) ?? findConversion(pairs) ?? findFirstLineShift(pairs);
}

/** For lost indentation: the model's lines have one depth, and new lines get that of the line they replace. */
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

/** Tabs versus spaces: some tab width makes the difference equal on every line. */
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

/** The quotation begins at the first word, so only its first line lacks indentation. */
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

/** Line number prefixes of `read` and similar tools: `12<tab>`, `12: `, `12 | `, `12→`. Trailing whitespace may be lost. */
const NUMBER_FORMATS = [/^ *(\d+)\t/, /^ *(\d+):(?: |$)/, /^ *(\d+) ?\|(?: |$)/, /^ *(\d+)→/];

interface LineNumbers {
  /** The lines without their numbers. */
  lines: string[];
  /** Removes numbers of the same sequence from other lines; a line without a number is unchanged. */
  strip(lines: readonly string[]): string[];
}

/** Finds consecutive numbers of one format before every line; undefined if there are none. */
function findLineNumbers(lines: readonly string[]): LineNumbers | undefined {
  for (const format of NUMBER_FORMATS) {
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

/** A line of a text: its offset, its content and its line end ("" only for the last line). */
export interface Line {
  start: number;
  text: string;
  eol: string;
}

const BOM = "\uFEFF";

/** Splits at LF, CRLF or a lone CR. Joined lines give the text again, without its byte order mark. */
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

/** The line end at an offset, or "". */
export function lineEndAt(text: string, offset: number): "" | "\n" | "\r" | "\r\n" {
  const code = text.charCodeAt(offset);
  if (code === 10) return "\n";
  if (code !== 13) return "";
  return text.charCodeAt(offset + 1) === 10 ? "\r\n" : "\r";
}

/** The line numbers, from 1, of ascending offsets, in one pass. */
export function lineNumbersOf(text: string, offsets: readonly number[]): number[] {
  let line = 1;
  // Searching for the next line end is much faster than checking each character.
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

/** The most frequent line end, the earlier one on a tie; LF if there is none. */
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
