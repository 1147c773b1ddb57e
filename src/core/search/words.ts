import { stem } from "./stem.ts";
import { isBindingCharacter, isStopWord } from "./stop-words.ts";

/**
 * "word": a stemmed word, or two characters of a script that is written without blanks;
 * "joined": two neighbouring words as one, ended as the stemmed whole would be (file_name, filename → filenam);
 * "part": a piece of a word that counts less (the letters of mp3, one character of a run);
 * "number": digits only.
 */
export type WordKind = "word" | "joined" | "part" | "number";

export type VisitWord = (word: string, kind: WordKind) => void;

export interface ScanOptions {
  /**
   * Join every two neighbours, also across a blank, as a query wants. Otherwise only identifiers of two words are joined
   * (fileName, e-mail, GitHub): longer ones would fill an index with compounds that nobody writes.
   */
  readonly joinAll?: boolean;
}

/** The words of a text as they are indexed, joined forms included. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  scanWords(text, (word) => words.push(word));
  return words;
}

/** Lower case, without accents and compatibility forms; the same for every spelling of a letter. */
export function foldCase(text: string): string {
  return foldAccents(text).toLowerCase();
}

const Letter = {
  Unknown: 0,
  Separator: 1,
  Joiner: 2,
  Lower: 3,
  Upper: 4,
  Digit: 5,
  /** Of a script written without blanks between words. */
  Dense: 6,
} as const;
type Letter = (typeof Letter)[keyof typeof Letter];

/** Visits every word of the text. */
export function scanWords(text: string, visit: VisitWord, options?: ScanOptions): void {
  const source = beyondAscii.test(text) ? foldAccents(text) : text;
  const end = source.length;
  const joinAll = options?.joinAll === true;
  let first: Indexed | undefined;
  let last: Indexed | undefined;
  let parts = 0;
  let camel = false;
  let at = 0;
  while (at < end) {
    const letter = letterAt(source, at);
    if (letter === Letter.Joiner) {
      at++;
    } else if (letter === Letter.Separator || letter === Letter.Dense) {
      if (parts === 2 && !joinAll && first !== undefined && last !== undefined) visitJoined(first, last, camel, visit);
      parts = 0;
      if (letter === Letter.Dense) at = visitDense(source, at, visit);
      else if (joinAll && source.charCodeAt(at++) === blank) continue;
      else if (!joinAll) at++;
      last = undefined;
    } else {
      camel = at > 0 && isWordLetter(letterAt(source, at - 1));
      const start = at;
      at = wordEnd(source, start);
      const current = indexedAt(source, start, at, walkedHash);
      if (current.word !== "") visit(current.word, current.kind);
      if (current.letters !== "") visit(current.letters, "part");
      if (joinAll && last !== undefined) visitJoined(last, current, camel, visit);
      if (++parts === 1) first = current;
      last = current;
    }
  }
  if (parts === 2 && !joinAll && first !== undefined && last !== undefined) visitJoined(first, last, camel, visit);
}

const blank = 0x20;

function isWordLetter(letter: Letter): boolean {
  return letter === Letter.Lower || letter === Letter.Upper || letter === Letter.Digit;
}

/** Of the word that wordEnd has just walked over; given aside to spare a second walk. */
let walkedHash = 0;

/** Where the word that begins at start ends: at a separator or at a change of case (readFile, HTTPServer, but URLs). */
function wordEnd(source: string, start: number): number {
  const end = source.length;
  let before = letterAt(source, start);
  let onlyDigits = before === Letter.Digit;
  let hash = source.charCodeAt(start);
  let at = start + 1;
  for (; at < end; at++) {
    const code = source.charCodeAt(at);
    // The test ahead is for speed alone: most of every text are small letters after small letters.
    if (before !== Letter.Lower || code < 0x61 || code > 0x7a) {
      const letter = letterAt(source, at);
      if (!isWordLetter(letter)) break;
      if (letter === Letter.Upper && before !== Letter.Upper && !onlyDigits) break;
      if (letter === Letter.Lower && before === Letter.Upper && at - start > 1 && !isPluralOfCapitals(source, at)) {
        walkedHash = hashOf(source, start, at - 1);
        return at - 1;
      }
      if (letter !== Letter.Digit) onlyDigits = false;
      before = letter;
    }
    hash = (Math.imul(hash, 31) + code) & 0x3fffffff;
  }
  walkedHash = hash;
  return at;
}

function hashOf(source: string, start: number, end: number): number {
  let hash = source.charCodeAt(start);
  for (let at = start + 1; at < end; at++) hash = (Math.imul(hash, 31) + source.charCodeAt(at)) & 0x3fffffff;
  return hash;
}

function isPluralOfCapitals(source: string, at: number): boolean {
  return source[at] === "s" && (at + 1 === source.length || letterAt(source, at + 1) !== Letter.Lower);
}

