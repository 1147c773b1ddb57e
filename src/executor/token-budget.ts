import type { TokenCounter } from "../core/token-counter.ts";
import { cutMiddle } from "./cut-middle.ts";

/** So many bytes take this many tokens only in rare text: what is longer is too long, and is not counted whole. */
const MOST_BYTES_A_TOKEN = 8;
const MOST_ROUNDS = 6;
/** As long as what a spill says. */
const WHERE = "x".repeat(160);

/** The bytes that a text may have so that it takes no more than so many tokens, with the notice that it was cut. */
export function bytesForTokens(text: string, mostTokens: number, tokens: TokenCounter): number {
  const all = Buffer.byteLength(text);
  // No token is shorter than a byte.
  if (all <= mostTokens) return all;
  let bytes = Math.min(all, mostTokens * MOST_BYTES_A_TOKEN);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const taken = tokens.count(cutMiddle(text, bytes, WHERE));
    if (taken <= mostTokens) return bytes;
    bytes = Math.max(mostTokens, Math.floor((bytes * mostTokens * 0.97) / taken));
  }
  return mostTokens;
}
