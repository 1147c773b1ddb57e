import { errorMessage } from "../../core/error.ts";
import { countNewlines, ErrorLines } from "./error-lines.ts";

export type StreamName = "stdout" | "stderr";

export interface OutputOptions {
  /** Max memory, for all copies together. Default: 1 MiB. */
  maxBytes?: number;
  /** Also store each stream separately; the three copies then share `maxBytes`. */
  separateStreams?: boolean;
  /** Called when the output exceeds the memory; the sink then gets everything from the first byte. */
  openSpill?: OpenSpill;
  maxSpillBytes?: number;
}

/** A part of the output that was not read. */
export interface SkippedOutput {
  bytes: number;
  newlines: number;
}

export interface OutputText {
  /** The whole output if nothing is omitted; `tail` is empty then. */
  head: string;
  tail: string;
  /** Bytes between head and tail that memory no longer has. */
  omittedBytes: number;
  totalBytes: number;
}

export interface OutputSnapshot extends OutputText {
  totalLines: number;
  /** Lines that look like errors, after the beginning; not all of them if there are many. */
  errorLines: readonly NumberedLine[];
  spill: SpillState;
  stdout?: OutputText;
  stderr?: OutputText;
}

export interface OutputSince {
  /** Missing bytes are marked in the text. */
  text: string;
  /** Pass it to the next `since`. */
  cursor: number;
  /** Bytes after the old cursor that memory no longer has. */
  missedBytes: number;
}

export interface OutputBuffer {
  /** The chunk must not change afterwards. If a promise is returned, read nothing more before it resolves. */
  append(chunk: Buffer, stream?: StreamName): Promise<void> | undefined;
  /** Counts output that is neither kept nor spilled. */
  skip(part: SkippedOutput, stream: StreamName): void;
  readonly totalBytes: number;
  /** No more output will come. */
  readonly closed: boolean;
  /** Bytes received on this stream. */
  bytesOf(stream: StreamName): number;
  snapshot(): OutputSnapshot;
  since(cursor: number): OutputSince;
  /** Lines from `offset` (the first is 1). Default: the last `limit` lines. */
  lines(page: { offset?: number; limit: number }): LinePage;
  /** The listener is called after each append, without data: read with `since`. Returns the function to unsubscribe. */
  subscribe(listener: () => void): () => void;
  /** Writes everything to the spill although it fits in memory. Undefined if there is no spill or bytes are lost. */
  spillAll(): Promise<SpillState | undefined>;
  /** Accepts no more output. Resolves when the spill is complete. */
  close(): Promise<void>;
}

const DEFAULT_MAX_BYTES = 1024 * 1024;
const DEFAULT_MAX_SPILL_BYTES = 256 * 1024 * 1024;
const NEWLINE = 10;

