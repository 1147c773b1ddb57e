/** Magic bytes at an offset. They identify a file independently of its name. */
const SIGNATURES: readonly { type: string; at?: number; bytes: string; and?: { at: number; bytes: string } }[] = [
  { type: "image/png", bytes: "\x89PNG\r\n\x1a\n" },
  { type: "image/jpeg", bytes: "\xff\xd8\xff" },
  { type: "image/gif", bytes: "GIF87a" },
  { type: "image/gif", bytes: "GIF89a" },
  { type: "image/webp", bytes: "RIFF", and: { at: 8, bytes: "WEBP" } },
  // The four zero bytes are a reserved field. "BM" alone is also the beginning of many texts.
  { type: "image/bmp", bytes: "BM", and: { at: 6, bytes: "\0\0\0\0" } },
  { type: "image/tiff", bytes: "II*\0" },
  { type: "image/tiff", bytes: "MM\0*" },
  { type: "image/x-icon", bytes: "\0\0\x01\0" },
  { type: "image/avif", at: 4, bytes: "ftypavif" },
  { type: "image/heic", at: 4, bytes: "ftypheic" },
  { type: "application/pdf", bytes: "%PDF-" },
  { type: "application/zip", bytes: "PK\x03\x04" },
  { type: "application/gzip", bytes: "\x1f\x8b" },
  { type: "application/x-bzip2", bytes: "BZh" },
  { type: "application/x-xz", bytes: "\xfd7zXZ\0" },
  { type: "application/zstd", bytes: "\x28\xb5\x2f\xfd" },
  { type: "application/x-7z-compressed", bytes: "7z\xbc\xaf\x27\x1c" },
  { type: "application/vnd.sqlite3", bytes: "SQLite format 3\0" },
  { type: "application/wasm", bytes: "\0asm" },
  { type: "application/x-elf", bytes: "\x7fELF" },
  { type: "audio/wav", bytes: "RIFF", and: { at: 8, bytes: "WAVE" } },
  { type: "audio/mpeg", bytes: "ID3" },
  { type: "audio/flac", bytes: "fLaC" },
  { type: "audio/ogg", bytes: "OggS" },
  { type: "video/mp4", at: 4, bytes: "ftyp" },
  { type: "video/webm", bytes: "\x1a\x45\xdf\xa3" },
];

/** The media type for the first bytes of a file (32 are enough); null for text and unknown types. */
export function detectMediaType(head: Uint8Array): string | null {
  const has = (bytes: string, at = 0) =>
    [...bytes].every((character, index) => head[at + index] === character.charCodeAt(0));
  const found = SIGNATURES.find(
    ({ at, bytes, and }) => has(bytes, at) && (and === undefined || has(and.bytes, and.at)),
  );
  return found?.type ?? null;
}

export interface ImageSize {
  /** As shown, so upright. */
  width: number;
  height: number;
  /** The EXIF orientation of a photo. 1 is upright. */
  orientation?: number;
}

/** The size in pixels; null if the image is damaged or its format has none. */
export async function measureImage(bytes: Uint8Array): Promise<ImageSize | null> {
  const { imageSize } = await import("image-size");
  // A copy of a part: the library reads past the end of a view.
  const whole = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
  try {
    const { width, height, orientation = 1 } = imageSize(whole);
    if (width === 0 || height === 0) return null;
    if (orientation < 2 || orientation > 8) return { width, height };
    return orientation < 5 ? { width, height, orientation } : { width: height, height: width, orientation };
  } catch {
    return null;
  }
}

/** Errors only: the library would print its warnings to the console. */
const PDF_OPTIONS = { verbosity: 0 };

/** A PDF whose pages are read one at a time. */
export interface PdfText {
  readonly pages: number;
  /** The trimmed text of a page, counted from 1. */
  textOf(page: number): Promise<string>;
  close(): Promise<void>;
}

/** Rejects with the library's message if the bytes are not a PDF or the PDF is locked. */
export async function openPdf(bytes: Uint8Array): Promise<PdfText> {
  const { getDocumentProxy } = await import("unpdf");
  // A copy: the library takes over the memory of its argument.
  const document = await getDocumentProxy(new Uint8Array(bytes), PDF_OPTIONS);
  return {
    pages: document.numPages,
    async textOf(number) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      return items
        .map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : ""))
        .join("")
        .trim();
    },
    close: () => document.destroy(),
  };
}
