import { errorMessage, toolError, type ToolError } from "../../core/error.ts";
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
  const edge = Math.max(measured?.width ?? 0, measured?.height ?? 0);
  const details = { path: shown, mimeType, size: bytes.length, ...measured };
  const size = measured ? `${measured.width}×${measured.height}` : "of unknown dimensions";
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
    if (!measured) throw new Error("its dimensions are unknown");
    const request = { bytes, ...measured, mimeType, maxEdge: SHOWN_EDGE, maxBytes: MAX_IMAGE_BYTES, signal };
    const scaled = await scaleImage(request);
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
    if (bytes.length <= MAX_IMAGE_BYTES && edge <= MAX_EDGE) return whole;
    throw tooLarge(shown, `${bytes.length} bytes, ${size}, and cannot be scaled: ${errorMessage(cause)}`, cause);
  }
}

function tooLarge(shown: string, why: string, cause?: unknown): ToolError {
  return toolError("too_large", `${shown} is an image of ${why}`, {
    next: `Scale a copy with a command, such as: magick ${JSON.stringify(shown)} -resize ${SHOWN_EDGE}x${SHOWN_EDGE} scaled.png`,
    cause,
  });
}
