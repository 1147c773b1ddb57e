/** Of the budget, what the beginning gets: errors stand at the end of output more often than at its start. */
const HEAD_SHARE = 0.5;
/** How far to look back for a line's end before cutting inside a line. */
const BOUNDARY_BYTES = 1024;

/**
 * Head and tail of a text within a budget of UTF-8 bytes, cut at line ends where one is near, with a line between them
 * that says how much is missing and `where` the whole is.
 */
export function cutMiddle(text: string, budget: number, where: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= budget) return text;
  const room = Math.max(0, budget - Buffer.byteLength(notice(bytes.length, bytes.length, where)));
  const headEnd = lineEndBefore(bytes, Math.floor(room * HEAD_SHARE));
  const tailStart = lineStartAfter(bytes, bytes.length - (room - headEnd));
  const head = bytes.toString("utf8", 0, headEnd);
  const tail = bytes.toString("utf8", tailStart);
  return `${head}${notice(tailStart - headEnd, bytes.length, where)}${tail}`;
}

function notice(missing: number, all: number, where: string): string {
  return `\n\n[… ${missing} of ${all} bytes left out here. ${where}]\n\n`;
}

const LINE_FEED = 0x0a;

function lineEndBefore(bytes: Buffer, at: number): number {
  // A negative offset would count from the end.
  const end = at > 0 ? bytes.lastIndexOf(LINE_FEED, at - 1) : -1;
  return end >= 0 && at - end <= BOUNDARY_BYTES ? end : characterStart(bytes, at);
}

function lineStartAfter(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(LINE_FEED, at);
  if (end >= 0 && end - at <= BOUNDARY_BYTES) return end + 1;
  let start = at;
  while (start < bytes.length && isContinuation(bytes[start]!)) start++;
  return start;
}

function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && isContinuation(bytes[start]!)) start--;
  return start;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
