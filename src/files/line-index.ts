import { createNewlineCounter, type NewlineCounter } from "./count-newlines.ts";
import type { OpenFile } from "./open-file.ts";
import { createTimeSlice } from "./time-slice.ts";

export const BLOCK_BYTES = 256 * 1024;
const MAX_FILES = 32;

/** How many line feeds lie before each block of one state of a file, as far as it was scanned. */
export interface LineIndex {
  /** One entry more than blocks scanned. */
  readonly feeds: number[];
  bytesScanned: number;
  complete: boolean;
  /** The last byte seen: a last line without a line feed counts as a line. */
  lastByte: number;
}

export interface LineIndexes {
  of(file: OpenFile): LineIndex;
  /** Scans on until so many line feeds or bytes are seen, or the end. */
  extend(
    index: LineIndex,
    file: OpenFile,
    until: { feeds?: number; bytes?: number; signal?: AbortSignal },
  ): Promise<void>;
}

/** Remembers the indexes of the files read last, each for as long as the file's stamp holds. */
export function createLineIndexes(): LineIndexes {
  const known = new Map<string, { stamp: string; index: LineIndex }>();
  // Shared by all scans: a block is filled and counted without a pause in between.
  let counter: NewlineCounter | undefined;
  return {
    of: (file) => {
      const { real, stamp } = file.info;
      const last = known.get(real);
      const index =
        last?.stamp === stamp ? last.index : { feeds: [0], bytesScanned: 0, complete: false, lastByte: LINE_FEED };
      known.delete(real);
      known.set(real, { stamp, index });
      for (const oldest of known.keys()) {
        if (known.size <= MAX_FILES) break;
        known.delete(oldest);
      }
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

/** The block in which the n-th line feed lies. */
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
  // Whole blocks, so that the index stays regular; a shorter one is the last.
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
