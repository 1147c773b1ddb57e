import { toolError } from "../../core/error.ts";

export interface TextPage {
  text: string;
  /** In characters of the whole. */
  start: number;
  /** Where the next page begins; absent on the last one. */
  next?: number;
  firstLine: number;
  lastLine: number;
  lines: number;
}

/** A part of a text that ends with a line where it can; every character is on some page, however long its line is. */
export function takePage(
  whole: string,
  { line, offset, limit }: { line?: number | undefined; offset?: number | undefined; limit: number },
): TextPage {
  if (line !== undefined && offset !== undefined) {
    throw toolError("invalid_input", "Both `line` and `offset` say where to begin", { next: "Send one of them." });
  }
  const lines = countLines(whole, whole.length);
  const start = offset ?? startOfLine(whole, line ?? 1, lines);
  if (start > whole.length) {
    throw toolError("bad_range", `The text has ${whole.length} characters, and none at offset ${start}`, {
      next: "Begin earlier.",
    });
  }
  const end = endOfPage(whole, start, limit);
  return {
    text: whole.slice(start, end),
    start,
    ...(end < whole.length ? { next: end } : {}),
    firstLine: countLines(whole, start),
    lastLine: countLines(whole, Math.max(start, end - 1)),
    lines,
  };
}

function endOfPage(whole: string, start: number, limit: number): number {
  const max = start + limit;
  if (max >= whole.length) return whole.length;
  const lineEnd = whole.lastIndexOf("\n", max - 1) + 1;
  if (lineEnd > start) return lineEnd;
  // Not between the halves of one character, unless there is room for a half only.
  const isHalf = /[\ud800-\udbff]/.test(whole[max - 1]!) && limit > 1;
  return isHalf ? max - 1 : max;
}

function startOfLine(whole: string, line: number, lines: number): number {
  if (line > lines) {
    throw toolError("bad_range", `The text has ${lines} ${lines === 1 ? "line" : "lines"}, and no line ${line}`, {
      next: "Begin earlier.",
    });
  }
  let start = 0;
  for (let at = 1; at < line; at += 1) start = whole.indexOf("\n", start) + 1;
  return start;
}

/** The number of the line that `end` is in; a text that ends with a line end has no line after it. */
function countLines(text: string, end: number): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < end && at < text.length - 1; at = text.indexOf("\n", at + 1)) {
    lines += 1;
  }
  return lines;
}
