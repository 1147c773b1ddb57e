import { countNewlines } from "../../shell/count-newlines.ts";
import type { OutputText } from "../../shell/output-buffer.ts";
import { stripTerminalCodes } from "../../shell/strip-terminal-codes.ts";
import { orphanedPrefix, unfinishedSuffix } from "../../shell/utf8-boundary.ts";

/** How much of an output one reply shows. */
export interface ReplyLimits {
  maxBytes: number;
  maxLines: number;
}

/** Leaves room for the notes below the 50 KiB at which the gate would cut the reply a second time. */
export const REPLY_LIMITS: ReplyLimits = { maxBytes: 47 * 1024, maxLines: 2000 };

export interface ShortOutput {
  truncated: boolean;
  /** The first line that is left out, or cut; from 1. */
  gapAt: number;
  /** The text; where something is left out it says so, and says `where` the rest is. */
  text(where?: string): string;
}

const NEWLINE = 10;
/** How far to look for a line's end before cutting inside a line. */
const BOUNDARY_BYTES = 2048;

/** Output as a model reads it: no terminal codes, and beginning and end where the whole is too long. */
export function shortenOutput(output: OutputText & { totalLines?: number }, limits: ReplyLimits): ShortOutput {
  const head = Buffer.from(stripTerminalCodes(output.head));
  const isWhole = output.omittedBytes === 0;
  const tail = isWhole ? head : Buffer.from(stripTerminalCodes(output.tail));
  const lines = isWhole ? countLines(head) : (output.totalLines ?? countLines(head) + countLines(tail));
  if (isWhole && head.length <= limits.maxBytes && lines <= limits.maxLines) {
    return { truncated: false, gapAt: lines + 1, text: () => head.toString() };
  }
  const half: ReplyLimits = { maxBytes: limits.maxBytes >> 1, maxLines: limits.maxLines >> 1 };
  const front = head.subarray(0, frontEnd(head, half));
  const back = tail.subarray(backStart(tail, half));
  const bytes = output.omittedBytes + (isWhole ? head.length : head.length + tail.length) - front.length - back.length;
  const gapAt = countNewlines(front) + 1;
  const gapEnd = lines - countLines(back);
  const what =
    gapEnd >= gapAt ? `lines ${gapAt} to ${gapEnd} of ${lines} (${bytes} bytes)` : `${bytes} bytes of line ${gapAt}`;
  return {
    truncated: true,
    gapAt,
    text: (where = "") => {
      const newline = front.length === 0 || front[front.length - 1] === NEWLINE ? "" : "\n";
      return `${front.toString()}${newline}[… ${what} left out here.${where && ` ${where}`}]\n${back.toString()}`;
    },
  };
}

function frontEnd(bytes: Buffer, { maxBytes, maxLines }: ReplyLimits): number {
  let end = 0;
  for (let line = 0; line < maxLines && end < bytes.length; line++) {
    const at = bytes.indexOf(NEWLINE, end);
    end = at < 0 ? bytes.length : at + 1;
  }
  if (end <= maxBytes) return end;
  const newline = maxBytes > 0 ? bytes.lastIndexOf(NEWLINE, maxBytes - 1) : -1;
  if (newline >= 0 && maxBytes - newline <= BOUNDARY_BYTES) return newline + 1;
  return maxBytes - unfinishedSuffix(bytes.subarray(0, maxBytes));
}

function backStart(bytes: Buffer, { maxBytes, maxLines }: ReplyLimits): number {
  // The newline at the very end closes the last line; it does not begin another.
  let start = bytes.length > 0 && bytes[bytes.length - 1] === NEWLINE ? bytes.length - 1 : bytes.length;
  for (let line = 0; line < maxLines && start > 0; line++) {
    start = start > 1 ? bytes.lastIndexOf(NEWLINE, start - 1) : -1;
    if (start < 0) start = 0;
  }
  if (start > 0) start++;
  const min = bytes.length - maxBytes;
  if (start >= min) return start;
  const newline = bytes.indexOf(NEWLINE, min);
  if (newline >= 0 && newline - min <= BOUNDARY_BYTES && newline + 1 < bytes.length) return newline + 1;
  return min + orphanedPrefix(bytes.subarray(min));
}

function countLines(bytes: Buffer): number {
  return countNewlines(bytes) + (bytes.length > 0 && bytes[bytes.length - 1] !== NEWLINE ? 1 : 0);
}
