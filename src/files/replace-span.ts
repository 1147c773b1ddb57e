import { toolError } from "../core/error.ts";
import { decodeBytes, detectBom, encodeExactly, encodeString, type DecodedText } from "./text-encoding.ts";

/**
 * The file with `text[start, end)` replaced. Every byte outside the span stays as it was, mixed line ends and odd
 * spellings of the encoding included; the new text is taken literally.
 */
export function replaceSpan(
  original: DecodedText,
  { start, end }: { start: number; end: number },
  newText: string,
): Buffer {
  const { text, encoding, bytes } = original;
  if (start < 0 || end < start || end > text.length || splitsCharacter(text, start) || splitsCharacter(text, end)) {
    throw toolError("bad_range", `The span ${start}-${end} does not hold whole characters of the text`, {
      next: "Locate the text again.",
    });
  }
  const bomLength = original.bom ? (detectBom(bytes)?.length ?? 0) : 0;
  const inserted = encodeExactly(newText, encoding);
  const head = bomLength + byteLength(text.slice(0, start), encoding);
  const tail = head + byteLength(text.slice(start, end), encoding);
  const result = Buffer.concat([bytes.subarray(0, head), inserted, bytes.subarray(tail)]);
  if (isFixed(encoding)) return result;
  // In encodings with states or combined characters a span may not stand alone: trust only what reads back right.
  if (decodeBytes(result.subarray(bomLength), encoding) !== text.slice(0, start) + newText + text.slice(end)) {
    throw toolError(
      "bad_encoding",
      `The text cannot be replaced inside a file encoded in ${encoding} without touching its neighbours`,
      {
        next: "Replace a larger piece, for instance the whole line, or convert the file to UTF-8 first if the user agrees.",
      },
    );
  }
  return result;
}

function splitsCharacter(text: string, index: number): boolean {
  return (text.codePointAt(index - 1) ?? 0) > 0xffff && index > 0;
}

function byteLength(text: string, encoding: string): number {
  if (encoding === "utf-8") return Buffer.byteLength(text);
  if (encoding === "latin1") return text.length;
  if (encoding === "utf-16le" || encoding === "utf-16be") return text.length * 2;
  return encodeString(text, encoding).length;
}

/** Where the bytes of a character do not depend on its neighbours. */
function isFixed(encoding: string): boolean {
  return encoding === "latin1" || encoding.startsWith("utf-");
}