/** Both streams in order of arrival. A character split over two chunks is held back until it is complete. */
export function createOutputBuffer(options: OutputOptions = {}): OutputBuffer {
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const all = createHeadTailBytes(options.separateStreams ? Math.floor(maxBytes / 2) : maxBytes);
  const separate = options.separateStreams
    ? { stdout: createHeadTailBytes(maxBytes >> 2), stderr: createHeadTailBytes(maxBytes >> 2) }
    : undefined;
  const unfinished: Record<StreamName, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  const received: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  const listeners = new Set<() => void>();
  const errors = new ErrorLines();
  let newlines = 0;
  let endsWithNewline = true;
  let spill: SpillWriter | undefined;
  let closed = false;

  function openSpill(): SpillWriter | undefined {
    if (!options.openSpill) return undefined;
    const writer = createSpillWriter(options.openSpill, options.maxSpillBytes ?? DEFAULT_MAX_SPILL_BYTES);
    void writer.write(Buffer.concat([all.head(), all.tail()]));
    return writer;
  }

  function store(bytes: Buffer, stream: StreamName): Promise<void> | undefined {
    if (bytes.length === 0) return undefined;
    if (!spill && !all.fits(bytes.length)) spill = openSpill();
    const pressure = spill?.write(bytes);
    all.push(bytes);
    separate?.[stream].push(bytes);
    const added = countNewlines(bytes);
    errors.push(bytes, added);
    newlines += added;
    endsWithNewline = bytes[bytes.length - 1] === NEWLINE;
    return pressure;
  }

  function notify(): void {
    // A copy: a listener that subscribes again during the call must wait for the next append.
    for (const listener of Array.from(listeners)) {
      try {
        listener();
      } catch {
        // A listener that throws must not stop the command.
      }
    }
  }

  return {
    append(chunk, stream = "stdout") {
      if (closed || chunk.length === 0) return undefined;
      received[stream] += chunk.length;
      const joined = unfinished[stream].length > 0 ? Buffer.concat([unfinished[stream], chunk]) : chunk;
      const whole = joined.length - unfinishedSuffix(joined);
      unfinished[stream] = Buffer.from(joined.subarray(whole));
      const pressure = store(joined.subarray(0, whole), stream);
      notify();
      return pressure;
    },
    skip({ bytes, newlines: skippedLines }, stream) {
      received[stream] += bytes;
      newlines += skippedLines;
      unfinished[stream] = Buffer.alloc(0);
      spill ??= openSpill();
      spill?.cut();
      for (const copy of [all, separate?.[stream]]) copy?.skip(bytes);
    },
    get totalBytes() {
      return all.totalBytes;
    },
    get closed() {
      return closed;
    },
    bytesOf: (stream) => received[stream],
    snapshot: () => ({
      ...textOf(all),
      totalLines: newlines + (endsWithNewline ? 0 : 1),
      errorLines: errors.lines,
      spill: spill?.state ?? { status: "none" },
      stdout: separate && textOf(separate.stdout),
      stderr: separate && textOf(separate.stderr),
    }),
    since: (cursor) => readSince(all, cursor),
    lines: (page) => pageOfLines({ ...textOf(all), totalLines: newlines + (endsWithNewline ? 0 : 1) }, page),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async spillAll() {
      if (!spill && all.omittedBytes === 0) spill = openSpill();
      if (spill && closed) await spill.close();
      return spill?.state;
    },
    async close() {
      if (closed) return;
      closed = true;
      for (const stream of ["stdout", "stderr"] as const) void store(unfinished[stream], stream);
      await spill?.close();
      notify();
    },
  };
}

function textOf(bytes: HeadTailBytes): OutputText {
  const { omittedBytes, totalBytes } = bytes;
  const head = bytes.head();
  const tail = bytes.tail();
  if (omittedBytes === 0) return { head: Buffer.concat([head, tail]).toString(), tail: "", omittedBytes, totalBytes };
  // The cut may fall inside a character: drop its bytes instead of showing replacement characters.
  return {
    head: head.subarray(0, head.length - unfinishedSuffix(head)).toString(),
    tail: tail.subarray(orphanedPrefix(tail)).toString(),
    omittedBytes,
    totalBytes,
  };
}

function readSince(bytes: HeadTailBytes, cursor: number): OutputSince {
  const total = bytes.totalBytes;
  const from = Math.max(0, Math.min(cursor, total));
  if (from === total) return { text: "", cursor: total, missedBytes: 0 };
  const head = bytes.head();
  const tail = bytes.tail();
  if (bytes.omittedBytes === 0) {
    return { text: Buffer.concat([head, tail]).subarray(from).toString(), cursor: total, missedBytes: 0 };
  }
  const tailFrom = total - tail.length;
  if (from >= tailFrom) return { text: tail.subarray(from - tailFrom).toString(), cursor: total, missedBytes: 0 };
  const before = head.subarray(Math.min(from, head.length), head.length - unfinishedSuffix(head)).toString();
  const missedBytes = tailFrom - Math.max(from, head.length);
  const after = tail.subarray(orphanedPrefix(tail)).toString();
  return { text: `${before}\n[… ${missedBytes} bytes omitted …]\n${after}`, cursor: total, missedBytes };
}

/** The first and last bytes of a stream, within a fixed budget. Both halves grow only as needed. */
export interface HeadTailBytes {
  push(chunk: Uint8Array): void;
  /** Bytes that follow here and are not kept. */
  skip(bytes: number): void;
  /** Whether `length` more bytes still fit without losing any. */
  fits(length: number): boolean;
  readonly totalBytes: number;
  readonly omittedBytes: number;
  /** A copy of the first bytes. */
  head(): Buffer;
  /** A copy of the last bytes, without those that are in the head. */
  tail(): Buffer;
}

