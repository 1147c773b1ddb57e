import { distance } from "fastest-levenshtein";
import { foldLookAlikes } from "./fold-line.ts";
import { type Line, isBlank } from "./split-lines.ts";

export interface NearMatch {
  /** Index of the file's line that the wanted line at `wantedLine` is likely to mean. */
  line: number;
  wantedLine: number;
}

const MAX_PROBES = 40;
/** A word that is everywhere points nowhere. */
const MAX_HITS = 400;
const MAX_WEIGHED = 24;
const MAX_COMPARED_CHARS = 200;
const MAX_COMPARED_LINES = 8;
const MAX_LINE_CHARS = 10_000;
const MIN_SIMILARITY = 0.35;

interface Probe {
  word: string;
  wantedLine: number;
}

/**
 * The places most like the wanted lines, best first. Words of the wanted lines vote for the lines that hold them, and only
 * the best few places are then compared in full, so that the cost is a few searches of the text whatever its size.
 */
export function findNearMatches(
  text: string,
  lines: readonly Line[],
  wanted: readonly string[],
  max: number,
): NearMatch[] {
  const firstWanted = wanted.findIndex((line) => !isBlank(line));
  if (firstWanted < 0) return [];
  const starts = vote(text, lines, probesOf(wanted, wordsOf)) ?? vote(text, lines, probesOf(wanted, piecesOf)) ?? [];
  const weighed = starts
    .map((start) => ({ start, likeness: likeness(lines, wanted, start) }))
    .filter((match) => match.likeness >= MIN_SIMILARITY)
    .sort((one, other) => other.likeness - one.likeness || one.start - other.start);
  const chosen: number[] = [];
  for (const { start } of weighed) {
    const apart = Math.max(1, Math.min(wanted.length, 5));
    if (chosen.every((other) => Math.abs(other - start) >= apart)) chosen.push(start);
    if (chosen.length === max) break;
  }
  return chosen.map((start) => {
    const wantedLine = Math.max(firstWanted, -start);
    return { line: snap(lines, wanted[wantedLine] ?? "", start + wantedLine), wantedLine };
  });
}

/** Later lines may have drawn the place to one side of where the first one stands. */
function snap(lines: readonly Line[], wanted: string, line: number): number {
  const key = comparable(wanted);
  const shift = [0, -1, 1, -2, 2, -3, 3].find((by) => comparable(lines[line + by]?.text ?? "") === key);
  return line + (shift ?? 0);
}

/** Start lines (which may lie before the file's first) by falling weight; undefined where no probe hit anything. */
function vote(text: string, lines: readonly Line[], probes: readonly Probe[]): number[] | undefined {
  const lower = text.toLowerCase();
  // Some letters change their length with their case, and offsets must stay those of the text.
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
    .slice(0, MAX_WEIGHED)
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

/** The longest words first: they are the likeliest to be rare. */
function probesOf(wanted: readonly string[], split: (line: string) => string[]): Probe[] {
  const probes = new Map<string, Probe>();
  wanted.slice(0, 200).forEach((line, wantedLine) => {
    for (const word of split(line.slice(0, 2_000))) if (!probes.has(word)) probes.set(word, { word, wantedLine });
  });
  return [...probes.values()].sort((one, other) => other.word.length - one.word.length).slice(0, MAX_PROBES);
}

export function wordsOf(line: string): string[] {
  return (line.match(/[\p{L}\p{N}_$]+/gu) ?? []).filter((word) => word.length > 1).map((word) => word.slice(0, 60));
}

/** Parts of words, for words that are misspelt. */
function piecesOf(line: string): string[] {
  return wordsOf(line).flatMap((word) => {
    const size = Math.max(2, Math.min(4, Math.floor(word.length / 2)));
    const pieces: string[] = [];
    for (let at = 0; at + size <= word.length; at += size) pieces.push(word.slice(at, at + size));
    return pieces;
  });
}

/** From 0 to 1: how alike the first wanted lines and the lines at `start` are, weighed by length. */
function likeness(lines: readonly Line[], wanted: readonly string[], start: number): number {
  let same = 0;
  let total = 0;
  let compared = 0;
  for (let index = 0; index < wanted.length && compared < MAX_COMPARED_LINES; index++) {
    const want = comparable(wanted[index] ?? "");
    if (want === "") continue;
    compared++;
    total += want.length;
    // A line more or less must not hide that the rest is alike, though lines in step are more so.
    const near = [0, -1, 1].map((shift) => {
      const likely = alike(want, comparable(lines[start + index + shift]?.text ?? ""));
      return shift === 0 ? likely : 0.9 * likely;
    });
    same += want.length * Math.max(...near);
  }
  return total === 0 ? 0 : same / total;
}

function alike(want: string, have: string): number {
  if (want === have) return 1;
  if (have === "") return 0;
  const words = wordsOf(want);
  // A part of a line is like its line however long the rest is: all its words are there.
  const shared = words.filter((word) => have.includes(word)).length / Math.max(1, words.length);
  const near = distance(want.slice(0, MAX_COMPARED_CHARS), have.slice(0, MAX_COMPARED_CHARS));
  return Math.max(0.8 * shared, 1 - near / Math.min(MAX_COMPARED_CHARS, Math.max(want.length, have.length)));
}

function comparable(line: string): string {
  return foldLookAlikes(line.slice(0, MAX_LINE_CHARS)).trim().toLowerCase();
}
