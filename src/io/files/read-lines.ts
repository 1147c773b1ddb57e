import { isUtf8 } from "node:buffer";
import { toolError } from "../../core/error.ts";
import { estimatedTokens } from "../../core/results/estimated-tokens.ts";
import { startWithin } from "../../core/results/text-window.ts";
import { BLOCK_BYTES, blockOfFeed, createTimeSlice, feedsSeen, type LineIndexes, totalLines } from "./line-index.ts";
import { readAll, type OpenFile } from "./open-file.ts";
import { decodeBytes, decodeText, detectBom, detectEncoding, type TextEncoding, visibleNul } from "./text-encoding.ts";

export interface ReadLinesOptions {
  /** The first line, counted from 1; 0 means 1. */
  offset?: number;
  limit?: number;
  /** The first character of the first line, counted from 1 in UTF-16 units. */
  column?: number;
  maxLineChars?: number;
  /** Max size of `whole`, in bytes of the file. Default: 0. */
  maxWholeBytes?: number;
  /** Max size of the result as UTF-8. Default: 50 KiB. */
  maxBytes?: number;
  /** Max tokens of the result with line numbers, as estimated. Default: no limit. */
  maxTokens?: number;
  /** Whether NUL is shown as a character that can be seen. Default: false. */
  showNul?: boolean;
  signal?: AbortSignal;
}

export interface LineWindow {
  /** Without line ends. */
  lines: string[];
  /** The same lines without the limit on their length, as far as `maxWholeBytes` allows. */
  whole: string[];
  firstLine: number;
  /** Less than `firstLine` if there is no such line. */
  lastLine: number;
  /** Null if counting them would require reading a large rest. */
  totalLines: number | null;
  /** The offset of the next page; null at the end of the file. */
  nextOffset: number | null;
  /** Lines that are incomplete in `lines`, with their full length in bytes and where they continue. */
  cut: CutLine[];
  /** Lines that are incomplete in `whole` too. */
  wholeCut: CutLine[];
  stoppedBy: "end" | "lines" | "bytes";
  encoding: TextEncoding;
}

export interface CutLine {
  line: number;
  bytes: number;
  nextColumn: number;
}

const HEAD_BYTES = 16 * 1024;
const STEP_BYTES = 64 * 1024;
const MIN_STEP_BYTES = 1024;
/** A rest up to this size is scanned to count the lines. */
const COUNT_AHEAD_BYTES = 4 * 1024 * 1024;
/** UTF-16 and UTF-32 files are decoded whole, so their size is limited. */
const MAX_WIDE_BYTES = 16 * 1024 * 1024;
/** What precedes a column is read and skipped. */
const MAX_COLUMN = 16 * 1024 * 1024;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** Of the number before a line, and of the line end. */
const LINE_NUMBER_TOKENS = 2;

/** Reads some lines of a file of any size. The memory used does not depend on the size. */
export async function readLines(
  file: OpenFile,
  indexes: LineIndexes,
  options: ReadLinesOptions = {},
): Promise<LineWindow> {
  const { limit = 2_000, column = 1, maxWholeBytes = 0, maxBytes = 50 * 1024, maxTokens = Infinity, signal } = options;
  // A caller that continues inside a line wants that line.
  const maxLineChars = options.maxLineChars ?? (column > 1 ? maxBytes : 2_000);
  if (column > MAX_COLUMN) {
    throw toolError("bad_range", `column is at most ${MAX_COLUMN}, got ${column}`, {
      next: "Use exec to read such a line, for example with cut -c.",
    });
  }
  const first = Math.max(1, Math.trunc(options.offset ?? 1));
  const budget = { maxLineChars, maxWholeBytes, maxBytes, maxTokens };
  const range = { first, limit, skip: column - 1, ...budget, signal, showNul: options.showNul ?? false };
  const head = Buffer.allocUnsafe(Math.min(HEAD_BYTES, file.info.size));
  const sample = head.subarray(0, file.readNow(head, 0));
  const bom = detectBom(sample);
  const encoding = bom?.encoding ?? detectEncoding(sample);
  return isWide(encoding)
    ? readWideLines(file, range)
    : readByteLines(file, indexes, { ...range, encoding, bomLength: bom?.length ?? 0 });
}

interface LineRange {
  first: number;
  limit: number;
  /** Characters of the first line that are left out. */
  skip: number;
  maxLineChars: number;
  maxWholeBytes: number;
  maxBytes: number;
  maxTokens: number;
  showNul: boolean;
  signal?: AbortSignal;
}

