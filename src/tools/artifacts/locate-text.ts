import { distance } from "fastest-levenshtein";
import { approximateEnds } from "./approximate-ends.ts";
import { normaliseText, type NormalisedText } from "./normalise-text.ts";

/** How the text was found: as quoted, but for look-alikes and blanks, or approximately. */
export type MatchStep = "exact" | "normalised" | "fuzzy";

export interface TextRange {
  readonly start: number;
  readonly end: number;
  readonly step: MatchStep;
  /** From 0 to 1, of what the quoted text and the place are in their normalised form. */
  readonly similarity: number;
}

export type Located =
  | { kind: "found"; range: TextRange }
  | { kind: "ambiguous"; ranges: readonly TextRange[] }
  /** `tooLong`: too much text to be compared approximately. */
  | { kind: "missing"; nearest?: TextRange; tooLong?: true };

/** Shorter quotes are like too many other texts. */
const MIN_FUZZY_LENGTH = 12;
const MIN_SIMILARITY = 0.85;
/** Worth being shown to somebody who looks for it. */
const MIN_SHOWN = 0.5;
const MAX_FUZZY_LENGTH = 20_000;
/** Characters of the text times characters of the quote: what takes about half a second. */
const MAX_CELLS = 4_000_000_000;
const MAX_REPORTED = 5;
const MAX_TWINS = 1_000;
const MAY_HIDE = /[\t ]\n|[\r\u0080-\uffff]/;
const WORD = /[\p{L}\p{N}_]/u;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Where the quoted text stands in the other one. More than one place, at whatever step, is none. */
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

/** Blanks at the end of the quote were dropped; left in the text they would stand beside those of the new text. */
function withBlanks(range: TextRange, quoted: string, text: string): TextRange {
  const isBlank = (character: string | undefined): boolean => character === " " || character === "\t";
  let { end } = range;
  if (isBlank(quoted.at(-1))) while (isBlank(text[end])) end += 1;
  return { ...range, end };
}

/** Who quotes cannot see by what they differ: blanks at line ends, composed letters. Each of them may be meant. */
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

/** The best places that do not overlap; the second best tells whether the best one can be meant. */
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
  return nearest && nearest.similarity >= MIN_SHOWN ? { kind: "missing", nearest } : { kind: "missing" };
}

/** A place needs several times as many edits before it is plain that the nearest one is meant. */
function isRival({ similarity }: TextRange, nearest: TextRange, length: number): boolean {
  const editsOf = (likeness: number): number => Math.round((1 - likeness) * length);
  return similarity >= MIN_SIMILARITY && editsOf(similarity) < 3 * editsOf(nearest.similarity) + 3;
}

/** Ends of few edits, best first; near a chosen one there is no other. */
function candidateEnds(scores: Int32Array, length: number): number[] {
  const max = Math.floor(length * (1 - MIN_SHOWN));
  const ends: number[] = [];
  for (let at = 0; at < scores.length; at += 1) {
    const score = scores[at]!;
    const isLowest = score <= (scores[at - 1] ?? Infinity) && score < (scores[at + 1] ?? Infinity);
    if (isLowest && score <= max) ends.push(at);
  }
  ends.sort((a, b) => scores[a]! - scores[b]! || a - b);
  const chosen: number[] = [];
  for (const end of ends) {
    if (chosen.every((other) => Math.abs(other - end) >= length / 2)) chosen.push(end);
    if (chosen.length === MAX_REPORTED) break;
  }
  return chosen;
}

/** The same search backwards from the end tells where it begins. */
async function spanEndingAt(wanted: string, text: string, end: number): Promise<{ start: number; end: number }> {
  const before = reversed(text.slice(Math.max(0, end - wanted.length * 2), end));
  const scores = await approximateEnds(reversed(wanted), before, { fromStart: true });
  let best = 0;
  for (let at = 1; at < scores.length; at += 1) if (scores[at]! < scores[best]!) best = at;
  return { start: end - best - 1, end };
}

/** Half a word is never replaced where a whole one was quoted. */
function snapToWords(wanted: string, text: string, { start, end }: { start: number; end: number }) {
  const isInside = (at: number): boolean => at > 0 && at < text.length && joins(text[at - 1]!) && joins(text[at]!);
  let [from, to] = [start, end];
  if (joins(wanted[0]!)) while (isInside(from)) from -= 1;
  if (joins(wanted.at(-1)!)) while (isInside(to)) to += 1;
  return { start: from, end: to };
}

function joins(character: string): boolean {
  return WORD.test(character) && !UNSPACED.test(character);
}

function occurrences(wanted: string, text: string, max = MAX_REPORTED): number[] {
  const found: number[] = [];
  if (wanted === "") return found;
  // Overlapping ones too: each would be another change.
  for (let at = text.indexOf(wanted); at !== -1 && found.length <= max; at = text.indexOf(wanted, at + 1)) {
    found.push(at);
  }
  return found;
}

/** Whether no piece of the original is cut: `㎏` is two letters when normalised. */
function isWhole({ starts, ends }: NormalisedText, at: number, end: number): boolean {
  return (at === 0 || starts[at - 1] !== starts[at]) && (end === ends.length || ends[end] !== ends[end - 1]);
}

function originalRange({ starts, ends }: NormalisedText, at: number, end: number, step: MatchStep, similarity: number) {
  return rangeOf(starts[at]!, ends[end - 1]!, step, similarity);
}

function rangeOf(start: number, end: number, step: MatchStep, similarity: number): TextRange {
  return { start, end, step, similarity };
}

function oneOf(ranges: readonly TextRange[]): Located {
  return ranges.length === 1 ? { kind: "found", range: ranges[0]! } : { kind: "ambiguous", ranges };
}

function reversed(text: string): string {
  return Array.from({ length: text.length }, (_, i) => text[text.length - 1 - i]).join("");
}
