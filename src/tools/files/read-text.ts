import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { LineIndexes } from "../../files/line-index.ts";
import { type OpenFile, readAll } from "../../files/open-file.ts";
import { type LineWindow, readLines } from "../../files/read-lines.ts";
import { decodeBytes } from "../../files/text-encoding.ts";
import type { ReadRange } from "./read.ts";

/** Each line also costs its number; together with 50 KiB of text this stays below the tool's own budget. */
const MAX_LINES = 5_000;
const MAX_FORCED_BYTES = 16 * 1024 * 1024;

export interface TextReading extends ReadRange {
  shown: string;
  maxBytes?: number;
  signal: AbortSignal;
}

/** A window of lines, numbered, with what to ask for next. */
export async function readText(given: OpenFile, indexes: LineIndexes, reading: TextReading): Promise<ToolOutput> {
  const { shown, maxBytes, offset, encoding, signal } = reading;
  const { size } = given.info;
  const limit = reading.limit === undefined ? undefined : Math.min(reading.limit, MAX_LINES);
  if (maxBytes !== undefined && limit === undefined) refuseLarge(shown, size, maxBytes);
  const range = { ...(offset === undefined ? {} : { offset }), ...(limit === undefined ? {} : { limit }), signal };
  const file = encoding === undefined ? given : await transcode(given, encoding, signal);
  const window = await readLines(file, indexes, range);
  const { lines, firstLine, lastLine, totalLines, nextOffset, cut } = window;
  if (lines.length === 0 && firstLine > 1) throw pastTheEnd(shown, window);
  const content = lines.join("\n") + (nextOffset === null && endsWithLineFeed(file, window.encoding) ? "\n" : "");
  if (maxBytes !== undefined) refuseLarge(shown, Buffer.byteLength(content), maxBytes);
  const numbered = lines.map((line, i) => `${String(firstLine + i).padStart(6)}\t${line}`);
  return {
    content: [
      numbered.length > 0 ? numbered.join("\n") : "(empty file)",
      ...notices({ ...window, encoding: encoding ?? window.encoding }),
    ].join("\n"),
    display: describe(shown, window),
    details: {
      content,
      size,
      path: shown,
      lines: lines.length,
      firstLine,
      lastLine,
      totalLines,
      nextOffset,
      truncated: nextOffset !== null || cut.length > 0,
      encoding: encoding ?? window.encoding,
    },
  };
}

function notices({ firstLine, lastLine, totalLines, nextOffset, cut, stoppedBy, encoding }: LineWindow): string[] {
  const notes: string[] = [];
  if (nextOffset !== null) {
    const of = totalLines === null ? "" : ` of ${totalLines}`;
    const why = stoppedBy === "bytes" ? " (the answer is full)" : "";
    notes.push(`[Showing lines ${firstLine}-${lastLine}${of}${why}. Use offset=${nextOffset} to continue.]`);
  }
  if (cut.length > 0) {
    const first = cut.slice(0, 5).map(({ line, bytes }) => `${line} (${bytes} bytes)`);
    const which = `${cut.length === 1 ? "line" : "lines"} ${first.join(", ")}${cut.length > 5 ? ", …" : ""}`;
    notes.push(`[Only the beginning is shown of the long ${which}.]`);
  }
  if (encoding !== "utf-8") notes.push(`[Encoding: ${encoding}.]`);
  return notes;
}

function describe(shown: string, { lines, totalLines, firstLine, lastLine }: LineWindow): string {
  if (lines.length === 0) return `Read ${shown}: empty`;
  if (firstLine !== 1 || lastLine !== totalLines) return `Read ${shown}: lines ${firstLine}-${lastLine}`;
  return `Read ${shown}: ${totalLines} ${totalLines === 1 ? "line" : "lines"}`;
}

function pastTheEnd(shown: string, { firstLine, totalLines }: LineWindow) {
  const there = totalLines === null ? "fewer lines" : `${totalLines} ${totalLines === 1 ? "line" : "lines"}`;
  return toolError("bad_range", `${shown} has ${there}; there is no line ${firstLine}`, {
    next: "Read with a smaller offset.",
    data: { totalLines },
  });
}

function refuseLarge(shown: string, bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw toolError("too_large", `That is ${bytes} bytes of ${shown}, more than the ${maxBytes} that are given at once`, {
    next: "Ask for fewer lines, with offset and limit, or search in the file.",
    data: { bytes, maxBytes },
  });
}

/** A program that writes the content back must not lose the last line end. */
function endsWithLineFeed(file: OpenFile, encoding: string): boolean {
  const tail = Buffer.alloc(Math.min(4, file.info.size));
  const bytes = tail.subarray(0, file.readNow(tail, file.info.size - tail.length));
  return decodeBytes(bytes, encoding).endsWith("\n");
}

/** The same file as if it were UTF-8: the caller knows better what its bytes mean. It is held in memory, so it is bounded. */
async function transcode(file: OpenFile, encoding: string, signal: AbortSignal): Promise<OpenFile> {
  const original = await readAll(file, { maxBytes: MAX_FORCED_BYTES, signal });
  if (original === null) {
    throw toolError("too_large", `A file above ${MAX_FORCED_BYTES} bytes is read in the encoding it is found to have`, {
      next: "Leave out encoding.",
    });
  }
  const bytes = Buffer.from(decodeBytes(original, encoding));
  const readNow = (buffer: Buffer, position: number): number => bytes.copy(buffer, 0, position);
  return {
    // Line indexes are kept by name: this is not the file of that name.
    info: { ...file.info, real: `${file.info.real}\0${encoding}`, size: bytes.length },
    read: async (buffer, position) => readNow(buffer, position),
    readNow,
    close: () => {},
  };
}
