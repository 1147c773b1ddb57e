/**
 * The first and the last bytes of a stream of any length within a fixed budget. Bytes are copied in, so a million
 * one-byte chunks cost what one large chunk costs; both halves grow only as far as they are needed.
 */
export interface HeadTailBytes {
  push(chunk: Uint8Array): void;
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
  const headMax = Math.floor(maxBytes / 2);
  const tailMax = maxBytes - headMax;
  let head: Buffer = Buffer.alloc(0);
  let headLength = 0;
  // A ring: the oldest byte is at `tailStart`. It wraps only once it has its full size.
  let tail: Buffer = Buffer.alloc(0);
  let tailStart = 0;
  let tailLength = 0;
  let totalBytes = 0;

  function pushTail(chunk: Uint8Array): void {
    const kept = chunk.length > tailMax ? chunk.subarray(chunk.length - tailMax) : chunk;
    tail = grown(tail, tailLength, Math.min(tailMax, tailLength + kept.length), tailMax);
    const lost = Math.max(0, tailLength + kept.length - tailMax);
    tailStart = (tailStart + lost) % tail.length;
    tailLength -= lost;
    const at = (tailStart + tailLength) % tail.length;
    const untilEnd = Math.min(kept.length, tail.length - at);
    tail.set(kept.subarray(0, untilEnd), at);
    tail.set(kept.subarray(untilEnd), 0);
    tailLength += kept.length;
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
    fits: (length) => totalBytes + length <= maxBytes,
    get totalBytes() {
      return totalBytes;
    },
    get omittedBytes() {
      return totalBytes - headLength - tailLength;
    },
    head: () => Buffer.from(head.subarray(0, headLength)),
    tail() {
      const untilEnd = Math.min(tailLength, tail.length - tailStart);
      return Buffer.concat([tail.subarray(tailStart, tailStart + untilEnd), tail.subarray(0, tailLength - untilEnd)]);
    },
  };
}

function grown(buffer: Buffer, used: number, needed: number, max: number): Buffer {
  if (needed <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafeSlow(Math.min(max, Math.max(needed, buffer.length * 2, FIRST_ALLOCATION)));
  buffer.copy(larger, 0, 0, used);
  return larger;
}
