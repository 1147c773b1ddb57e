/** Eight buckets per power of two microseconds: percentiles are accurate to 10 %, in 2 KB per tool. */
const SUB_BITS = 3;
export const BUCKETS = 32 << SUB_BITS;

/** The number of the bucket that a duration is counted in. */
export function bucketOf(durationMs: number): number {
  const micros = Math.min(Math.max(Math.round(durationMs * 1000), 1), 0x7fffffff);
  const power = 31 - Math.clz32(micros);
  const sub = power >= SUB_BITS ? (micros >>> (power - SUB_BITS)) & ((1 << SUB_BITS) - 1) : 0;
  return (power << SUB_BITS) | sub;
}

/** The duration in the middle of a bucket, in milliseconds. */
export function middleOf(bucket: number): number {
  const low = 2 ** (bucket >> SUB_BITS);
  const step = low / (1 << SUB_BITS);
  return (low + ((bucket & ((1 << SUB_BITS) - 1)) + 0.5) * step) / 1000;
}
