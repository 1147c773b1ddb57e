/** What is kept of a line that was too long: enough to see which call it would have answered. */
export interface LongLine {
  bytes: number;
  head: string;
  tail: string;
}

export interface LineHandlers {
  line(text: string): void;
  tooLong(line: LongLine): void;
}

const KEPT_BYTES = 256;

/**
 * Splits a stream of bytes into lines. A line that is longer than `mostBytes` is passed over, never gathered; what follows
 * it is read as usual. Each byte is looked at once, in chunks of any size.
 */
export function createLineReader(maxBytes: number, { line, tooLong }: LineHandlers): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  let skipped: { bytes: number; head: string; tail: Buffer } | undefined;

  function keep(part: Buffer): void {
    if (skipped) {
      skipped.bytes += part.length;
      skipped.tail = Buffer.from(Buffer.concat([skipped.tail, part.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES));
      return;
    }
    parts.push(part);
    length += part.length;
    if (length <= maxBytes) return;
    const all = Buffer.concat(parts);
    skipped = {
      bytes: length,
      head: all.toString("utf8", 0, KEPT_BYTES),
      tail: Buffer.from(all.subarray(-KEPT_BYTES)),
    };
    parts = [];
    length = 0;
  }

  function end(): void {
    if (skipped) {
      const { bytes, head, tail } = skipped;
      skipped = undefined;
      return tooLong({ bytes, head, tail: tail.toString("utf8") });
    }
    const [only] = parts;
    const text = (parts.length === 1 && only ? only : Buffer.concat(parts)).toString("utf8");
    parts = [];
    length = 0;
    line(text);
  }

  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, at));
      end();
      from = at + 1;
    }
    if (from < chunk.length) keep(chunk.subarray(from));
  };
}
