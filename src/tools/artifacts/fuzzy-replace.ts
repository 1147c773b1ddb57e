import { distance } from "fastest-levenshtein";
import { toolError, type ToolError } from "../../core/error.ts";
import { createTimeSlice } from "../../io/files/line-index.ts";

export interface Replaced {
  before: string;
  content: string;
  step: MatchStep;
  similarity: number;
  /** The replaced text. */
  oldText: string;
  /** The first replaced line, from 1. */
  line: number;
}

const MAX_SHOWN_LENGTH = 400;

/** Replaces a text that occurs once. The new text is inserted literally. */
export async function replaceIn(
  content: string,
  { oldText, newText }: { oldText: string; newText: string },
  signal?: AbortSignal,
): Promise<Replaced> {
  const located = await locateText(oldText, content, signal);
  if (located.kind === "ambiguous") throw ambiguous(content, located.ranges);
  if (located.kind === "missing") throw missing(content, located);
  const { start, end, step, similarity } = located.range;
  const found = content.slice(start, end);
  const inserted = step === "exact" ? newText : withLineEndsOf(content, newText);
  if (inserted === found) {
    throw toolError("no_change", "The new text equals the old text", { next: "Send another new_str." });
  }
  const line = lineAt(content, start);
  const after = content.slice(0, start) + inserted + content.slice(end);
  return { before: content, content: after, step, similarity, oldText: found, line };
}

/** A quote may match with other line ends; the new text then gets those of the artifact. */
function withLineEndsOf(content: string, text: string): string {
  return /\r\n/.test(content) && !/(?<!\r)\n/.test(content) ? text.replaceAll(/\r?\n/g, () => "\r\n") : text;
}

function ambiguous(content: string, ranges: readonly TextRange[]): ToolError {
  const lines = ranges.map(({ start }) => lineAt(content, start));
  const like = ranges.some(({ step }) => step === "fuzzy")
    ? "is similar to several passages but equal to none"
    : "occurs several times";
  return toolError("ambiguous", `The text of old_str ${like}: lines ${lines.join(", ")}`, {
    next: "Quote more of the surrounding text, exactly. Nothing was changed.",
    data: { lines },
  });
}

function missing(content: string, { nearest, tooLong }: { nearest?: TextRange; tooLong?: true }): ToolError {
  if (tooLong) {
    return toolError(
      "no_match",
      "The text of old_str is not in the artifact, and it is too long for an approximate search",
      {
        next: "Quote a shorter part, exactly as read_artifact shows it.",
      },
    );
  }
  if (!nearest) {
    return toolError("no_match", "The text of old_str is not in the artifact, and nothing similar is", {
      next: "Read the artifact and quote the text to replace exactly, or use rewrite_artifact.",
    });
  }
  const { start, end, similarity } = nearest;
  const text = content.slice(start, end);
  const shown = text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
  const line = lineAt(content, start);
  return toolError(
    "no_match",
    `The text of old_str is not in the artifact. The most similar passage (${percent(similarity)}), at line ${line}, is:\n${shown}\n`,
    {
      next: "If that is the right passage, quote it exactly as shown here.",
      data: { line, similarity, text: shown },
    },
  );
}

export function percent(similarity: number): string {
  // Only equal texts are 100 % similar.
  return `${similarity === 1 ? 100 : Math.min(99, Math.round(similarity * 100))}%`;
}

function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < index; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

/** How the text was found: exactly, except for look-alikes and whitespace, or approximately. */
type MatchStep = "exact" | "normalised" | "fuzzy";

interface TextRange {
  readonly start: number;
  readonly end: number;
  readonly step: MatchStep;
  /** From 0 to 1, compared in normalised form. */
  readonly similarity: number;
}

export type Located =
  | { kind: "found"; range: TextRange }
  | { kind: "ambiguous"; ranges: readonly TextRange[] }
  /** `tooLong`: too much text for an approximate search. */
  | { kind: "missing"; nearest?: TextRange; tooLong?: true };

