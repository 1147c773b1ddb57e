import { isUtf8 } from "node:buffer";
import { countOf } from "../../core/results/count-of.ts";
import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { continueBy, resultTokensOf } from "../../core/results/next-call.ts";
import { startWithin } from "../../core/results/text-window.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { OpenFile } from "../../io/files/open-file.ts";

const MAX_BYTES = 48 * 1024;
/** A line of the dump shows 16 bytes and costs about 26 tokens. */
const DUMP_BYTES_PER_TOKEN = 0.6;
const BYTES_PER_LINE = 16;

/** The bytes of a range such as `0-4095` or `4096-`: as text, or as a dump if they are not UTF-8. */
export function readBytes(file: OpenFile, shown: string, range: string, context: ToolContext): ToolOutput {
  const { size } = file.info;
  const { first, last } = parseRange(range, shown, size);
  const maxTokens = resultTokensOf(context);
  const buffer = Buffer.alloc(Math.min(last - first + 1, MAX_BYTES));
  const bytes = buffer.subarray(0, file.readNow(buffer, first));
  const { text, length } = asText(bytes, maxTokens) ?? dump(bytes, first, maxTokens);
  const next = first + length;
  const note =
    next > last
      ? ""
      : `\n[Showing bytes ${first}-${next - 1} of ${size}. ${continueBy(context, { bytes: `${next}-` })}]`;
  return {
    content: text + note,
    display: `Read ${shown}: bytes ${first}-${next - 1} of ${size}`,
    details: { content: text, size, path: shown, truncated: next < size, nextByte: next < size ? next : undefined },
  };
}

function parseRange(range: string, shown: string, size: number): { first: number; last: number } {
  const match = /^\s*(\d+)\s*(?:-\s*(\d*)\s*)?$/.exec(range);
  const first = Number(match?.[1]);
  const last = Math.min(size - 1, match?.[2] ? Number(match[2]) : size - 1);
  if (match && first <= last) return { first, last };
  throw toolError(
    "bad_range",
    `bytes ${JSON.stringify(range)} is not a range in ${shown}, which has ${countOf(size, "byte")}`,
    {
      next: "Give the first and the last byte, counted from 0, such as 0-4095 or 4096-.",
    },
  );
}

/** Undefined if it is not UTF-8. A character at the end that is not complete is left for the next range. */
function asText(bytes: Buffer, maxTokens: number): { text: string; length: number } | undefined {
  for (let skipped = 0; skipped < 4; skipped++) {
    for (let missing = 0; missing < 4 && skipped + missing < bytes.length; missing++) {
      const whole = bytes.subarray(skipped, bytes.length - missing);
      if (!isUtf8(whole)) continue;
      const text = startWithin(whole.toString(), maxTokens);
      return text.includes("\0") ? undefined : { text, length: skipped + Buffer.byteLength(text) };
    }
  }
  return undefined;
}

function dump(bytes: Buffer, first: number, maxTokens: number): { text: string; length: number } {
  const shown = bytes.subarray(0, Math.max(BYTES_PER_LINE, Math.floor(maxTokens * DUMP_BYTES_PER_TOKEN)));
  const lines: string[] = [];
  for (let at = 0; at < shown.length; at += BYTES_PER_LINE) {
    const line = shown.subarray(at, at + BYTES_PER_LINE);
    const hex = line.toString("hex").replace(/..(?=.)/g, "$& ");
    lines.push(`${(first + at).toString(16).padStart(8, "0")}  ${hex}`);
  }
  return { text: lines.join("\n"), length: shown.length };
}
