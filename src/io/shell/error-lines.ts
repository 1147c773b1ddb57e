import type { NumberedLine } from "./output-buffer.ts";

/** Lines that say what went wrong, in the words of compilers, test runners and languages. */
const LOOKS_LIKE_ERROR =
  /\b(?:errors?|exceptions?|traceback|panic(?:ked)?|fatal|fail(?:ed|ure|ures|s)?|abort(?:ed)?|segmentation fault|undefined reference|cannot find|no such file|permission denied|not ok)\b|[A-Za-z](?:Error|Exception)\b|[✗✖✘❌]/i;
/** Parts of summaries that count no error. */
const SAYS_NONE =
  /\b(?:0|no|zero|without) (?:\w+ )?(?:errors?|fail\w*|exceptions?)\b|\b(?:errors?|fail\w*)\s*[:=]\s*0\b/gi;

/** `LOOKS_LIKE_ERROR` for bytes as Latin-1, where the signs are several characters. */
const MAY_BE_ERROR = new RegExp(
  LOOKS_LIKE_ERROR.source.replace(/\[([^\]]+)\]$/, (_, signs: string) =>
    Array.from(signs, (sign) => Buffer.from(sign).toString("latin1")).join("|"),
  ),
  "gi",
);

const NEWLINE = 10;
/** What comes later in a very long output is not examined: it would cost too much time. */
const MAX_EXAMINED_BYTES = 32 * 1024 * 1024;
const MAX_EXAMINED_LINES = 20_000;
const MAX_LINE_BYTES = 2000;
/** How many of the first and of the last lines are kept. */
const KEPT = 40;

/** Collects lines that look like errors from an output that is too long to keep. */
export class ErrorLines {
  readonly #first: NumberedLine[] = [];
  readonly #last: NumberedLine[] = [];
  #line = 1;
  #bytes = 0;
  #found = 0;
  #unfinished: Buffer = Buffer.alloc(0);

  push(chunk: Buffer, newlines: number): void {
    const isExamined = this.#bytes < MAX_EXAMINED_BYTES && this.#found < MAX_EXAMINED_LINES;
    this.#bytes += chunk.length;
    const end = chunk.lastIndexOf(NEWLINE);
    if (isExamined && end >= 0) this.#examine(chunk, end);
    this.#line += newlines;
    const rest = chunk.subarray(end + 1, end + 1 + MAX_LINE_BYTES);
    if (end >= 0) this.#unfinished = Buffer.from(rest);
    else if (this.#unfinished.length < MAX_LINE_BYTES) this.#unfinished = Buffer.concat([this.#unfinished, rest]);
  }

  /** In order; not all of them if there are many. */
  get lines(): readonly NumberedLine[] {
    return [...this.#first, ...this.#last];
  }

  /** The lines up to `end`. Searches all of them at once: line by line, short lines would take seconds. */
  #examine(chunk: Buffer, end: number): void {
    const firstEnd = chunk.indexOf(NEWLINE);
    this.#take(Buffer.concat([this.#unfinished, chunk.subarray(0, Math.min(firstEnd, MAX_LINE_BYTES))]), this.#line);
    const searched = chunk.toString("latin1", 0, end);
    let line = this.#line;
    let counted = 0;
    MAY_BE_ERROR.lastIndex = firstEnd + 1;
    for (let hit = MAY_BE_ERROR.exec(searched); hit; hit = MAY_BE_ERROR.exec(searched)) {
      if (++this.#found > MAX_EXAMINED_LINES) return;
      const from = chunk.lastIndexOf(NEWLINE, hit.index) + 1;
      const to = chunk.indexOf(NEWLINE, hit.index);
      line += countNewlines(chunk.subarray(counted, from));
      counted = from;
      this.#take(chunk.subarray(from, Math.min(to, from + MAX_LINE_BYTES)), line);
      MAY_BE_ERROR.lastIndex = to + 1;
    }
  }

  #take(bytes: Buffer, number: number): void {
    const text = bytes.toString();
    if (!LOOKS_LIKE_ERROR.test(text) || !LOOKS_LIKE_ERROR.test(text.replace(SAYS_NONE, ""))) return;
    const found = { number, text };
    if (this.#first.length < KEPT) this.#first.push(found);
    else this.#last.push(found);
    if (this.#last.length > KEPT) this.#last.shift();
  }
}

const NO_WORDS = new Int32Array(0);

/** Four bytes at a time: this reads every byte of all output, and byte by byte it would take most of the run time. */
export function countNewlines(bytes: Uint8Array): number {
  const { length } = bytes;
  let count = 0;
  let at = 0;
  for (; at < length && (bytes.byteOffset + at) % 4 !== 0; at++) if (bytes[at] === NEWLINE) count++;
  // If the bytes end before the first word boundary, an Int32Array from there would throw.
  const words = length - at < 4 ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + at, (length - at) >> 2);
  for (let index = 0; index < words.length; index++) {
    // A byte of `other` is zero for a newline. Its top bit then stays clear and is counted.
    const other = (words[index] ?? 0) ^ 0x0a0a0a0a;
    const hits = ~(((other & 0x7f7f7f7f) + 0x7f7f7f7f) | other) & 0x80808080;
    count += Math.imul(hits >>> 7, 0x01010101) >>> 24;
  }
  for (at += words.length * 4; at < length; at++) if (bytes[at] === NEWLINE) count++;
  return count;
}
