import type { TokenCounter } from "../content.ts";

/** What one result may cost a model's context, as estimated. About 47 KB of prose or code, 26 KB of a log. */
export const DEFAULT_RESULT_TOKENS = 12_000;

const SPACE = 1;
const LINE_END = 2;
const DIGIT = 3;
const LOWER = 4;
const UPPER = 5;
const MARK = 6;
const OTHER = 7;

/** Bits of the letters, from a. */
const lettersOf = (letters: string): number =>
  [...letters].reduce((bits, l) => bits | (1 << (l.charCodeAt(0) - 0x61)), 0);
const VOWELS = lettersOf("aeiouy");
const RARE = lettersOf("jqxz");

/** Runs of letters above it are sequences, not words. */
const MAX_WORD_LENGTH = 40;
/** Final consonants of most Korean syllables. Syllables with others have no token of their own. */
const COMMON_FINALS = new Set([0, 1, 4, 6, 8, 16, 17, 19, 20, 21]);

const KINDS = new Uint8Array(128).fill(MARK);
KINDS.fill(DIGIT, 0x30, 0x3a).fill(UPPER, 0x41, 0x5b).fill(LOWER, 0x61, 0x7b);
KINDS[0x20] = KINDS[0x09] = SPACE;
KINDS[0x0a] = KINDS[0x0d] = LINE_END;

/** Without a tokenizer: within a fifth of o200k_base for prose, code, logs, JSON, Chinese, Japanese, Korean, base64. */
export const estimatedTokens: TokenCounter = {
  name: "estimate",
  count(text) {
    let tokens = 0;
    let before = 0;
    for (let at = 0; at < text.length;) {
      const kind = kindAt(text, at);
      const end = runEnd(text, at, kind);
      const after = kindAt(text, end);
      const length = end - at;
      if (kind === LOWER || kind === UPPER) tokens += wordCost(text, { at, end, kind, before, after });
      else if (kind === DIGIT) tokens += Math.ceil(length / 3) + (before === SPACE ? 1 : 0);
      else if (kind === MARK) tokens += markCost(text, { at, end, after });
      else if (kind === OTHER) tokens += otherCost(text, at);
      else if (length > 1) tokens += 1 + length / 64;
      else if (kind === LINE_END) tokens += before === MARK ? 0.5 : 1;
      // A longer run of spaces is a token of its own, also before a number.
      before = kind === SPACE && length > 1 ? 0 : kind;
      at = end;
    }
    return Math.ceil(tokens);
  },
};

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  // NaN after the end.
  return code < 128 ? (KINDS[code] ?? 0) : code >= 128 ? OTHER : 0;
}

function runEnd(text: string, at: number, kind: number): number {
  let end = at + 1;
  if (kind === OTHER) return end;
  if (kind <= LINE_END) {
    for (let next = kindAt(text, end); next === SPACE || next === LINE_END; next = kindAt(text, end)) end++;
    return end;
  }
  while (kindAt(text, end) === kind) end++;
  // A word may begin with a capital.
  if (kind === UPPER && end - at === 1) while (kindAt(text, end) === LOWER) end++;
  return end;
}

/** Letters beside digits, and short pieces of mixed case, are parts of hashes and of base64. A line of one letter is cheap. */
function wordCost(text: string, { at, end, kind, before, after }: Run & { kind: number; before: number }): number {
  const length = end - at;
  const isCode =
    before === DIGIT ||
    after === DIGIT ||
    before === UPPER ||
    (length < 3 && (before === LOWER || (after === UPPER && kind === LOWER)));
  if (isCode) return Math.max(1, length / 1.9);
  if (length < 5) return 1;
  if (length > MAX_WORD_LENGTH && changesIn(text, at, end) * 8 < length) return length / 8;
  if (!isPronounceable(text, at, end)) return length / 1.9;
  return length <= 8 ? 1 : 1 + (length - 8) / 6;
}

interface Run {
  at: number;
  end: number;
  after: number;
}

/** Words have vowels among their letters, and few consonants in a row. Random letters and sequences have not. */
function isPronounceable(text: string, at: number, end: number): boolean {
  let vowels = 0;
  let rare = 0;
  let row = 0;
  let longest = 0;
  for (let i = at; i < end; i++) {
    const code = text.charCodeAt(i) | 0x20;
    const isVowel = (VOWELS >> (code - 0x61)) & 1;
    if (isVowel) {
      vowels++;
      row = 0;
    } else if (++row > longest) longest = row;
    rare += (RARE >> (code - 0x61)) & 1;
  }
  const length = end - at;
  return longest < (length > 12 ? 7 : 5) && vowels * 7 > length && rare * 4 <= length && length <= MAX_WORD_LENGTH;
}

/** A line of one mark is few tokens, a long mix of marks many. */
function markCost(text: string, { at, end, after }: Run): number {
  const length = end - at;
  // A single mark often joins the word after it.
  if (length <= 8) return length === 1 && (after === LOWER || after === UPPER) ? 0.6 : 0.5 + length * 0.4;
  return Math.max(1 + length / 16, changesIn(text, at, end) * 0.7);
}

/** How often a character differs from the one before it. */
function changesIn(text: string, at: number, end: number): number {
  let changes = 0;
  for (let i = at + 1; i < end; i++) if (text.charCodeAt(i) !== text.charCodeAt(i - 1)) changes++;
  return changes;
}

function otherCost(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 0x0f00) return 0.3;
  if (code < 0x2000) return 1;
  // Lines of tables.
  if (code >= 0x2070 && code < 0x2e80) return code === text.charCodeAt(at - 1) ? 0.15 : 1.6;
  if (code >= 0xa000 && code < 0xac00) return 3;
  if (code >= 0xac00 && code < 0xd7b0) return COMMON_FINALS.has((code - 0xac00) % 28) ? 0.6 : 2.8;
  return code >= 0xd800 && code < 0xe000 ? 1 : 0.7;
}
