import { stripTerminalCodes } from "../../shell/strip-terminal-codes.ts";

/** The last of what a server wrote to its standard error. It is always read: a full pipe would stop the server. */
export interface StderrTail {
  push(chunk: Buffer): void;
  readonly totalBytes: number;
  /** As a person may be shown them. */
  lines(max?: number): string[];
}

const KEPT_BYTES = 16 * 1024;
const MAX_LINE_LENGTH = 500;

export function createStderrTail(): StderrTail {
  let kept: Buffer = Buffer.alloc(0);
  let totalBytes = 0;
  return {
    push(chunk) {
      totalBytes += chunk.length;
      // Copied: a slice would hold on to the whole chunk.
      kept = Buffer.from(Buffer.concat([kept, chunk.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES));
    },
    get totalBytes() {
      return totalBytes;
    },
    lines: (max = 20) =>
      stripTerminalCodes(kept.toString("utf8"))
        .split("\n")
        .filter((line) => line.trim() !== "")
        .slice(-max)
        .map((line) => (line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line)),
  };
}