/** Shorter quotes are similar to too many other texts. */
const MIN_FUZZY_LENGTH = 12;
const MIN_SIMILARITY = 0.85;
/** Similar enough to be shown as a suggestion. */
const MIN_SUGGESTED_SIMILARITY = 0.5;
const MAX_FUZZY_LENGTH = 20_000;
/** Length of the text times length of the quote: takes about half a second. */
const MAX_CELLS = 4_000_000_000;
const MAX_REPORTED = 5;
const MAX_TWINS = 1_000;
const MAY_HIDE = /[\t ]\n|[\r\u0080-\uffff]/;
const WORD = /[\p{L}\p{N}_]/u;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Finds the quoted text in the other one. Several matches in a step are ambiguous. */
export async function locateText(quoted: string, text: string, signal?: AbortSignal): Promise<Located> {
  const exact = occurrences(quoted, text).map((at) => rangeOf(at, at + quoted.length, "exact", 1));
  if (exact.length > 1) return oneOf(exact);
  if (exact.length === 1) return oneOf(MAY_HIDE.test(text) ? withTwins(exact, quoted, text) : exact);
  const plain = normaliseText(text);
  const wanted = normaliseText(quoted);
  if (wanted.text.trim() === "") return { kind: "missing" };
  const normalised = findNormalised(wanted.text, plain);
  const located = normalised.length > 0 ? oneOf(normalised) : await findFuzzy(wanted.text, plain, signal);
  return located.kind === "found" ? { kind: "found", range: withBlanks(located.range, quoted, text) } : located;
}

/** Trailing blanks of the quote were ignored; if they stayed in the text, they would add to those of the new text. */
function withBlanks(range: TextRange, quoted: string, text: string): TextRange {
  const isBlank = (character: string | undefined): boolean => character === " " || character === "\t";
  let { end } = range;
  if (isBlank(quoted.at(-1))) while (isBlank(text[end])) end += 1;
  return { ...range, end };
}

/** Adds passages that look the same (blanks at line ends, composed letters): each of them may be meant. */
function withTwins(exact: readonly TextRange[], quoted: string, text: string): TextRange[] {
  const same = findNormalised(normaliseText(quoted).text, normaliseText(text), MAX_TWINS);
  const look = visibleForm(quoted);
  const twins = same.filter(({ start, end }) => visibleForm(text.slice(start, end)) === look);
  return [...exact, ...twins.filter((twin) => exact.every(({ start, end }) => twin.end <= start || twin.start >= end))];
}

function visibleForm(text: string): string {
  return text
    .normalize("NFC")
    .replaceAll(/[\u200b-\u200d\u2060\ufeff\u00ad]/g, "")
    .replaceAll("\u00a0", " ")
    .replaceAll(/[\t ]*\r?(?=\n|$)/g, "");
}

function findNormalised(wanted: string, plain: NormalisedText, max = MAX_REPORTED): TextRange[] {
  return occurrences(wanted, plain.text, max).flatMap((at) => {
    const end = at + wanted.length;
    return isWhole(plain, at, end) ? [originalRange(plain, at, end, "normalised", 1)] : [];
  });
}

/** The best passages without overlap. A similar second best makes the result ambiguous. */
async function findFuzzy(wanted: string, plain: NormalisedText, signal: AbortSignal | undefined): Promise<Located> {
  if (wanted.length > MAX_FUZZY_LENGTH || wanted.length * plain.text.length > MAX_CELLS)
    return { kind: "missing", tooLong: true };
  const scores = await approximateEnds(wanted, plain.text, { signal });
  const ranges: TextRange[] = [];
  const taken: { start: number; end: number }[] = [];
  for (const last of candidateEnds(scores, wanted.length)) {
    const found = snapToWords(wanted, plain.text, await spanEndingAt(wanted, plain.text, last + 1));
    if (taken.some(({ start, end }) => found.start < end && start < found.end)) continue;
    taken.push(found);
    const edits = distance(wanted, plain.text.slice(found.start, found.end));
    ranges.push(originalRange(plain, found.start, found.end, "fuzzy", Math.max(0, 1 - edits / wanted.length)));
  }
  ranges.sort((a, b) => b.similarity - a.similarity);
  const [nearest] = ranges;
  if (nearest && wanted.length >= MIN_FUZZY_LENGTH && nearest.similarity >= MIN_SIMILARITY) {
    return oneOf(ranges.filter((range) => isRival(range, nearest, wanted.length)));
  }
  return nearest && nearest.similarity >= MIN_SUGGESTED_SIMILARITY ? { kind: "missing", nearest } : { kind: "missing" };
}

/** Another passage must need several times as many edits, or the result is ambiguous. */
function isRival({ similarity }: TextRange, nearest: TextRange, length: number): boolean {
  const editsOf = (likeness: number): number => Math.round((1 - likeness) * length);
  return similarity >= MIN_SIMILARITY && editsOf(similarity) < 3 * editsOf(nearest.similarity) + 3;
}

