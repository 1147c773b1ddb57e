import { distance } from "fastest-levenshtein";
import { clustersOf, nameFirstDifference, nameHiddenCharacters, nameHiddenDifference } from "./hidden-characters.ts";
import {
  foldInnerBlanks,
  foldLookAlikes,
  indentOf,
  isBlank,
  type Line,
  type MatchStep,
  MAX_AMBIGUOUS_MATCHES,
  splitLines,
  wantedText,
} from "./text-match.ts";

const MAX_MESSAGE_CHARS = 800;
const MAX_NEAR_MATCHES = 3;
const MAX_LISTED_LINES = 20;
const SHOWN_WIDTH = 100;
/** Longer lines, as in minified files, are compared up to here. */
const MAX_LINE_CHARS = 10_000;

const IGNORED_BY_STEP: Record<MatchStep, string> = {
  exact: "",
  line_ends: " if line ends are ignored",
  trailing_blanks: " if trailing whitespace is ignored",
  look_alikes: " if look-alike characters are treated as equal",
  indentation: " if indentation is ignored",
  flattened_indentation: " if indentation is ignored",
  inner_blanks: " if whitespace inside lines is ignored",
};

/** Helps a model to correct an edit without a match: the most similar lines and how they differ. */
export function explainMiss(text: string, oldString: string, name = "old_string"): string {
  const lines = splitLines(text);
  if (lines.length === 0) return "The file is empty.";
  const wanted = wantedText(oldString).lines.map((line) => line.slice(0, MAX_LINE_CHARS));
  const same = findLookAlikeLine(lines, wanted);
  const nearMatches = same ? [same] : findNearMatches(text, lines, wanted, MAX_NEAR_MATCHES);
  if (nearMatches.length === 0)
    return bounded(["Nothing in the file is similar. The file begins:", ...preview(lines)], READ_AGAIN);
  const parts = nearMatches.flatMap((match, rank) =>
    explainNearMatch({ lines, wanted, name }, match, rank === 0 ? 2 : 1),
  );
  return bounded(
    [nearMatches.length === 1 ? "The most similar lines:" : "The most similar passages:", ...parts],
    QUOTE_EXACTLY,
  );
}

/** Both sides of the comparison, and the name of the model's text. */
interface Sides {
  lines: readonly Line[];
  wanted: readonly string[];
  name: string;
}

const READ_AGAIN = "Read the file again and quote it exactly.";
const QUOTE_EXACTLY = "Copy the text from the file exactly and try again.";

/** Lists the matches; the caller adds the advice. */
export function explainAmbiguity(lineNumbers: readonly number[], step: MatchStep): string {
  const listed = [...new Set(lineNumbers)];
  const more = listed.length > MAX_LISTED_LINES ? " and more" : "";
  const where = `${listed.length === 1 ? "line" : "lines"} ${listed.slice(0, MAX_LISTED_LINES).join(", ")}${more}`;
  const min = lineNumbers.length >= MAX_AMBIGUOUS_MATCHES ? "at least " : "";
  return `It is found ${min}${lineNumbers.length} times${IGNORED_BY_STEP[step]}: ${where}. Nothing was changed.`;
}

function explainNearMatch(sides: Sides, match: NearMatch, max: number): string[] {
  const number = match.line + 1;
  const found = differences(sides, match).slice(0, max);
  if (found.length === 0) return [`- line ${number}: ${clip(sides.lines[match.line]?.text ?? "", 0)}`];
  return found.map((difference, index) => {
    if (index > 0) return `  ${difference}`;
    return difference.includes(`line ${number}`) ? `- ${difference}` : `- from line ${number} on: ${difference}`;
  });
}