const FIRST_ALLOCATION = 4096;

export function createHeadTailBytes(maxBytes: number): HeadTailBytes {
  let headMax = Math.floor(maxBytes / 2);
  const tailMax = maxBytes - headMax;
  let head: Buffer = Buffer.alloc(0);
  let headLength = 0;
  // A ring buffer: the oldest byte is at `tailStart`. It wraps only at its full size.
  let tail: Buffer = Buffer.alloc(0);
  let tailStart = 0;
  let tailLength = 0;
  let totalBytes = 0;

  function pushTail(chunk: Uint8Array): void {
    const end = chunk.length > tailMax ? chunk.subarray(chunk.length - tailMax) : chunk;
    tail = grown(tail, tailLength, Math.min(tailMax, tailLength + end.length), tailMax);
    const lost = Math.max(0, tailLength + end.length - tailMax);
    tailStart = (tailStart + lost) % tail.length;
    tailLength -= lost;
    const at = (tailStart + tailLength) % tail.length;
    const untilWrap = Math.min(end.length, tail.length - at);
    tail.set(end.subarray(0, untilWrap), at);
    tail.set(end.subarray(untilWrap), 0);
    tailLength += end.length;
  }

  return {
    push(chunk) {
      if (chunk.length === 0) return;
      totalBytes += chunk.length;
      const toHead = Math.min(chunk.length, headMax - headLength);
      if (toHead > 0) {
        head = grown(head, headLength, headLength + toHead, headMax);
        head.set(chunk.subarray(0, toHead), headLength);
        headLength += toHead;
      }
      if (toHead < chunk.length) pushTail(chunk.subarray(toHead));
    },
    skip(bytes) {
      totalBytes += bytes;
      headMax = headLength;
      tailStart = 0;
      tailLength = 0;
    },
    fits: (length) => totalBytes + length <= maxBytes,
    get totalBytes() {
      return totalBytes;
    },
    get omittedBytes() {
      return totalBytes - headLength - tailLength;
    },
    head: () => Buffer.from(head.subarray(0, headLength)),
    tail() {
      const untilWrap = Math.min(tailLength, tail.length - tailStart);
      return Buffer.concat([tail.subarray(tailStart, tailStart + untilWrap), tail.subarray(0, tailLength - untilWrap)]);
    },
  };
}

