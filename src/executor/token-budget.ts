import type { TokenCounter } from "../core/token-counter.ts";
import { cutMiddle } from "./cut-middle.ts";

/** So many bytes take this many tokens only in rare text: what is longer is too long, and is not counted whole. */
const MAX_BYTES_PER_TOKEN = 8;
const MAX_ROUNDS = 6;
/** As long as what a spill says. */
const WHERE = "x".repeat(160);

/** The bytes that a text may have so that it takes no more than so many tokens, with the notice that it was cut. */
export function bytesForTokens(text: string, maxTokens: number, tokens: TokenCounter): number {
  const all = Buffer.byteLength(text);
  // No token is shorter than a byte.
  if (all <= maxTokens) return all;
  let bytes = Math.min(all, maxTokens * MAX_BYTES_PER_TOKEN);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const taken = tokens.count(cutMiddle(text, bytes, WHERE));
    if (taken <= maxTokens) return bytes;
    bytes = Math.max(maxTokens, Math.floor((bytes * maxTokens * 0.97) / taken));
  }
  return maxTokens;
}