/** End positions with few edits, best first, with a minimum distance. */
function candidateEnds(scores: Int32Array, length: number): number[] {
  const max = Math.floor(length * (1 - MIN_SUGGESTED_SIMILARITY));
  const ends: number[] = [];
  for (let at = 0; at < scores.length; at += 1) {
    const score = scores[at] ?? Infinity;
    const isLowest = score <= (scores[at - 1] ?? Infinity) && score < (scores[at + 1] ?? Infinity);
    if (isLowest && score <= max) ends.push(at);
  }
  const scoreAt = (at: number): number => scores[at] ?? Infinity;
  ends.sort((a, b) => scoreAt(a) - scoreAt(b) || a - b);
  const chosen: number[] = [];
  for (const end of ends) {
    if (chosen.every((other) => Math.abs(other - end) >= length / 2)) chosen.push(end);
    if (chosen.length === MAX_REPORTED) break;
  }
  return chosen;
}

/** The same search backwards from the end finds the start. */
async function spanEndingAt(wanted: string, text: string, end: number): Promise<{ start: number; end: number }> {
  const before = reversed(text.slice(Math.max(0, end - wanted.length * 2), end));
  const scores = await approximateEnds(reversed(wanted), before, { fromStart: true });
  const best = scores.indexOf(scores.reduce((lowest, score) => Math.min(lowest, score), Infinity));
  return { start: end - best - 1, end };
}

/** Extends the span to whole words if whole words were quoted. */
function snapToWords(wanted: string, text: string, { start, end }: { start: number; end: number }) {
  const isInside = (at: number): boolean => at > 0 && at < text.length && joins(text[at - 1]) && joins(text[at]);
  let [from, to] = [start, end];
  if (joins(wanted[0])) while (isInside(from)) from -= 1;
  if (joins(wanted.at(-1))) while (isInside(to)) to += 1;
  return { start: from, end: to };
}

function joins(character = ""): boolean {
  return WORD.test(character) && !UNSPACED.test(character);
}

function occurrences(wanted: string, text: string, max = MAX_REPORTED): number[] {
  const found: number[] = [];
  if (wanted === "") return found;
  // Also overlapping ones: each would be a different change.
  for (let at = text.indexOf(wanted); at !== -1 && found.length <= max; at = text.indexOf(wanted, at + 1)) {
    found.push(at);
  }
  return found;
}

/** Whether the range does not cut a piece of the original: `㎏` is two letters when normalised. */
function isWhole({ starts, ends }: NormalisedText, at: number, end: number): boolean {
  return (at === 0 || starts[at - 1] !== starts[at]) && (end === ends.length || ends[end] !== ends[end - 1]);
}

function originalRange({ starts, ends }: NormalisedText, at: number, end: number, step: MatchStep, similarity: number) {
  return rangeOf(starts[at] ?? 0, ends[end - 1] ?? 0, step, similarity);
}

function rangeOf(start: number, end: number, step: MatchStep, similarity: number): TextRange {
  return { start, end, step, similarity };
}

function oneOf(ranges: readonly TextRange[]): Located {
  const [range] = ranges;
  return range && ranges.length === 1 ? { kind: "found", range } : { kind: "ambiguous", ranges };
}

function reversed(text: string): string {
  return Array.from({ length: text.length }, (_, i) => text[text.length - 1 - i]).join("");
}

const WORD_BITS = 32;
/** Steps before the search may yield to the event loop. */
const STEPS_PER_SLICE = 50_000;

/**
 * For every position in the text: the min number of edits between the pattern and a substring that ends there; with
 * `fromStart`, a prefix that ends there.
 * Bit-parallel (Myers 1999, in blocks as Hyyrö 2003): one step per 32 characters of the pattern and character of the text.
 */