function visitJoined(left: Indexed, right: Indexed, camel: boolean, visit: VisitWord): void {
  if (left.kind === "number" || right.kind === "number" || left.raw.length + right.raw.length > 24) return;
  // A brand may hold a stop word (YouTube) and a prefix be one letter (e-mail); a phrase with a stop word is no compound.
  if (!camel && left.raw.length > 1 && (left.word === "" || right.word === "")) return;
  visit(left.lower + (right.word === "" ? right.lower : right.word), "joined");
}

function visitDense(source: string, start: number, visit: VisitWord): number {
  let at = start;
  let before = "";
  let alone = true;
  const flush = (): void => {
    if (before !== "") visit(before, alone ? "word" : "part");
  };
  while (at < source.length && letterAt(source, at) === Letter.Dense) {
    const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
    at += character.length;
    if (isBindingCharacter(character)) {
      flush();
      before = "";
      alone = true;
      continue;
    }
    if (before !== "") {
      visit(before, "part");
      visit(before + character, "word");
      alone = false;
    }
    before = character;
  }
  flush();
  return at;
}

interface Indexed {
  readonly raw: string;
  readonly lower: string;
  /** "" for what is not indexed. */
  readonly word: string;
  readonly kind: WordKind;
  /** The letters before the digits of mp3 or side1, where they are a word. */
  readonly letters: string;
  /** Another word with the same hash. */
  readonly next: Indexed | undefined;
}

/**
 * Bounded memory of what raw words become, by hash: tool texts repeat a small vocabulary, and a word that is known
 * is not even cut out of its text.
 */
const remembered = new Map<number, Indexed>();
const rememberedLimit = 50_000;

function indexedAt(source: string, start: number, end: number, hash: number): Indexed {
  const first = remembered.get(hash);
  for (let known = first; known !== undefined; known = known.next) {
    if (isAt(source, start, end, known.raw)) return known;
  }
  const raw = source.slice(start, end);
  const lower = raw.toLowerCase();
  const letters = /^([^\d]{2,})\d/.exec(lower)?.[1] ?? "";
  const entry: Indexed = {
    raw,
    lower,
    word: significant(lower),
    kind: /^\d+$/.test(lower) ? "number" : "word",
    letters: letters === "" ? "" : significant(letters),
    next: first,
  };
  if (remembered.size >= rememberedLimit) remembered.clear();
  remembered.set(hash, entry);
  return entry;
}

/** By hand: the built-in startsWith costs more than all the rest of a look-up. */
function isAt(source: string, start: number, end: number, raw: string): boolean {
  if (raw.length !== end - start) return false;
  for (let at = 0; at < raw.length; at++) if (raw.charCodeAt(at) !== source.charCodeAt(start + at)) return false;
  return true;
}

function significant(lower: string): string {
  const dropped = isStopWord(lower) || (lower.length === 1 && lower >= "a" && lower <= "z") || lower.length > 64;
  return dropped ? "" : stem(lower);
}

const beyondAscii = /[^\x00-\x7f]/;

const undecomposed: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ß: "ss",
    ø: "o",
    Ø: "O",
    ł: "l",
    Ł: "L",
    đ: "d",
    Đ: "D",
    æ: "ae",
    Æ: "AE",
    œ: "oe",
    Œ: "OE",
    ı: "i",
  }),
);

function foldAccents(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f\u0640\u064b-\u065f]|[\u200b-\u200d]|[\ufe00-\ufe0f]/g, "")
    .normalize("NFC")
    .replace(/[ßøØłŁđĐæÆœŒı]/g, (letter) => undecomposed.get(letter) ?? letter);
}

const letters = new Uint8Array(0x10000);

function letterAt(source: string, at: number): Letter {
  const code = source.charCodeAt(at);
  const known = letters[code] as Letter;
  if (known !== Letter.Unknown) return known;
  const surrogate = code >= 0xd800 && code <= 0xdfff;
  const point = source.codePointAt(code >= 0xdc00 && code <= 0xdfff ? at - 1 : at);
  const letter = classify(String.fromCodePoint(point ?? code));
  if (!surrogate) letters[code] = letter;
  return letter;
}

const denseScript =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]/u;

function classify(character: string): Letter {
  if (/[_.\-‐‑'’]/.test(character)) return Letter.Joiner;
  if (/[a-z]/.test(character)) return Letter.Lower;
  if (/\p{Nd}/u.test(character)) return Letter.Digit;
  if (!/[\p{L}\p{M}\p{N}]/u.test(character)) return Letter.Separator;
  // Asked of ASCII too, the long class below would be compiled for texts that never need it.
  if (character > "\u007f" && denseScript.test(character)) return Letter.Dense;
  return /\p{Lu}/u.test(character) ? Letter.Upper : Letter.Lower;
}