function grown(buffer: Buffer, used: number, needed: number, max: number): Buffer {
  if (needed <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafeSlow(Math.min(max, Math.max(needed, buffer.length * 2, FIRST_ALLOCATION)));
  buffer.copy(larger, 0, 0, used);
  return larger;
}

export interface NumberedLine {
  number: number;
  text: string;
}

export interface LinePage {
  lines: NumberedLine[];
  totalLines: number;
  /** Where the next page begins; undefined at the end. */
  nextOffset?: number;
  /** Lines of this page that memory no longer has, first and last. */
  missing?: { from: number; to: number };
}

interface StoredText {
  head: string;
  tail: string;
  omittedBytes: number;
  totalLines: number;
}

const CUT = "[… cut …]";

/** A page of numbered lines from head and tail. A line that was cut in the middle is marked. */
function pageOfLines(output: StoredText, page: { offset?: number; limit: number }): LinePage {
  const { totalLines } = output;
  const from = Math.max(1, page.offset ?? totalLines - page.limit + 1);
  const to = Math.min(totalLines, from + page.limit - 1);
  const stored = storedLines(output);
  const result: LinePage = { lines: stored.filter(({ number }) => number >= from && number <= to), totalLines };
  if (to < totalLines && to >= from) result.nextOffset = to + 1;
  // Line numbers increase by one except at the gap.
  const gapAt = stored.findIndex(({ number }, index) => number !== index + 1);
  const afterGap = stored[gapAt];
  if (afterGap && gapAt + 1 <= to && afterGap.number > from) {
    result.missing = { from: Math.max(gapAt + 1, from), to: Math.min(afterGap.number - 1, to) };
  }
  return result;
}

function storedLines({ head, tail, omittedBytes, totalLines }: StoredText): NumberedLine[] {
  const headLines = splitLines(head);
  const numbered = headLines.map((text, index) => ({ number: index + 1, text }));
  if (omittedBytes === 0) return numbered;
  const tailLines = splitLines(tail);
  const firstInTail = totalLines - tailLines.length + 1;
  const last = numbered[numbered.length - 1];
  if (last && !head.endsWith("\n")) last.text += CUT;
  tailLines.forEach((text, index) => {
    const number = firstInTail + index;
    // One line so long that its middle is missing: it begins in the head and ends in the tail.
    if (last && number <= last.number) last.text = last.text.endsWith(CUT) ? last.text + text : last.text + CUT + text;
    else numbered.push({ number, text: index === 0 ? CUT + text : text });
  });
  return numbered;
}

function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/** Receives output that does not fit in memory, for example a file. */
export interface SpillSink {
  /** May return how many bytes it took: if not all, it takes no more. */
  write(chunk: Buffer): void | Promise<number | void>;
  close(): Promise<{ ref: string }>;
}

type OpenSpill = () => SpillSink | Promise<SpillSink>;

/** A spill that failed or is full never fails the command; this reports it. */
export type SpillState =
  | { status: "none" }
  | { status: "open"; bytes: number }
  | { status: "closed"; ref: string; bytes: number; complete: boolean }
  | { status: "failed"; message: string };

interface SpillWriter {
  /** Accepts the chunk immediately. If a promise is returned, send nothing more before it resolves. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** What follows is not written. */
  cut(): void;
  close(): Promise<SpillState>;
  readonly state: SpillState;
}

const HIGH_WATER_BYTES = 256 * 1024;

/** Writes in order, one write at a time, and batches what arrives during a write. Writes at most `maxBytes`. */
export function createSpillWriter(open: OpenSpill, maxBytes: number): SpillWriter {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let accepted = 0;
  let complete = true;
  let sink: SpillSink | undefined;
  let writing: Promise<void> | undefined;
  let state: SpillState = { status: "open", bytes: 0 };

  async function writeWaiting(): Promise<void> {
    // `writing` must be set before this can clear it.
    await Promise.resolve();
    try {
      while (waiting.length > 0) {
        const batch = Buffer.concat(waiting);
        waiting = [];
        sink ??= await open();
        const taken = (await sink.write(batch)) ?? batch.length;
        waitingBytes -= batch.length;
        if (state.status === "open") state.bytes += taken;
        if (taken === batch.length) continue;
        complete = false;
        waiting = [];
        waitingBytes = 0;
      }
    } catch (error) {
      fail(error);
      await sink?.close().catch(() => undefined);
    }
    writing = undefined;
  }

  function fail(error: unknown): void {
    state = { status: "failed", message: errorMessage(error) };
    waiting = [];
    waitingBytes = 0;
  }

  return {
    write(chunk) {
      if (state.status !== "open" || !complete) return undefined;
      const room = maxBytes - accepted;
      const taken = chunk.length > room ? chunk.subarray(0, room) : chunk;
      complete = taken.length === chunk.length;
      accepted += taken.length;
      waiting.push(taken);
      waitingBytes += taken.length;
      writing ??= writeWaiting();
      return waitingBytes > HIGH_WATER_BYTES ? writing : undefined;
    },
    cut() {
      complete = false;
    },
    async close() {
      while (writing) await writing;
      if (state.status !== "open") return state;
      try {
        sink ??= await open();
        const { ref } = await sink.close();
        state = { status: "closed", ref, bytes: state.bytes, complete };
      } catch (error) {
        fail(error);
      }
      return state;
    },
    get state() {
      return state;
    },
  };
}

/** How many bytes at the end belong to an incomplete UTF-8 character (0 to 3). */
export function unfinishedSuffix(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes.at(-back) ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return sequenceLength(byte) > back ? back : 0;
  }
  return 0;
}

/** How many bytes at the start continue a UTF-8 character that began before them (0 to 3). */
export function orphanedPrefix(bytes: Uint8Array): number {
  let length = 0;
  while (length < 3 && length < bytes.length && ((bytes[length] ?? 0) & 0xc0) === 0x80) length++;
  return length;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0) return lead < 0xf0 ? 3 : 1;
  return lead >= 0xc2 ? 2 : 1;
}
