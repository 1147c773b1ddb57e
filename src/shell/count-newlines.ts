const NEWLINE = 10;
const NO_WORDS = new Int32Array(0);

/** Four bytes at a time: this runs over every byte of every output, and byte by byte it would cost most of the time. */
export function countNewlines(bytes: Uint8Array): number {
  const { length } = bytes;
  let count = 0;
  let at = 0;
  for (; at < length && (bytes.byteOffset + at) % 4 !== 0; at++) if (bytes[at] === NEWLINE) count++;
  // Where the bytes end before the first boundary there is no word, and a view from there would be refused.
  const words = length - at < 4 ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + at, (length - at) >> 2);
  for (let index = 0; index < words.length; index++) {
    // A byte of `other` is zero where there is a newline; of those the top bit stays clear, and is then counted.
    const other = (words[index] as number) ^ 0x0a0a0a0a;
    const hits = ~(((other & 0x7f7f7f7f) + 0x7f7f7f7f) | other) & 0x80808080;
    count += Math.imul(hits >>> 7, 0x01010101) >>> 24;
  }
  for (at += words.length * 4; at < length; at++) if (bytes[at] === NEWLINE) count++;
  return count;
}