/** Compares both sides line by line, skips lines that one side lacks, and describes the differences. */
function differences({ lines, wanted, name }: Sides, match: NearMatch): string[] {
  const found: string[] = [];
  let at = match.line;
  let index = match.wantedLine;
  while (index < wanted.length && found.length < 2) {
    const want = wanted[index] ?? "";
    const have = shortened(lines[at]);
    if (have === undefined) {
      found.push(`the file ends before "${clip(wanted.slice(index).find((line) => !isBlank(line)) ?? want, 0)}"`);
      break;
    }
    if (foldInnerBlanks(want) === foldInnerBlanks(have)) {
      const difference = describeDifference({ want, have, name }, at);
      if (difference && !found.includes(difference)) found.push(difference);
    } else {
      const skippedHave = distanceTo(want, (step) => shortened(lines[at + step]));
      const skippedWant = distanceTo(have, (step) => wanted[index + step]);
      if (skippedHave > 0 && (skippedWant === 0 || skippedHave <= skippedWant)) {
        found.push(`${name} lacks line ${at + 1} of the file: "${clip(have, 0)}"`);
        at += skippedHave;
      } else if (skippedWant > 0) {
        found.push(`the file has no line "${clip(want, 0)}" before line ${at + 1}`);
        index += skippedWant;
        continue;
      } else {
        found.push(describeDifference({ want, have, name }, at) ?? "");
      }
    }
    at++;
    index++;
  }
  return found;
}

/** How many lines later (max 3) the same line follows; 0 if it does not. */
function distanceTo(line: string, lineAt: (step: number) => string | undefined): number {
  if (isBlank(line)) return 0;
  const key = foldInnerBlanks(line);
  for (let step = 1; step <= 3; step++) {
    const other = lineAt(step);
    if (other !== undefined && foldInnerBlanks(other) === key) return step;
  }
  return 0;
}

interface ComparedLine {
  want: string;
  have: string;
  name: string;
}

function describeDifference(compared: ComparedLine, at: number): string | undefined {
  const said = describeVisible(compared, at);
  if (said === undefined) return undefined;
  const { want, have, name } = compared;
  const sides = [
    { side: "the file", hidden: nameHiddenCharacters(have, want) },
    { side: name, hidden: nameHiddenCharacters(want, have) },
  ];
  const unsaid = sides.flatMap(({ side, hidden }) => {
    const rest = hidden.filter((one) => !said.includes(one.split(" at column")[0] ?? one));
    return rest.length === 0 ? [] : [`; ${side} has ${rest.join(" and ")}`];
  });
  return said + unsaid.join("");
}

function describeVisible({ want, have, name }: ComparedLine, at: number): string | undefined {
  if (want === have) return undefined;
  const line = `line ${at + 1}`;
  if (want.trimEnd() === have.trimEnd()) return `trailing whitespace differs on ${line}`;
  const names = { have: "the file", want: name };
  const hidden = nameHiddenDifference(have, want.trimEnd(), names) ?? nameHiddenDifference(have, want.trim(), names);
  if (hidden) return `${line} looks the same, but ${hidden}: "${clipAtDifference(have, want)}"`;
  if (want.trim() === have.trim()) {
    return `indentation of ${line} is ${spell(indentOf(have))} in the file, ${spell(indentOf(want))} in ${name}`;
  }
  if (foldInnerBlanks(want) === foldInnerBlanks(have)) {
    const at = { ...names, column: indentOf(have).length + 1 };
    const first = nameFirstDifference(clustersOf(have.trim()), clustersOf(want.trim()), at);
    return `whitespace differs on ${line}: "${clipAtDifference(have, want)}"${first ? ` (${first})` : ""}`;
  }
  const [one, other] = [foldLookAlikes(want).trim(), foldLookAlikes(have).trim()];
  if (one.toLowerCase() === other.toLowerCase())
    return `upper and lower case differ on ${line}: "${clipAtDifference(have, want)}"`;
  if (unescaped(one) === other)
    return `${name} has backslashes that ${line} does not have: "${clipAtDifference(have, want)}"`;
  return `${line} is "${clipAtDifference(have, want)}", ${name} has "${clipAtDifference(want, have)}"`;
}

