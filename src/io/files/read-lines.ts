import { isUtf8 } from "node:buffer";
import { toolError } from "../../core/error.ts";
import { BLOCK_BYTES, blockOfFeed, createTimeSlice, feedsSeen, type LineIndexes, totalLines } from "./line-index.ts";
import { readAll, type OpenFile } from "./open-file.ts";
import { decodeBytes, decodeText, detectBom, detectEncoding, type TextEncoding } from "./text-encoding.ts";

export interface ReadLinesOptions {
  /** The first line wanted, from 1; 0 is taken for 1. */
  offset?: number;
  limit?: number;
  maxLineChars?: number;
  /** Of the answer, as UTF-8. */
  maxBytes?: number;
  signal?: AbortSignal;
}

export interface LineWindow {
  /** Without their line ends. */
  lines: string[];
  firstLine: number;
  /** Below `firstLine` when there is no such line. */
  lastLine: number;
  /** Null where counting them would mean reading a large rest. */
  totalLines: number | null;
  /** Where to go on; null at the end of the file. */
  nextOffset: number | null;
  /** Lines of which only the beginning is given, with their whole length in bytes. */
  cut: { line: number; bytes: number }[];
  stoppedBy: "end" | "lines" | "bytes";
  encoding: TextEncoding;
}

const HEAD_BYTES = 16 * 1024;
const STEP_BYTES = 64 * 1024;
/** A rest up to this size is counted, so that the answer can say how many lines there are. */
const COUNT_AHEAD_BYTES = 4 * 1024 * 1024;
/** UTF-16 and UTF-32 are decoded as a whole, which this bounds. */
const MAX_WIDE_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Some lines of a file of any size, in memory that does not depend on it. */
export async function readLines(
  file: OpenFile,
  indexes: LineIndexes,
  options: ReadLinesOptions = {},
): Promise<LineWindow> {
  const { limit = 2_000, maxLineChars = 2_000, maxBytes = 50 * 1024, signal } = options;
  const wanted = { first: Math.max(1, Math.trunc(options.offset ?? 1)), limit, maxLineChars, maxBytes, signal };
  const head = Buffer.allocUnsafe(Math.min(HEAD_BYTES, file.info.size));
  const sample = head.subarray(0, file.readNow(head, 0));
  const bom = detectBom(sample);
  const encoding = bom?.encoding ?? detectEncoding(sample);
  return isWide(encoding)
    ? readWideLines(file, wanted)
    : readByteLines(file, indexes, { ...wanted, encoding, bomLength: bom?.length ?? 0 });
}

interface Wanted {
  first: number;
  limit: number;
  maxLineChars: number;
  maxBytes: number;
  signal?: AbortSignal;
}

interface RawLine {
  /** The beginning, long enough for the characters wanted. */
  bytes: Buffer;
  length: number;
}

