import { errorMessage, ToolError, toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { measureImage } from "../../io/files/media.ts";
import { type OpenFile, readAll } from "../../io/files/open-file.ts";
import { scaleImage } from "../../io/files/scale-image.ts";

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
