import { createTimeSlice } from "../../files/time-slice.ts";

const WORD = 32;
/** Others get the thread after so many steps at the latest. */
const STEPS_PER_SLICE = 50_000;

/**
 * For every place in the text: how many edits the pattern needs to be a text that ends there, wherever that one begins;
 * with `fromStart`, where it begins with the text.
 * Bit-parallel (Myers 1999, in blocks as Hyyrö 2003): a step for each 32 characters of the pattern and each of the text.
 */
export async function approximateEnds(
  pattern: string,
  text: string,
  { fromStart = false, signal }: { fromStart?: boolean; signal?: AbortSignal | undefined } = {},
): Promise<Int32Array> {
  const blocks = Math.ceil(pattern.length / WORD);
  const lastBit = 1 << ((pattern.length - 1) % WORD);
  const equal = new Map<number, Int32Array>();
  for (let i = 0; i < pattern.length; i += 1) {
    const code = pattern.charCodeAt(i);
    let bits = equal.get(code);
    if (!bits) equal.set(code, (bits = new Int32Array(blocks)));
    bits[i >> 5]! |= 1 << (i % WORD);
  }
  const none = new Int32Array(blocks);
  const more = new Int32Array(blocks).fill(-1);
  const less = new Int32Array(blocks);
  const scores = new Int32Array(text.length);
  const slice = createTimeSlice(signal);
  const columns = Math.max(1, Math.floor(STEPS_PER_SLICE / blocks));
  let score = pattern.length;
  for (let at = 0; at < text.length; at += 1) {
    if (at % columns === columns - 1) await slice();
    const matches = equal.get(text.charCodeAt(at)) ?? none;
    let carry = fromStart ? 1 : 0;
    for (let block = 0; block < blocks; block += 1) {
      const plus = more[block]!;
      const minus = less[block]!;
      const isLess = carry < 0 ? 1 : 0;
      const eq = matches[block]! | isLess;
      const vertical = matches[block]! | minus;
      const horizontal = (((eq & plus) + plus) ^ plus) | eq;
      let up = minus | ~(horizontal | plus);
      let down = plus & horizontal;
      const top = block === blocks - 1 ? lastBit : 1 << 31;
      const next = up & top ? 1 : down & top ? -1 : 0;
      up = (up << 1) | (carry > 0 ? 1 : 0);
      down = (down << 1) | isLess;
      more[block] = down | ~(vertical | up);
      less[block] = up & vertical;
      carry = next;
    }
    score += carry;
    scores[at] = score;
  }
  return scores;
}
