import { estimatedTokens } from "./estimated-tokens.ts";

/** A part of a text by lines. */
export interface TextWindow {
  text: string;
  firstLine: number;
  lastLine: number;
  totalLines: number;
  /** Where the text goes on; undefined at the end. */
  next?: { offset: number; column?: number };
}

/** Some lines of a text from `offset` (from 1), as many as fit; the first from `column` (from 1). */
export function windowOf(
  text: string,
  { offset = 1, column = 1, limit = Infinity, maxTokens }: WindowRange,
): TextWindow {
  const lines = text.split("\n");
  const first = Math.max(1, offset);
  const shown: string[] = [];
  let tokens = 0;
  for (let at = first; at <= lines.length && shown.length < limit; at++) {
    const line = (lines[at - 1] ?? "").slice(at === first ? column - 1 : 0);
    tokens += estimatedTokens.count(line) + 1;
    if (tokens > maxTokens) {
      if (shown.length > 0) break;
      const start = startWithin(line, maxTokens);
      const next = { offset: at, column: (at === first ? column : 1) + start.length };
      return { text: start, firstLine: first, lastLine: at, totalLines: lines.length, next };
    }
    shown.push(line);
  }
  const lastLine = first + shown.length - 1;
  const next = lastLine < lines.length && shown.length > 0 ? { offset: lastLine + 1 } : undefined;
  return { text: shown.join("\n"), firstLine: first, lastLine, totalLines: lines.length, next };
}

export interface WindowRange {
  offset?: number;
  column?: number;
  limit?: number;
  maxTokens: number;
}

/** The longest beginning with at most this many tokens, and at least one character. Never half of a surrogate pair. */
export function startWithin(text: string, maxTokens: number): string {
  // No text has more than eight characters per token in a length that matters here.
  let end = Math.min(text.length, maxTokens * 8);
  for (let count = countOf(text, end); count > maxTokens && end > 1; count = countOf(text, end)) {
    end = Math.max(1, Math.min(end - 1, Math.floor((end * maxTokens * 0.98) / count)));
  }
  const start = text.slice(0, end);
  return start.isWellFormed() || !text.isWellFormed() ? start : text.slice(0, end > 1 ? end - 1 : 2);
}

function countOf(text: string, end: number): number {
  return estimatedTokens.count(text.slice(0, end));
}
