import { countNewlines } from "./count-newlines.ts";
import { createHeadTailBytes } from "./head-tail-bytes.ts";
import type { HeadTailBytes } from "./head-tail-bytes.ts";
import { pageOfLines } from "./page-of-lines.ts";
import type { LinePage } from "./page-of-lines.ts";
import { createSpillWriter } from "./spill.ts";
import type { OpenSpill, SpillState, SpillWriter } from "./spill.ts";
import { orphanedPrefix, unfinishedSuffix } from "./utf8-boundary.ts";

export type StreamName = "stdout" | "stderr";

export interface OutputOptions {
  /** Memory for all copies together. */
  maxBytes?: number;
  /** Also keep each stream by itself; the three copies then share `maxBytes`. */
  separateStreams?: boolean;
  /** Called when memory no longer holds everything; the sink then gets everything from the first byte. */
  openSpill?: OpenSpill;
  maxSpillBytes?: number;
}

export interface OutputText {
  /** All of the output while nothing is omitted, and then `tail` is empty. */
  head: string;
  tail: string;
  /** Bytes between head and tail that memory no longer has. */
  omittedBytes: number;
  totalBytes: number;
}

export interface OutputSnapshot extends OutputText {
  totalLines: number;
  spill: SpillState;
  stdout?: OutputText;
  stderr?: OutputText;
}

export interface OutputSince {
  /** A gap is marked in the text where it is. */
  text: string;
  /** Give it to the next `since`. */
  cursor: number;
  /** Bytes after the old cursor that memory no longer has. */
  missedBytes: number;
}

export interface OutputBuffer {
  /** The chunk must not change afterwards. A returned promise means: read nothing more before it resolves. */
  append(chunk: Buffer, stream?: StreamName): Promise<void> | undefined;
  readonly totalBytes: number;
  /** No more output will come. */
  readonly closed: boolean;
  /** Bytes that came on this stream. */
  bytesOf(stream: StreamName): number;
  snapshot(): OutputSnapshot;
  since(cursor: number): OutputSince;
  /** Lines from `offset` (the first is 1; absent: the last `limit` lines). */
  lines(page: { offset?: number; limit: number }): LinePage;
  /** Called after each append, with nothing: read at your own pace with `since`. Returns how to stop. */
  subscribe(listener: () => void): () => void;
  /** Sends everything to the spill although it fits in memory. Undefined where there is none or bytes are lost. */
  spillAll(): Promise<SpillState | undefined>;
  /** Nothing is taken any more; resolves when the spill is complete. */
  close(): Promise<void>;
}

const DEFAULT_MAX_BYTES = 1024 * 1024;
const DEFAULT_MAX_SPILL_BYTES = 256 * 1024 * 1024;
const NEWLINE = 10;

/** Both streams in order of arrival. A character whose bytes come in two chunks is held back until it is whole. */
export function createOutputBuffer(options: OutputOptions = {}): OutputBuffer {
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const all = createHeadTailBytes(options.separateStreams ? Math.floor(maxBytes / 2) : maxBytes);
  const separate = options.separateStreams
    ? { stdout: createHeadTailBytes(maxBytes >> 2), stderr: createHeadTailBytes(maxBytes >> 2) }
    : undefined;
  const unfinished: Record<StreamName, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  const received: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  const listeners = new Set<() => void>();
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

  function keep(bytes: Buffer, stream: StreamName): Promise<void> | undefined {
    if (bytes.length === 0) return undefined;
    if (!spill && !all.fits(bytes.length)) spill = openSpill();
    const pressure = spill?.write(bytes);
    all.push(bytes);
    separate?.[stream].push(bytes);
    newlines += countNewlines(bytes);
    endsWithNewline = bytes[bytes.length - 1] === NEWLINE;
    return pressure;
  }

  function notify(): void {
    // A copy: one that subscribes anew when called must wait for the next time.
    for (const listener of Array.from(listeners)) {
      try {
        listener();
      } catch {
        // A reader that throws must not stop the command.
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
      const pressure = keep(joined.subarray(0, whole), stream);
      notify();
      return pressure;
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
      spill: spill?.state ?? { status: "none" },
      ...(separate && { stdout: textOf(separate.stdout), stderr: textOf(separate.stderr) }),
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
      for (const stream of ["stdout", "stderr"] as const) void keep(unfinished[stream], stream);
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
  // The cut may fall inside a character: its pieces are dropped rather than shown as replacement characters.
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
  return { text: `${before}\n[… ${missedBytes} bytes not kept …]\n${after}`, cursor: total, missedBytes };
}
