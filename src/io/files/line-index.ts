import { BoundedMap } from "../../core/bounded-map.ts";
import type { OpenFile } from "./open-file.ts";

export const BLOCK_BYTES = 256 * 1024;
const MAX_INDEXES = 32;

/** The number of line feeds before each block of a file, as far as it was scanned. */
export interface LineIndex {
  /** One entry more than scanned blocks. */
  readonly feeds: number[];
  bytesScanned: number;
  complete: boolean;
  /** The last scanned byte: a last line without a line feed is a line, too. */
  lastByte: number;
}

export interface LineIndexes {
  of(file: OpenFile): LineIndex;
  /** Continues the scan until this many line feeds or bytes, or to the end. */
  extend(
    index: LineIndex,
    file: OpenFile,
    until: { feeds?: number; bytes?: number; signal?: AbortSignal },
  ): Promise<void>;
}

/** Caches the indexes of recently read files. An index is valid while the stamp of its file is unchanged. */
export function createLineIndexes(): LineIndexes {
  const known = new BoundedMap<string, { stamp: string; index: LineIndex }>(MAX_INDEXES);
  // Shared by all scans: filling and counting a block is synchronous.
  let counter: NewlineCounter | undefined;
  return {
    of: (file) => {
      const { real, stamp } = file.info;
      const last = known.get(real);
      const index =
        last?.stamp === stamp ? last.index : { feeds: [0], bytesScanned: 0, complete: false, lastByte: LINE_FEED };
      known.set(real, { stamp, index });
      return index;
    },
    extend: async (index, file, { feeds = Infinity, bytes = Infinity, signal }) => {
      counter ??= createNewlineCounter(BLOCK_BYTES);
      const nextSlice = createTimeSlice(signal);
      while (!index.complete && feedsSeen(index) < feeds && index.bytesScanned < bytes) {
        await nextSlice();
        scanBlock(index, file, counter);
      }
    },
  };
}

export function feedsSeen(index: LineIndex): number {
  return index.feeds[index.feeds.length - 1] ?? 0;
}

export function totalLines(index: LineIndex): number | null {
  if (!index.complete) return null;
  return feedsSeen(index) + (index.lastByte === LINE_FEED ? 0 : 1);
}

/** The block that contains the n-th line feed. */
export function blockOfFeed(index: LineIndex, nth: number): { block: number; feedsBefore: number } {
  let low = 0;
  let high = index.feeds.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((index.feeds[middle] ?? Infinity) < nth) low = middle;
    else high = middle - 1;
  }
  return { block: low, feedsBefore: index.feeds[low] ?? 0 };
}

const LINE_FEED = 10;

function scanBlock(index: LineIndex, file: OpenFile, { block, count }: NewlineCounter): void {
  let filled = 0;
  // Only the last block may be shorter.
  while (filled < BLOCK_BYTES) {
    const got = file.readNow(block.subarray(filled), index.bytesScanned + filled);
    if (got === 0) break;
    filled += got;
  }
  if (filled < BLOCK_BYTES) index.complete = true;
  if (filled === 0) return;
  index.feeds.push(feedsSeen(index) + count(filled));
  index.bytesScanned += filled;
  index.lastByte = block[filled - 1] ?? LINE_FEED;
}

/**
 * Counts line feeds in a block, sixteen bytes at a time: a loop over bytes takes twenty times as long, and a search
 * from line to line five times. The WebAssembly is hand-written, because forty instructions do not justify a build
 * step.
 */
interface NewlineCounter {
  /** Put the bytes to count here. */
  readonly block: Buffer;
  /** Counts in the first `length` bytes of the block. */
  count(length: number): number;
}

/** The part of the API that is used here; TypeScript declares it only in its DOM library. */
declare const WebAssembly: {
  Memory: new (descriptor: { initial: number }) => { buffer: ArrayBuffer };
  Module: new (bytes: Uint8Array) => object;
  Instance: new (
    module: object,
    imports: object,
  ) => {
    exports: { count(start: number, length: number): number };
  };
};
const PAGE_BYTES = 64 * 1024;

