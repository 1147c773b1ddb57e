import { isUtf8 } from "node:buffer";
import { detectLegacyEncoding } from "./detect-legacy-encoding.ts";
import { detectBom, looksLikeUtf16, wholeCharacters } from "./text-encoding.ts";

const SAMPLE_BYTES = 8 * 1024;

/** Judged by its beginning: not text in any encoding that `decodeText` knows. */
export function isBinary(bytes: Buffer): boolean {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  if (sample.length === 0 || detectBom(sample) !== null || looksLikeUtf16(sample) !== null) return false;
  if (sample.includes(0)) return true;
  let controls = 0;
  for (const byte of sample) if (byte < 0x20 && !(byte >= 7 && byte <= 13) && byte !== 27) controls += 1;
  if (controls > sample.length * 0.3) return true;
  return !isUtf8(sample) && !isUtf8(wholeCharacters(sample)) && detectLegacyEncoding(sample) === null;
}