export async function approximateEnds(
  pattern: string,
  text: string,
  { fromStart = false, signal }: { fromStart?: boolean; signal?: AbortSignal } = {},
): Promise<Int32Array> {
  const blocks = Math.ceil(pattern.length / WORD_BITS);
  const lastBit = 1 << ((pattern.length - 1) % WORD_BITS);
  const equal = new Map<number, Int32Array>();
  for (let i = 0; i < pattern.length; i += 1) {
    const code = pattern.charCodeAt(i);
    let bits = equal.get(code);
    if (!bits) equal.set(code, (bits = new Int32Array(blocks)));
    bits[i >> 5] = (bits[i >> 5] ?? 0) | (1 << (i % WORD_BITS));
  }
  const none = new Int32Array(blocks);
  const more = new Int32Array(blocks).fill(-1);
  const less = new Int32Array(blocks);
  const scores = new Int32Array(text.length);
  const slice = createTimeSlice(signal);
  const columns = Math.max(1, Math.floor(STEPS_PER_SLICE / blocks));
  let score = pattern.length;
  for (let at = 0; at < text.length; at += 1) {
    if (at % columns === columns - 1) await slice();
    const matches = equal.get(text.charCodeAt(at)) ?? none;
    let carry = fromStart ? 1 : 0;
    for (let block = 0; block < blocks; block += 1) {
      const plus = more[block] ?? 0;
      const minus = less[block] ?? 0;
      const isLess = carry < 0 ? 1 : 0;
      const match = matches[block] ?? 0;
      const eq = match | isLess;
      const vertical = match | minus;
      const horizontal = (((eq & plus) + plus) ^ plus) | eq;
      let up = minus | ~(horizontal | plus);
      let down = plus & horizontal;
      const top = block === blocks - 1 ? lastBit : 1 << 31;
      const next = up & top ? 1 : down & top ? -1 : 0;
      up = (up << 1) | (carry > 0 ? 1 : 0);
      down = (down << 1) | isLess;
      more[block] = down | ~(vertical | up);
      less[block] = up & vertical;
      carry = next;
    }
    score += carry;
    scores[at] = score;
  }
  return scores;
}

/** A normalised text with a mapping to the original. */
interface NormalisedText {
  readonly text: string;
  /** For each character: start and end of its piece in the original. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** Normalised together: a letter with its marks, the parts of a Hangul syllable. */
const PIECE = /\r\n|[\u1100-\u11ff]+|[\s\S]\p{M}*/uy;
const FIRST_MARK = 0x300;
const BLANK = /^[\t \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]$/;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const NARROW = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}]/u;

const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ...[..."\u2018\u2019\u201a\u201b\u2032"].map((quote) => [quote, "'"] as const),
  ...[..."\u201c\u201d\u201e\u201f\u2033"].map((quote) => [quote, '"'] as const),
  ...[..."\u2010\u2011\u2012\u2013\u2014\u2015\u2212"].map((dash) => [dash, "-"] as const),
  ...[..."\u200b\u200c\u200d\u2060\ufeff\u00ad"].map((nothing) => [nothing, ""] as const),
  ["\r\n", "\n"],
]);

/** Plain forms of compatibility characters, quotes, dashes, line ends; no blanks at ends or between CJK and Latin. */
function normaliseText(original: string): NormalisedText {
  const starts: number[] = [];
  const ends: number[] = [];
  const parts: string[] = [];
  /** Blanks that are kept only if something follows in the line. */
  let blanks: { at: number; end: number }[] = [];
  const add = (characters: string, at: number, end: number): void => {
    parts.push(characters);
    for (let i = 0; i < characters.length; i += 1) {
      starts.push(at);
      ends.push(end);
    }
  };
  for (let index = 0, end = 0; index < original.length; index = end) {
    const piece = pieceAt(original, index);
    end = index + piece.length;
    if (BLANK.test(piece)) {
      blanks.push({ at: index, end });
      continue;
    }
    const plain = plainOf(piece);
    if (plain === "") continue;
    if (blanks.length > 0) {
      const isDropped = plain === "\n" || isBetweenScripts(parts.at(-1) ?? "", plain);
      if (!isDropped) for (const blank of blanks) add(" ", blank.at, blank.end);
      blanks = [];
    }
    add(plain, index, end);
  }
  return { text: parts.join(""), starts: Int32Array.from(starts), ends: Int32Array.from(ends) };
}

function pieceAt(text: string, index: number): string {
  const isAlone = text.charCodeAt(index) < 0x80 && !(text.charCodeAt(index + 1) >= FIRST_MARK);
  if (isAlone && !(text[index] === "\r" && text[index + 1] === "\n")) return text[index] ?? "";
  PIECE.lastIndex = index;
  return PIECE.exec(text)?.[0] ?? text[index] ?? "";
}

function plainOf(piece: string): string {
  if (piece.length === 1 && piece < "\u0080") return piece;
  const plain = LOOK_ALIKES.get(piece) ?? piece.normalize("NFKC");
  return LOOK_ALIKES.get(plain) ?? plain;
}

function isBetweenScripts(before: string, after: string): boolean {
  return (WIDE.test(before) && NARROW.test(after)) || (NARROW.test(before) && WIDE.test(after));
}
