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

const KINDS = new Uint8Array(128).fill(MARK);
KINDS.fill(DIGIT, 0x30, 0x3a).fill(UPPER, 0x41, 0x5b).fill(LOWER, 0x61, 0x7b);
KINDS[0x20] = KINDS[0x09] = SPACE;
KINDS[0x0a] = KINDS[0x0d] = LINE_END;

/**
 * Without a tokenizer: within a fifth of o200k_base for prose, code, logs, JSON, Chinese, Japanese, Korean and base64.
 * A token is a word, up to three digits, or one or two other characters; the weights were fitted to such texts.
 */
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
      if (kind === LOWER || kind === UPPER) tokens += wordCost(length, { kind, before, after });
      else if (kind === DIGIT) tokens += Math.ceil(length / 3) + (before === SPACE ? 1 : 0);
      else if (kind === MARK) tokens += markCost(length, after);
      else if (kind === OTHER) tokens += otherCost(text.charCodeAt(at));
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

/** Letters beside digits, and short pieces of mixed case, are parts of hashes and of base64. */
function wordCost(length: number, { kind, before, after }: { kind: number; before: number; after: number }): number {
  const isCode =
    before === DIGIT ||
    after === DIGIT ||
    before === UPPER ||
    (length < 3 && (before === LOWER || (after === UPPER && kind === LOWER)));
  if (isCode) return Math.max(1, length / 1.9);
  return length <= 8 ? 1 : 1 + (length - 8) / 8;
}

function markCost(length: number, after: number): number {
  if (length > 8) return 1 + length / 16;
  // A single mark often joins the word after it.
  return length === 1 && (after === LOWER || after === UPPER) ? 0.6 : 0.5 + length * 0.4;
}

function otherCost(code: number): number {
  if (code < 0x2000) return 0.3;
  return code >= 0xac00 && code < 0xd7b0 ? 0.6 : 0.7;
}
