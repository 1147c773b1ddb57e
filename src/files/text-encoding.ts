import { isUtf8 } from "node:buffer";
import { toolError } from "../core/error.ts";
import { detectLegacyEncoding } from "./detect-legacy-encoding.ts";
import { loadIconv } from "./load-iconv.ts";

/**
 * "utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "latin1", or a legacy one ("gb18030", "shift_jis", …).
 * "latin1" is a byte a character: also what is taken when nothing fits, because it loses nothing.
 */
export type TextEncoding = string;
export type LineEnd = "\n" | "\r\n" | "mixed";

/** A file's text with all that must survive an edit of it. */
export interface DecodedText {
  /** Without the byte order mark. */
  text: string;
  encoding: TextEncoding;
  bom: boolean;
  /** A file without line ends counts as "\n". */
  eol: LineEnd;
  finalNewline: boolean;
  /** As in the file, byte order mark included. */
  bytes: Buffer;
}

const BOMS: readonly { encoding: TextEncoding; bytes: readonly number[] }[] = [
  // The longer first: UTF-32 LE begins like UTF-16 LE.
  { encoding: "utf-32le", bytes: [0xff, 0xfe, 0x00, 0x00] },
  { encoding: "utf-32be", bytes: [0x00, 0x00, 0xfe, 0xff] },
  { encoding: "utf-8", bytes: [0xef, 0xbb, 0xbf] },
  { encoding: "utf-16le", bytes: [0xff, 0xfe] },
  { encoding: "utf-16be", bytes: [0xfe, 0xff] },
];

export function detectBom(bytes: Uint8Array): { encoding: TextEncoding; length: number } | null {
  const bom = BOMS.find((candidate) => candidate.bytes.every((byte, index) => bytes[index] === byte));
  return bom ? { encoding: bom.encoding, length: bom.bytes.length } : null;
}

/** Never loses a byte: `encodeText(decoded.text, decoded)` gives the same bytes again. */
export function decodeText(bytes: Buffer): DecodedText {
  const bom = detectBom(bytes);
  const body = bom ? bytes.subarray(bom.length) : bytes;
  const encoding = bom?.encoding ?? detectEncoding(bytes);
  const text = decodeBytes(body, encoding);
  const exact = encoding === "utf-8" ? isUtf8(body) : encodeString(text, encoding).equals(body);
  return exact
    ? describe(text, encoding, bom !== null, bytes)
    : describe(bytes.toString("latin1"), "latin1", false, bytes);
}

/** The bytes of a text in the encoding, and with the byte order mark, of another. Line ends are the text's own. */
export function encodeText(text: string, like: Pick<DecodedText, "encoding" | "bom">): Buffer {
  const body = encodeExactly(text, like.encoding);
  const bom = like.bom ? BOMS.find((candidate) => candidate.encoding === like.encoding) : undefined;
  return bom ? Buffer.concat([Buffer.from(bom.bytes), body]) : body;
}

export function convertLineEnds(text: string, eol: "\n" | "\r\n"): string {
  const plain = text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;
  return eol === "\n" ? plain : plain.replaceAll("\n", "\r\n");
}

/** For a file of which only a part was read: the encoding that a beginning or a middle suggests. */
export function detectEncoding(sample: Buffer): TextEncoding {
  if (isUtf8(sample) || isUtf8(wholeCharacters(sample))) return looksLikeUtf16(sample) ?? "utf-8";
  return looksLikeUtf16(sample) ?? detectLegacyEncoding(sample) ?? "latin1";
}

/** The part of a cut UTF-8 text that ends with a whole character. */
export function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return bytes.subarray(0, bytes.length - back);
    if (byte < 0x80) break;
  }
  return bytes;
}

export function decodeBytes(bytes: Buffer, encoding: TextEncoding): string {
  switch (encoding) {
    case "utf-8":
      return bytes.toString("utf8");
    case "latin1":
      return bytes.toString("latin1");
    case "utf-16le":
      return bytes.toString("utf16le");
    default:
      return loadIconv().decode(bytes, encoding, { stripBOM: false });
  }
}

export function encodeString(text: string, encoding: TextEncoding): Buffer {
  switch (encoding) {
    case "utf-8":
      return Buffer.from(text, "utf8");
    case "utf-16le":
      return Buffer.from(text, "utf16le");
    case "latin1":
      return Buffer.from(text, "latin1");
    default:
      return loadIconv().encode(text, encoding, { addBOM: false });
  }
}

/** Refuses a text that would not come back the same. */
export function encodeExactly(text: string, encoding: TextEncoding): Buffer {
  const bytes = encodeString(text, encoding);
  const exact = encoding === "utf-8" ? text.isWellFormed() : decodeBytes(bytes, encoding) === text;
  if (!exact) throw unmappable(text, encoding);
  return bytes;
}

/** Every second byte zero and the others not: Latin text in two-byte units. Unmarked, other scripts stay unseen. */
export function looksLikeUtf16(bytes: Buffer): "utf-16le" | "utf-16be" | null {
  const sample = bytes.subarray(0, 4096);
  if (sample.length < 4 || !sample.includes(0)) return null;
  let even = 0;
  let odd = 0;
  for (let index = 0; index + 1 < sample.length; index += 2) {
    if (sample[index] === 0) even += 1;
    if (sample[index + 1] === 0) odd += 1;
  }
  const units = sample.length >> 1;
  if (even === 0 && odd > units * 0.6) return "utf-16le";
  return odd === 0 && even > units * 0.6 ? "utf-16be" : null;
}

function unmappable(text: string, encoding: TextEncoding) {
  const lost = [...text].filter((character) => decodeBytes(encodeString(character, encoding), encoding) !== character);
  const shown = [...new Set(lost)].slice(0, 10).join(" ").toWellFormed();
  return toolError("bad_encoding", `The file is encoded in ${encoding}, which cannot hold: ${shown}`, {
    next: "Use other characters, or convert the whole file to UTF-8 first if the user agrees.",
    data: { encoding, characters: shown },
  });
}

function describe(text: string, encoding: TextEncoding, bom: boolean, bytes: Buffer): DecodedText {
  return { text, encoding, bom, eol: lineEndOf(text), finalNewline: text.endsWith("\n"), bytes };
}

function lineEndOf(text: string): LineEnd {
  if (!text.includes("\r\n")) return "\n";
  let crlf = false;
  for (let index = text.indexOf("\n"); index !== -1; index = text.indexOf("\n", index + 1)) {
    const isCrlf = text[index - 1] === "\r";
    if (isCrlf) crlf = true;
    else if (crlf || text.includes("\r\n", index)) return "mixed";
  }
  return "\r\n";
}
