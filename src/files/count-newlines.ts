/**
 * Line feeds in a block of bytes, sixteen at a time: a loop over bytes takes twenty times as long, and a search from
 * line to line five times. WebAssembly, written out here because a build step for forty instructions would be heavier.
 */
export interface NewlineCounter {
  /** Where the bytes to count must be put. */
  readonly block: Buffer;
  /** In the first `length` bytes of the block. */
  count(length: number): number;
}

/** The part of the platform's interface that is used; the compiler's libraries name it only with the browser's. */
declare const WebAssembly: {
  Memory: new (descriptor: { initial: number }) => { buffer: ArrayBuffer };
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: Record<string, unknown> };
};

const LINE_FEED = 10;
const PAGE_BYTES = 64 * 1024;

export function createNewlineCounter(blockBytes: number): NewlineCounter {
  if (typeof WebAssembly === "undefined") return createPlainCounter(blockBytes);
  const memory = new WebAssembly.Memory({ initial: Math.ceil(blockBytes / PAGE_BYTES) });
  const block = Buffer.from(memory.buffer, 0, blockBytes);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(MODULE), { env: { memory } });
  const countVectors = instance.exports["count"] as (start: number, length: number) => number;
  return {
    block,
    count: (length) => {
      const vectors = length & ~15;
      let count = countVectors(0, vectors);
      for (let index = vectors; index < length; index += 1) if (block[index] === LINE_FEED) count += 1;
      return count;
    },
  };
}

/** Where WebAssembly is switched off (`node --jitless`). */
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