interface RawLine {
  /** The beginning, long enough for `maxLineChars`, and more if `maxWholeBytes` allows. */
  bytes: Buffer;
  length: number;
}

async function readByteLines(
  file: OpenFile,
  indexes: LineIndexes,
  range: LineRange & { encoding: TextEncoding; bomLength: number },
): Promise<LineWindow> {
  const { first, signal } = range;
  const index = indexes.of(file);
  await indexes.extend(index, file, { feeds: first - 1, signal });
  const exists = feedsSeen(index) >= first - 1;
  const start = exists ? lineStart(file, blockOfFeed(index, first - 1), first - 1) : file.info.size;
  const { raw, stoppedBy, end } = await collect(file, start === 0 ? range.bomLength : start, range);
  if (file.info.size - Math.max(index.bytesScanned, end) <= COUNT_AHEAD_BYTES)
    await indexes.extend(index, file, { signal });
  return toWindow(raw, {
    ...range,
    encoding: encodingOf(raw, range.encoding),
    stoppedBy,
    totalLines: totalLines(index),
  });
}

/** The byte after the n-th line feed. */
function lineStart(
  file: OpenFile,
  { block, feedsBefore }: { block: number; feedsBefore: number },
  feeds: number,
): number {
  if (feeds === 0) return 0;
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  let position = block * BLOCK_BYTES;
  for (let left = feeds - feedsBefore; ;) {
    const bytes = buffer.subarray(0, file.readNow(buffer, position));
    if (bytes.length === 0) return position;
    for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
      left -= 1;
      if (left === 0) return position + at + 1;
    }
    position += bytes.length;
  }
}

async function collect(file: OpenFile, start: number, range: LineRange) {
  const { limit, skip, maxLineChars, maxWholeBytes, maxBytes, signal } = range;
  // No encoding uses more than four bytes for a character.
  const shownBytes = maxLineChars * 4 + 4;
  let wholeBytes = maxWholeBytes;
  let maxStored = Math.max(shownBytes, wholeBytes) + skip * 4;
  const raw: RawLine[] = [];
  const buffer = Buffer.allocUnsafe(Math.min(STEP_BYTES, Math.max(MIN_STEP_BYTES, file.info.size - start)));
  let position = start;
  let stored: Buffer[] = [];
  let storedBytes = 0;
  let length = 0;
  let resultBytes = 0;
  const nextSlice = createTimeSlice(signal);
  const append = (bytes: Buffer) => {
    // Copied, because the buffer is reused.
    if (storedBytes < maxStored) stored.push(Buffer.from(bytes.subarray(0, maxStored - storedBytes)));
    storedBytes = Math.min(maxStored, storedBytes + bytes.length);
    length += bytes.length;
  };
  const finish = () => {
    raw.push({ bytes: stored.length === 1 && stored[0] ? stored[0] : Buffer.concat(stored), length });
    // A lower bound: a character takes at least one byte in the result.
    resultBytes += Math.min(length, maxLineChars) + 1;
    wholeBytes -= Math.min(length, wholeBytes);
    maxStored = Math.max(shownBytes, wholeBytes);
    stored = [];
    storedBytes = 0;
    length = 0;
  };
  while (raw.length < limit && resultBytes <= maxBytes) {
    await nextSlice();
    const bytes = buffer.subarray(0, file.readNow(buffer, position));
    if (bytes.length === 0) {
      if (length > 0) finish();
      return { raw, stoppedBy: "end" as const, end: position };
    }
    let from = 0;
    for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, from)) {
      append(bytes.subarray(from, at));
      finish();
      from = at + 1;
      if (raw.length === limit || resultBytes > maxBytes) break;
    }
    if (raw.length < limit && resultBytes <= maxBytes) {
      append(bytes.subarray(from));
      from = bytes.length;
    }
    position += from;
  }
  const more = file.readNow(buffer.subarray(0, 1), position) > 0;
  return {
    raw,
    stoppedBy: more ? (raw.length === limit ? ("lines" as const) : ("bytes" as const)) : ("end" as const),
    end: position,
  };
}