export function createNewlineCounter(blockBytes: number): NewlineCounter {
  if (typeof WebAssembly === "undefined") return createPlainCounter(blockBytes);
  const memory = new WebAssembly.Memory({ initial: Math.ceil(blockBytes / PAGE_BYTES) });
  const block = Buffer.from(memory.buffer, 0, blockBytes);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(MODULE), { env: { memory } });
  return {
    block,
    count: (length) => {
      const vectors = length & ~15;
      let count = instance.exports.count(0, vectors);
      for (let index = vectors; index < length; index += 1) if (block[index] === LINE_FEED) count += 1;
      return count;
    },
  };
}

/** Used if WebAssembly is disabled (`node --jitless`). */
export function createPlainCounter(blockBytes: number): NewlineCounter {
  const block = Buffer.allocUnsafe(blockBytes);
  return {
    block,
    count: (length) => {
      const bytes = block.subarray(0, length);
      let count = 0;
      for (let index = bytes.indexOf(LINE_FEED); index !== -1; index = bytes.indexOf(LINE_FEED, index + 1)) count += 1;
      return count;
    },
  };
}

const I32 = 0x7f;
const V128 = 0x7b;
const VOID = 0x40;
const local = { start: 0, length: 1, sums: 2, total: 3, end: 4, stop: 5 };
const get = (name: keyof typeof local) => [0x20, local[name]];
const set = (name: keyof typeof local) => [0x21, local[name]];
const tee = (name: keyof typeof local) => [0x22, local[name]];
const loop = [0x03, VOID];
const end = [0x0b];
const add = [0x6a];
const lessThan = [0x49];
const addUpLane = (lane: number) => [...get("total"), 0xfd, 0x1b, lane];

const COUNT = [
  ...[2, 2, V128, 2, I32], // locals: sums, total; end, stop
  ...[...get("start"), ...get("length"), ...add, ...set("end")],
  ...[0x02, VOID, ...loop],
  ...[...get("start"), ...get("end"), 0x4f, 0x0d, 1], // leave when start >= end
  // A byte lane counts to 255, so at most 255 vectors (4,080 bytes) are summed before they are widened.
  ...[...get("start"), 0x41, 0xf0, 0x1f, ...add, ...set("stop")],
  ...[...get("stop"), ...get("end"), ...get("stop"), ...get("end"), ...lessThan, 0x1b, ...set("stop")], // min
  ...[0xfd, 0x0c, ...new Array<number>(16).fill(0), ...set("sums")],
  ...loop,
  ...[...get("sums"), ...get("start"), 0xfd, 0x00, 4, 0], // v128.load
  ...[0x41, LINE_FEED, 0xfd, 0x0f, 0xfd, 0x23, 0xfd, 0x71, ...set("sums")], // sums -= (bytes == splat): equal is -1
  ...[...get("start"), 0x41, 16, ...add, ...tee("start"), ...get("stop"), ...lessThan, 0x0d, 0],
  ...end,
  ...[...get("total"), ...get("sums"), 0xfd, 0x7d, 0xfd, 0x7f, 0xfd, 0xae, 0x01, ...set("total")], // widen twice, add
  ...[0x0c, 0, ...end, ...end],
  ...[...addUpLane(0), ...addUpLane(1), ...add, ...addUpLane(2), ...add, ...addUpLane(3), ...add, ...end],
];

const section = (id: number, content: readonly number[]) => [id, ...leb128(content.length), ...content];
const text = (value: string) => [value.length, ...Buffer.from(value)];

const MODULE = new Uint8Array([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, [1, 0x60, 2, I32, I32, 1, I32]), // type: (i32, i32) -> i32
  ...section(2, [1, ...text("env"), ...text("memory"), 2, 0, 1]),
  ...section(3, [1, 0]),
  ...section(7, [1, ...text("count"), 0, 0]),
  ...section(10, [1, ...leb128(COUNT.length), ...COUNT]),
]);

function leb128(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb128(value >>> 7)];
}

/** How long a scan may block the event loop. */
const SLICE_MS = 8;

/** Await it between the steps of a long scan. It yields to the event loop when the time slice is used up. */
export function createTimeSlice(signal?: AbortSignal): () => Promise<void> | undefined {
  let startedAt = performance.now();
  return () => {
    if (performance.now() - startedAt < SLICE_MS) return undefined;
    return new Promise<void>((resume) => setImmediate(resume)).then(() => {
      signal?.throwIfAborted();
      startedAt = performance.now();
    });
  };
}