async function readByteLines(
  file: OpenFile,
  indexes: LineIndexes,
  wanted: Wanted & { encoding: TextEncoding; bomLength: number },
): Promise<LineWindow> {
  const { first, signal } = wanted;
  const index = indexes.of(file);
  await indexes.extend(index, file, { feeds: first - 1, signal });
  const exists = feedsSeen(index) >= first - 1;
  const start = exists ? lineStart(file, blockOfFeed(index, first - 1), first - 1) : file.info.size;
  const { raw, stoppedBy, end } = await collect(file, start === 0 ? wanted.bomLength : start, wanted);
  if (file.info.size - Math.max(index.bytesScanned, end) <= COUNT_AHEAD_BYTES)
    await indexes.extend(index, file, { signal });
  return present(raw, {
    ...wanted,
    encoding: encodingOf(raw, wanted.encoding),
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

async function collect(file: OpenFile, start: number, { limit, maxLineChars, maxBytes, signal }: Wanted) {
  // No encoding here takes more than four bytes for a character.
  const keep = maxLineChars * 4 + 4;
  const raw: RawLine[] = [];
  const buffer = Buffer.allocUnsafe(STEP_BYTES);
  let position = start;
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let length = 0;
  let answerBytes = 0;
  const nextSlice = createTimeSlice(signal);
  const append = (bytes: Buffer) => {
    // Copied, because the buffer is used again.
    if (keptBytes < keep) kept.push(Buffer.from(bytes.subarray(0, keep - keptBytes)));
    keptBytes = Math.min(keep, keptBytes + bytes.length);
    length += bytes.length;
  };
  const finish = () => {
    raw.push({ bytes: kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept), length });
    // At least: what a character takes in the answer is never less than one byte.
    answerBytes += Math.min(length, maxLineChars) + 1;
    kept = [];
    keptBytes = 0;
    length = 0;
  };
  while (raw.length < limit && answerBytes <= maxBytes) {
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
      if (raw.length === limit || answerBytes > maxBytes) break;
    }
    if (raw.length < limit && answerBytes <= maxBytes) {
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

function present(
  raw: readonly RawLine[],
  wanted: Wanted & { encoding: TextEncoding; stoppedBy: LineWindow["stoppedBy"]; totalLines: number | null },
): LineWindow {
  const lines: string[] = [];
  const cut: LineWindow["cut"] = [];
  let { stoppedBy } = wanted;
  let answerBytes = 0;
  for (const { bytes, length } of raw) {
    const whole = bytes.length === length;
    const ended = whole && bytes[length - 1] === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes;
    const text = cutAt(decodeBytes(ended, wanted.encoding), wanted.maxLineChars);
    answerBytes += Buffer.byteLength(text.kept) + 1;
    // The first line is always given, or no call could get past it.
    if (answerBytes > wanted.maxBytes && lines.length > 0) {
      stoppedBy = "bytes";
      break;
    }
    lines.push(text.kept);
    if (text.isCut || !whole) cut.push({ line: wanted.first + lines.length - 1, bytes: length });
  }
  const lastLine = wanted.first + lines.length - 1;
  return {
    lines,
    firstLine: wanted.first,
    lastLine,
    totalLines: wanted.totalLines,
    nextOffset: stoppedBy === "end" ? null : lastLine + 1,
    cut,
    stoppedBy,
    encoding: wanted.encoding,
  };
}

async function readWideLines(file: OpenFile, wanted: Wanted): Promise<LineWindow> {
  const bytes = await readAll(file, { maxBytes: MAX_WIDE_BYTES, signal: wanted.signal });
  if (bytes === null) {
    throw toolError("too_large", `The file is UTF-16 or UTF-32 text of more than ${MAX_WIDE_BYTES} bytes`, {
      next: "Convert it to UTF-8 in a copy, then read the copy.",
    });
  }
  const { text, encoding, finalNewline } = decodeText(bytes);
  const all = text.split("\n");
  if (finalNewline || text === "") all.pop();
  const window = all.slice(wanted.first - 1, wanted.first - 1 + wanted.limit);
  const raw = window.map((line) => ({ bytes: Buffer.from(line), length: Buffer.byteLength(line) }));
  const stoppedBy = wanted.first - 1 + window.length < all.length ? "lines" : "end";
  return { ...present(raw, { ...wanted, encoding: "utf-8", stoppedBy, totalLines: all.length }), encoding };
}

/** A head of plain ASCII says nothing about a window further on. */
function encodingOf(raw: readonly RawLine[], encoding: TextEncoding): TextEncoding {
  if (encoding !== "utf-8") return encoding;
  const odd = raw.find(({ bytes, length }) => bytes.length === length && !isUtf8(bytes));
  return odd === undefined ? encoding : detectEncoding(Buffer.concat(raw.map(({ bytes }) => bytes)));
}

function cutAt(text: string, max: number): { kept: string; isCut: boolean } {
  if (text.length <= max) return { kept: text, isCut: false };
  const splitsPair = (text.codePointAt(max - 1) ?? 0) > 0xffff;
  return { kept: text.slice(0, splitsPair ? max - 1 : max), isCut: true };
}

function isWide(encoding: TextEncoding): boolean {
  return encoding.startsWith("utf-16") || encoding.startsWith("utf-32");
}