function toWindow(
  raw: readonly RawLine[],
  range: LineRange & { encoding: TextEncoding; stoppedBy: LineWindow["stoppedBy"]; totalLines: number | null },
): LineWindow {
  const lines: string[] = [];
  const whole: string[] = [];
  const cut: CutLine[] = [];
  const wholeCut: CutLine[] = [];
  let { stoppedBy } = range;
  let resultBytes = 0;
  let tokens = 0;
  let wholeLeft = range.maxWholeBytes;
  for (const { bytes, length } of raw) {
    const isComplete = bytes.length === length;
    const ended = isComplete && bytes[length - 1] === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes;
    const skip = lines.length === 0 ? range.skip : 0;
    const part = isComplete ? ended : withoutPartialCharacter(ended, range.encoding);
    const decoded = decodeBytes(part, range.encoding).slice(skip);
    const available = range.showNul ? visibleNul(decoded) : decoded;
    let { text, isCut } = cutAt(available, range.maxLineChars);
    resultBytes += Buffer.byteLength(text) + 1;
    if (range.maxTokens !== Infinity) tokens += estimatedTokens.count(text) + LINE_NUMBER_TOKENS;
    // Of the first line at least a part is returned, so the next call can continue after it.
    const isTooLong = resultBytes > range.maxBytes || tokens > range.maxTokens;
    if (isTooLong && lines.length === 0) {
      const start = startWithin(cutAt(text, range.maxBytes).text, range.maxTokens);
      isCut ||= start.length < text.length;
      text = start;
    } else if (isTooLong) {
      stoppedBy = "bytes";
      break;
    }
    const line = range.first + lines.length;
    const longer = cutAt(available, Math.max(range.maxLineChars, wholeLeft));
    wholeLeft -= Math.min(wholeLeft, longer.text.length);
    lines.push(text);
    whole.push(longer.text);
    if (isCut || !isComplete) cut.push({ line, bytes: length, nextColumn: skip + text.length + 1 });
    if (longer.isCut || !isComplete) {
      wholeCut.push({ line, bytes: length, nextColumn: skip + longer.text.length + 1 });
    }
  }
  const lastLine = range.first + lines.length - 1;
  return {
    lines,
    whole,
    firstLine: range.first,
    lastLine,
    totalLines: range.totalLines,
    nextOffset: stoppedBy === "end" ? null : lastLine + 1,
    cut,
    wholeCut,
    stoppedBy,
    encoding: range.encoding,
  };
}

async function readWideLines(file: OpenFile, range: LineRange): Promise<LineWindow> {
  const bytes = await readAll(file, { maxBytes: MAX_WIDE_BYTES, signal: range.signal });
  if (bytes === null) {
    throw toolError("too_large", `The file is UTF-16 or UTF-32 text of more than ${MAX_WIDE_BYTES} bytes`, {
      next: "Convert it to UTF-8 in a copy, then read the copy.",
    });
  }
  const { text, encoding, finalNewline } = decodeText(bytes);
  const all = text.split("\n");
  if (finalNewline || text === "") all.pop();
  const window = all.slice(range.first - 1, range.first - 1 + range.limit);
  const raw = window.map((line) => ({ bytes: Buffer.from(line), length: Buffer.byteLength(line) }));
  const stoppedBy = range.first - 1 + window.length < all.length ? "lines" : "end";
  return { ...toWindow(raw, { ...range, encoding: "utf-8", stoppedBy, totalLines: all.length }), encoding };
}

/** A plain ASCII beginning says nothing about later lines, so they are checked again. */
function encodingOf(raw: readonly RawLine[], encoding: TextEncoding): TextEncoding {
  if (encoding !== "utf-8") return encoding;
  const invalid = raw.find(({ bytes, length }) => bytes.length === length && !isUtf8(bytes));
  return invalid === undefined ? encoding : detectEncoding(Buffer.concat(raw.map(({ bytes }) => bytes)));
}

/** The bytes end anywhere: a character of which only a part is there is left out. */
function withoutPartialCharacter(bytes: Buffer, encoding: TextEncoding): Buffer {
  if (encoding !== "utf-8") return bytes;
  let end = bytes.length;
  while (end > 0 && bytes.length - end < 4 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1;
  const lead = bytes[end - 1] ?? 0;
  const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return bytes.length - end + 1 < needed ? bytes.subarray(0, end - 1) : bytes;
}

function cutAt(text: string, max: number): { text: string; isCut: boolean } {
  if (text.length <= max) return { text, isCut: false };
  const splitsPair = (text.codePointAt(max - 1) ?? 0) > 0xffff;
  return { text: text.slice(0, splitsPair ? max - 1 : max), isCut: true };
}

function isWide(encoding: TextEncoding): boolean {
  return encoding.startsWith("utf-16") || encoding.startsWith("utf-32");
}
