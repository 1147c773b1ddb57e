/** A line of a text: where it starts, what it says, and the line end it carries ("" only on the last one). */
export interface Line {
  start: number;
  text: string;
  eol: string;
}

const BOM = "\uFEFF";

/**
 * Lines ended by LF, CRLF or a lone CR. A byte order mark belongs to no line, and a final line end starts no further
 * line, so that joining every line to its end gives the text back, its mark aside.
 */
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

/** The line end that stands at an offset, or "". */
export function lineEndAt(text: string, offset: number): "" | "\n" | "\r" | "\r\n" {
  const code = text.charCodeAt(offset);
  if (code === 10) return "\n";
  if (code !== 13) return "";
  return text.charCodeAt(offset + 1) === 10 ? "\r\n" : "\r";
}

/** The line numbers, from 1, of offsets given in ascending order; one pass up to the last of them. */
export function lineNumbersOf(text: string, offsets: readonly number[]): number[] {
  let line = 1;
  // Searching for the next line end is many times faster than looking at each character of a large file.
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

/** The most frequent line end, the earlier one on a tie; LF where there is none. */
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
