import { isUtf8 } from "node:buffer";
import { errorMessage, toolError, ToolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { measureImage } from "../../io/files/media.ts";
import { type OpenFile, readAll } from "../../io/files/open-file.ts";
import { scaleImage } from "../../io/files/scale-image.ts";
import { countOf } from "../../core/results/count-of.ts";
import { continueBy, resultTokensOf } from "../../core/results/next-call.ts";
import { startWithin } from "../../core/results/text-window.ts";
import type { ToolContext } from "../../core/tool.ts";

/** Image types, sizes and edges that model providers accept. */
const SHOWN_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const MAX_IMAGE_BYTES = 4.5 * 1024 * 1024;
const MAX_EDGE = 8000;
/** Providers scale larger images themselves, after they were paid for. */
const SHOWN_EDGE = 2000;
/** Larger files are not even decoded. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** An image as an image, scaled if it is larger than models accept. */
export async function readImage(
  file: OpenFile,
  shown: string,
  mimeType: string,
  signal: AbortSignal,
): Promise<ToolOutput> {
  if (!SHOWN_TYPES.includes(mimeType)) {
    throw toolError("not_regular_file", `${shown} is an image of type ${mimeType}, which models cannot view`, {
      next: "Convert it to PNG first, for example with exec.",
    });
  }
  const bytes = await readAll(file, { maxBytes: MAX_FILE_BYTES, signal });
  if (bytes === null) throw tooLarge(shown, `${file.info.size} bytes; at most ${MAX_FILE_BYTES} can be scaled`);
  const measured = await measureImage(bytes);
  if (!measured) throw damaged(shown, mimeType, "its dimensions cannot be read");
  const { width, height, orientation } = measured;
  const edge = Math.max(width, height);
  const details = { path: shown, mimeType, size: bytes.length, width, height };
  const size = `${width}×${height}`;
  const whole = {
    content: [
      { type: "text" as const, text: `MEDIA:${shown}` },
      { type: "image" as const, data: bytes.toString("base64"), mimeType },
    ],
    display: `Read image ${shown}: ${mimeType}, ${size}`,
    details,
  };
  if (bytes.length <= MAX_IMAGE_BYTES && edge <= SHOWN_EDGE) return whole;
  try {
    const limits = { maxEdge: SHOWN_EDGE, maxBytes: MAX_IMAGE_BYTES };
    const scaled = await scaleImage({ bytes, width, height, orientation, mimeType, ...limits, signal });
    const to = `${scaled.width}×${scaled.height}`;
    return {
      content: [
        { type: "text", text: `MEDIA:${shown} (scaled from ${size} to ${to})` },
        { type: "image", data: scaled.bytes.toString("base64"), mimeType: scaled.mimeType },
      ],
      display: `Read image ${shown}: ${mimeType}, ${size}, scaled to ${to}`,
      details: { ...details, shownWidth: scaled.width, shownHeight: scaled.height },
    };
  } catch (cause) {
    signal.throwIfAborted();
    const code = cause instanceof ToolError ? cause.code : "failed";
    if (code === "missing_package" && bytes.length <= MAX_IMAGE_BYTES && edge <= MAX_EDGE) return whole;
    if (code === "bad_encoding") throw damaged(shown, mimeType, errorMessage(cause), cause);
    if (code === "busy") throw toolError("busy", `${shown} was not read: ${errorMessage(cause)}`, { cause });
    throw tooLarge(shown, `${bytes.length} bytes, ${size}, and cannot be scaled: ${errorMessage(cause)}`, cause);
  }
}

function damaged(shown: string, mimeType: string, why: string, cause?: unknown): ToolError {
  return toolError("bad_encoding", `${shown} cannot be decoded as ${mimeType}: ${why}`, {
    next: `It may be incomplete. If other programs open it, convert a copy with a command, such as: ${scaleCommand(shown)}`,
    cause,
  });
}

function tooLarge(shown: string, why: string, cause?: unknown): ToolError {
  return toolError("too_large", `${shown} is an image of ${why}`, {
    next: `Scale a copy with a command, such as: ${scaleCommand(shown)}`,
    cause,
  });
}

function scaleCommand(shown: string): string {
  return `magick ${JSON.stringify(shown)} -resize ${SHOWN_EDGE}x${SHOWN_EDGE} scaled.png`;
}

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
