import type { NumberedLine } from "./output-buffer.ts";

/** Lines that say what went wrong, in the words of compilers, test runners and languages. */
const LOOKS_LIKE_ERROR =
  /\b(?:errors?|exceptions?|traceback|panic(?:ked)?|fatal|fail(?:ed|ure|ures|s)?|abort(?:ed)?|segmentation fault|undefined reference|cannot find|no such file|permission denied|not ok)\b|[A-Za-z](?:Error|Exception)\b|[✗✖✘❌]/i;
/** Parts of summaries that count no error. */
const SAYS_NONE =
  /\b(?:0|no|zero|without) (?:\w+ )?(?:errors?|fail\w*|exceptions?)\b|\b(?:errors?|fail\w*)\s*[:=]\s*0\b/gi;

const NEWLINE = 10;
/** What comes later in a very long output is not examined: it would cost too much time. */
const MAX_EXAMINED_BYTES = 32 * 1024 * 1024;
const MAX_LINE_BYTES = 2000;
/** How many of the first and of the last lines are kept. */
const KEPT = 40;

/** Collects lines that look like errors from an output that is too long to keep. */
export class ErrorLines {
  readonly #first: NumberedLine[] = [];
  readonly #last: NumberedLine[] = [];
  #line = 1;
  #bytes = 0;
  #unfinished: Buffer = Buffer.alloc(0);

  push(chunk: Buffer, newlines: number): void {
    const isExamined = this.#bytes < MAX_EXAMINED_BYTES;
    this.#bytes += chunk.length;
    if (isExamined) return this.#examine(chunk);
    this.#line += newlines;
    const end = chunk.lastIndexOf(NEWLINE);
    this.#unfinished = end < 0 ? Buffer.alloc(0) : Buffer.from(chunk.subarray(end + 1, end + 1 + MAX_LINE_BYTES));
  }

  /** In order; not all of them if there are many. */
  get lines(): readonly NumberedLine[] {
    return [...this.#first, ...this.#last];
  }

  #examine(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const rest = chunk.subarray(from, Math.min(end, from + MAX_LINE_BYTES));
      const bytes = this.#unfinished.length > 0 ? Buffer.concat([this.#unfinished, rest]) : rest;
      this.#take(bytes.toString());
      this.#unfinished = Buffer.alloc(0);
      this.#line++;
      from = end + 1;
    }
    if (this.#unfinished.length >= MAX_LINE_BYTES) return;
    this.#unfinished = Buffer.concat([this.#unfinished, chunk.subarray(from, from + MAX_LINE_BYTES)]);
  }

  #take(text: string): void {
    if (!LOOKS_LIKE_ERROR.test(text) || !LOOKS_LIKE_ERROR.test(text.replace(SAYS_NONE, ""))) return;
    const found = { number: this.#line, text };
    if (this.#first.length < KEPT) this.#first.push(found);
    else this.#last.push(found);
    if (this.#last.length > KEPT) this.#last.shift();
  }
}
