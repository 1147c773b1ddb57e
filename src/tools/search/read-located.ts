import type { Files } from "../../files/files.ts";
import type { OpenFile } from "../../files/open-file.ts";
import { decodeText, detectBom } from "../../files/text-encoding.ts";
import type { LocatedLine } from "./locate-lines.ts";

export const MAX_LINE_CHARACTERS = 500;
/** Enough for the longest line that is shown, whatever its characters. */
const WINDOW_BYTES = 4 * MAX_LINE_CHARACTERS;
const NEWLINE = 10;

export interface ReadLine {
  line: number;
  text: string;
  isMatch: boolean;
  /** Only a part of the line is in `text`. */
  isCut: boolean;
}

/**
 * The text of located lines. A file that changed since, so that no line begins where one should, gives what is still
 * there; one that is gone or may not be read gives nothing.
 */
export async function readLocated(files: Files, path: string, located: readonly LocatedLine[]): Promise<ReadLine[]> {
  const file = await files.openForRead(path).catch(() => null);
  if (file === null) return [];
  try {
    const head = Buffer.alloc(4);
    const bom = detectBom(head.subarray(0, file.readNow(head, 0)));
    if (bom && bom.encoding !== "utf-8") return await readTranscoded(files, path, located);
    const start = bom?.length ?? 0;
    return located.flatMap((each) => readAt(file, { ...each, offset: each.offset + start }, start) ?? []);
  } finally {
    file.close();
  }
}

function readAt(file: OpenFile, { line, offset, column }: LocatedLine, start: number): ReadLine | null {
  // One byte more in front: a line begins after a line end.
  const lead = offset > start ? 1 : 0;
  const bytes = read(file, offset - lead, WINDOW_BYTES + lead);
  if (lead === 1 && bytes[0] !== NEWLINE) return null;
  const end = bytes.indexOf(NEWLINE, lead);
  const isMatch = column !== undefined;
  if (end !== -1 || bytes.length < WINDOW_BYTES + lead) {
    const text = bytes.subarray(lead, end === -1 ? undefined : end);
    const at = text.subarray(0, column ?? 0).toString().length;
    return { line, isMatch, ...cutAround(withoutCarriageReturn(text.toString()), at) };
  }
  const from = Math.max(0, (column ?? 0) - WINDOW_BYTES / 2);
  const window = read(file, offset + from, WINDOW_BYTES);
  const lineEnd = window.indexOf(NEWLINE);
  const part = window.subarray(from > 0 ? firstWhole(window) : 0, lineEnd === -1 ? undefined : lineEnd);
  const at = window.subarray(0, (column ?? 0) - from).toString().length;
  const { text } = cutAround(withoutCarriageReturn(part.toString().replace(/\uFFFD$/, "")), at);
  return { line, isMatch, isCut: true, text: from > 0 && !text.startsWith("…") ? `…${text}` : text };
}

/** Files in UTF-16 and the like: ripgrep searched a translation, and its offsets are of that. */
async function readTranscoded(files: Files, path: string, located: readonly LocatedLine[]): Promise<ReadLine[]> {
  const whole = await files.readWhole(path).catch(() => null);
  const lines = whole === null ? [] : decodeText(whole.bytes).text.split("\n");
  return located.flatMap(({ line, column }) => {
    const text = lines[line - 1];
    if (text === undefined) return [];
    const at = Buffer.from(text)
      .subarray(0, column ?? 0)
      .toString().length;
    return { line, isMatch: column !== undefined, ...cutAround(withoutCarriageReturn(text), at) };
  });
}

/** At most so many characters of a line, those around `at` among them; what is missing is marked. */
function cutAround(text: string, at: number): { text: string; isCut: boolean } {
  if (text.length <= MAX_LINE_CHARACTERS) return { text, isCut: false };
  const latest = text.length - MAX_LINE_CHARACTERS;
  const from = Math.max(0, Math.min(latest, at - MAX_LINE_CHARACTERS / 4));
  const part = text.slice(from, from + MAX_LINE_CHARACTERS);
  return { text: `${from > 0 ? "…" : ""}${part.toWellFormed()}${from < latest ? "…" : ""}`, isCut: true };
}

function read(file: OpenFile, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  for (let got = -1; got !== 0 && filled < length; filled += got)
    got = file.readNow(buffer.subarray(filled), position + filled);
  return buffer.subarray(0, filled);
}

/** Where the first whole character begins. */
function firstWhole(bytes: Buffer): number {
  const at = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return at === -1 ? 0 : at;
}

function withoutCarriageReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}
