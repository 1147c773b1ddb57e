import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { measureImage } from "../../files/media-type.ts";
import { type OpenFile, readAll } from "../../files/open-file.ts";

/** What providers take as an image, and how large it may be. */
const SHOWN_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const MAX_BYTES = 4.5 * 1024 * 1024;

export async function readImage(
  file: OpenFile,
  shown: string,
  mimeType: string,
  signal: AbortSignal,
): Promise<ToolOutput> {
  if (!SHOWN_TYPES.includes(mimeType)) {
    throw toolError("not_regular_file", `${shown} is an image of type ${mimeType}, which models cannot be shown`, {
      next: "Convert it to PNG first, for instance through exec.",
    });
  }
  const bytes = await readAll(file, { maxBytes: MAX_BYTES, signal });
  if (bytes === null) {
    throw toolError("too_large", `${shown} is an image of ${file.info.size} bytes; at most ${MAX_BYTES} can be shown`, {
      next: "Scale it down first, for instance through exec.",
    });
  }
  const measured = await measureImage(bytes);
  const size = measured ? `${measured.width}×${measured.height}` : "of unknown dimensions";
  return {
    content: [
      { type: "text", text: `MEDIA:${shown}` },
      { type: "image", data: bytes.toString("base64"), mimeType },
    ],
    display: `Read image ${shown}: ${mimeType}, ${size}`,
    details: { path: shown, mimeType, size: bytes.length, ...measured },
  };
}