function unescaped(line: string): string {
  return line.replace(/\\(["'`\\$])/g, "$1");
}

function shortened(line: Line | undefined): string | undefined {
  return line?.text.slice(0, MAX_LINE_CHARS);
}

function spell(indent: string): string {
  const tabs = indent.split("\t").length - 1;
  const spaces = indent.length - tabs;
  const parts = [
    tabs > 0 && `${tabs} tab${tabs > 1 ? "s" : ""}`,
    spaces > 0 && `${spaces} space${spaces > 1 ? "s" : ""}`,
  ];
  return parts.filter(Boolean).join(" and ") || "none";
}

/** The part of a line around its first difference from another. */
function clipAtDifference(line: string, other: string): string {
  let at = 0;
  while (at < line.length && line[at] === other[at]) at++;
  return clip(line, at > 0 ? at : sharedWordAt(line, other));
}

/** For a line that differs from its start: the position of the longest word of the other line. */
function sharedWordAt(line: string, other: string): number {
  if (line.length <= SHOWN_WIDTH) return 0;
  const words = wordsOf(other.slice(0, 500)).sort((one, two) => two.length - one.length);
  const shared = words.find((word) => line.includes(word));
  return shared === undefined ? 0 : line.indexOf(shared);
}

function clip(line: string, around: number): string {
  if (line.length <= SHOWN_WIDTH) return line;
  const start = Math.max(0, Math.min(around - SHOWN_WIDTH / 2, line.length - SHOWN_WIDTH));
  const end = start + SHOWN_WIDTH;
  const shown = line.slice(start, end).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
  return `${start > 0 ? "…" : ""}${shown}${end < line.length ? "…" : ""}`;
}

function preview(lines: readonly Line[]): string[] {
  return lines.slice(0, 10).map((line, index) => `${index + 1}: ${clip(line.text, 0)}`);
}

/** Adds whole parts while they fit; the advice is always included. */
function bounded(parts: readonly string[], advice: string): string {
  let shown = parts[0] ?? "";
  for (const part of parts.slice(1)) {
    if (shown.length + part.length + advice.length + 2 > MAX_MESSAGE_CHARS) break;
    shown += `\n${part}`;
  }
  return `${shown}\n${advice}`;
}

interface NearMatch {
  /** Index of the line in the file that corresponds to the wanted line at `wantedLine`. */
  line: number;
  wantedLine: number;
}

/** The first line that looks as the first wanted line does, but has other characters. Words cannot find it. */
function findLookAlikeLine(lines: readonly Line[], wanted: readonly string[]): NearMatch | undefined {
  const wantedLine = wanted.findIndex((line) => !isBlank(line));
  const want = wanted[wantedLine] ?? "";
  const folded = foldLookAlikes(want).trim();
  if (folded === "") return undefined;
  // Equal folds of two ASCII lines are equal lines.
  const isPlain = foldLookAlikes(want) === want;
  const line = lines.findIndex(({ text }) => {
    if (text.length > MAX_LINE_CHARS || text.includes(want.trim())) return false;
    const fold = foldLookAlikes(text);
    return !(isPlain && fold === text) && fold.includes(folded);
  });
  return line < 0 ? undefined : { line, wantedLine };
}

const MAX_PROBES = 40;
/** More hits of a word say nothing about the position. */
const MAX_HITS = 400;
const MAX_CANDIDATES = 24;
const MAX_COMPARED_CHARS = 200;
const MAX_COMPARED_LINES = 8;
const MIN_SIMILARITY = 0.35;

interface Probe {
  word: string;
  wantedLine: number;
}

/** The most similar passages, best first. Words of the wanted lines vote, and only the best are compared in full. */
function findNearMatches(text: string, lines: readonly Line[], wanted: readonly string[], max: number): NearMatch[] {
  const firstWanted = wanted.findIndex((line) => !isBlank(line));
  if (firstWanted < 0) return [];
  const starts = vote(text, lines, probesOf(wanted, wordsOf)) ?? vote(text, lines, probesOf(wanted, piecesOf)) ?? [];
  const similar = starts
    .map((start) => ({ start, similarity: similarityAt(lines, wanted, start) }))
    .filter((match) => match.similarity >= MIN_SIMILARITY)
    .sort((one, other) => other.similarity - one.similarity || one.start - other.start);
  const chosen: number[] = [];
  for (const { start } of similar) {
    const minDistance = Math.max(1, Math.min(wanted.length, 5));
    if (chosen.every((other) => Math.abs(other - start) >= minDistance)) chosen.push(start);
    if (chosen.length === max) break;
  }
  return chosen.map((start) => {
    const wantedLine = Math.max(firstWanted, -start);
    return { line: snap(lines, wanted[wantedLine] ?? "", start + wantedLine), wantedLine };
  });
}

/** Later lines may have shifted the position: correct it by the first line. */
function snap(lines: readonly Line[], wanted: string, line: number): number {
  const key = comparable(wanted);
  const shift = [0, -1, 1, -2, 2, -3, 3].find((by) => comparable(lines[line + by]?.text ?? "") === key);
  return line + (shift ?? 0);
}

/** Start lines (possibly before the first line of the file) by decreasing weight; undefined if no probe was found. */
function vote(text: string, lines: readonly Line[], probes: readonly Probe[]): number[] | undefined {
  const lower = text.toLowerCase();
  // Some letters change their length with their case, but the offsets must be those of the text.
  const searched = lower.length === text.length ? lower : text;
  const votes = new Map<number, number>();
  for (const { word, wantedLine } of probes) {
    const hits = linesWith(searched, lines, searched === text ? word : word.toLowerCase());
    for (const line of hits) {
      const start = line - wantedLine;
      votes.set(start, (votes.get(start) ?? 0) + word.length / Math.sqrt(hits.length));
    }
  }
  if (votes.size === 0) return undefined;
  return [...votes]
    .sort((one, other) => other[1] - one[1] || one[0] - other[0])
    .slice(0, MAX_CANDIDATES)
    .map(([start]) => start);
}

function linesWith(text: string, lines: readonly Line[], word: string): number[] {
  const hits: number[] = [];
  let at = text.indexOf(word);
  let line = 0;
  while (at >= 0 && hits.length < MAX_HITS) {
    line = lineOf(lines, at, line);
    hits.push(line);
    const next = lines[line + 1]?.start;
    if (next === undefined) break;
    at = text.indexOf(word, next);
  }
  return hits;
}

function lineOf(lines: readonly Line[], offset: number, from: number): number {
  let low = from;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((lines[middle]?.start ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The longest words first: they are likely to be rare. */
function probesOf(wanted: readonly string[], split: (line: string) => string[]): Probe[] {
  const probes = new Map<string, Probe>();
  wanted.slice(0, 200).forEach((line, wantedLine) => {
    for (const word of split(line.slice(0, 2_000))) if (!probes.has(word)) probes.set(word, { word, wantedLine });
  });
  return [...probes.values()].sort((one, other) => other.word.length - one.word.length).slice(0, MAX_PROBES);
}

function wordsOf(line: string): string[] {
  return (line.match(/[\p{L}\p{N}_$]+/gu) ?? []).filter((word) => word.length > 1).map((word) => word.slice(0, 60));
}

/** Parts of words, for misspelt words. */
function piecesOf(line: string): string[] {
  return wordsOf(line).flatMap((word) => {
    const size = Math.max(2, Math.min(4, Math.floor(word.length / 2)));
    const pieces: string[] = [];
    for (let at = 0; at + size <= word.length; at += size) pieces.push(word.slice(at, at + size));
    return pieces;
  });
}

/** From 0 to 1: the similarity of the first wanted lines and the lines at `start`, weighted by length. */
function similarityAt(lines: readonly Line[], wanted: readonly string[], start: number): number {
  let same = 0;
  let total = 0;
  let compared = 0;
  for (let index = 0; index < wanted.length && compared < MAX_COMPARED_LINES; index++) {
    const want = comparable(wanted[index] ?? "");
    if (want === "") continue;
    compared++;
    total += want.length;
    // An extra or missing line must not hide a similar rest, but aligned lines score higher.
    const near = [0, -1, 1].map((shift) => {
      const similarity = similarityOf(want, comparable(lines[start + index + shift]?.text ?? ""));
      return shift === 0 ? similarity : 0.9 * similarity;
    });
    same += want.length * Math.max(...near);
  }
  return total === 0 ? 0 : same / total;
}

function similarityOf(want: string, have: string): number {
  if (want === have) return 1;
  if (have === "") return 0;
  const words = wordsOf(want);
  // A part of a line is similar to the whole line: all its words are there.
  const shared = words.filter((word) => have.includes(word)).length / Math.max(1, words.length);
  const near = distance(want.slice(0, MAX_COMPARED_CHARS), have.slice(0, MAX_COMPARED_CHARS));
  return Math.max(0.8 * shared, 1 - near / Math.min(MAX_COMPARED_CHARS, Math.max(want.length, have.length)));
}

function comparable(line: string): string {
  return foldLookAlikes(line.slice(0, MAX_LINE_CHARS)).trim().toLowerCase();
}
