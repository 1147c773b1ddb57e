import { isUtf8 } from "node:buffer";
import { createNewlineCounter } from "../../files/count-newlines.ts";
import { decodeText, encodeText, looksLikeUtf16 } from "../../files/text-encoding.ts";
import { refuseElisions } from "./find-elision.ts";
import { type AppliedEdit, replaceText, type TextEdit } from "./replace-text.ts";

/** From here on decoding a whole file costs more than the edit, and exact text is looked for in its bytes first. */
const LARGE_BYTES = 256 * 1024;
/** Lines kept around a change that was made in bytes: more than a diff shows. */
const LINES_AROUND = 4;
const LINE_FEED = 0x0a;
const COUNTED_BYTES = 256 * 1024;

export interface EditedBytes {
  bytes: Buffer;
  /** Texts whose diff is that of the change: the whole ones, or as much of them as a diff shows. */
  before: string;
  after: string;
  /** How many lines of the file stand before these texts. */
  linesBefore: number;
  edits: AppliedEdit[];
}

/** Carries out edits in the bytes of a file of any encoding. What is outside the replaced places stays, byte for byte. */
export function editBytes(bytes: Buffer, edits: readonly TextEdit[]): EditedBytes {
  const [first] = edits;
  const exact = first && edits.length === 1 && bytes.length > LARGE_BYTES ? replaceExactBytes(bytes, first) : undefined;
  if (exact) return exact;
  const decoded = decodeText(bytes);
  const replaced = replaceText(decoded.text, edits);
  return {
    bytes: encodeText(replaced.text, decoded),
    before: decoded.text,
    after: replaced.text,
    linesBefore: 0,
    edits: replaced.edits,
  };
}

/** In a large file: exact and unique text inside a line, found and replaced as bytes. Everything else takes the long way. */
function replaceExactBytes(bytes: Buffer, { oldString, newString, replaceAll }: TextEdit): EditedBytes | undefined {
  const both = oldString + newString;
  if (replaceAll || oldString === "" || oldString === newString || /[\r\n\ufeff]/.test(both) || !both.isWellFormed()) {
    return undefined;
  }
  const old = Buffer.from(oldString);
  const at = bytes.indexOf(old);
  if (at < 0 || bytes.indexOf(old, at + 1) >= 0 || looksLikeUtf16(bytes) !== null || !isUtf8(bytes)) return undefined;
  refuseElisions(newString, oldString, "new_string");
  const end = at + old.length;
  const from = lineStart(bytes, at, LINES_AROUND);
  const linesBefore = countFeeds(bytes, from);
  const head = bytes.subarray(from, at).toString();
  const tail = bytes.subarray(end, lineEnd(bytes, end, LINES_AROUND)).toString();
  return {
    bytes: Buffer.concat([bytes.subarray(0, at), Buffer.from(newString), bytes.subarray(end)]),
    before: head + oldString + tail,
    after: head + newString + tail,
    linesBefore,
    edits: [{ step: "exact", replacements: 1, lines: [linesBefore + head.split("\n").length] }],
  };
}

function lineStart(bytes: Buffer, at: number, linesBefore: number): number {
  let start = at;
  for (let line = 0; line <= linesBefore && start > 0; line++) {
    // The first round finds the start of the line itself, each further one steps over a line feed.
    const from = line === 0 ? start - 1 : start - 2;
    start = from < 0 ? 0 : bytes.lastIndexOf(LINE_FEED, from) + 1;
  }
  return start;
}

function lineEnd(bytes: Buffer, at: number, linesAfter: number): number {
  let end = at;
  for (let line = 0; line <= linesAfter && end < bytes.length; line++) {
    const feed = bytes.indexOf(LINE_FEED, end);
    end = feed < 0 ? bytes.length : feed + 1;
  }
  return end;
}

function countFeeds(bytes: Buffer, until: number): number {
  const { block, count } = createNewlineCounter(COUNTED_BYTES);
  let feeds = 0;
  for (let at = 0; at < until; at += COUNTED_BYTES) {
    feeds += count(bytes.copy(block, 0, at, Math.min(until, at + COUNTED_BYTES)));
  }
  return feeds;
}
