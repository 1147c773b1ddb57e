/** Magic bytes, at an offset; what a file is, whatever its name says. */
const SIGNATURES: readonly { type: string; at?: number; bytes: string; and?: { at: number; bytes: string } }[] = [
  { type: "image/png", bytes: "\x89PNG\r\n\x1a\n" },
  { type: "image/jpeg", bytes: "\xff\xd8\xff" },
  { type: "image/gif", bytes: "GIF87a" },
  { type: "image/gif", bytes: "GIF89a" },
  { type: "image/webp", bytes: "RIFF", and: { at: 8, bytes: "WEBP" } },
  // The four zero bytes are a reserved field: "BM" alone also begins many a text.
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

/** From the first bytes of a file (32 are enough); null for text and for what is not known. */
export function detectMediaType(head: Uint8Array): string | null {
  const holds = (bytes: string, at = 0) =>
    [...bytes].every((character, index) => head[at + index] === character.charCodeAt(0));
  const found = SIGNATURES.find(
    ({ at, bytes, and }) => holds(bytes, at) && (and === undefined || holds(and.bytes, and.at)),
  );
  return found?.type ?? null;
}

/** Width and height in pixels; null where the image is damaged or of a kind that has none. */
export async function measureImage(bytes: Uint8Array): Promise<{ width: number; height: number } | null> {
  const { imageSize } = await import("image-size");
  try {
    const { width, height } = imageSize(bytes);
    return { width, height };
  } catch {
    return null;
  }
}

/** The library would tell its warnings to the console, which is not ours: errors only. */
const QUIET = { verbosity: 0 };

/** A PDF whose pages are read one at a time, since a reader seldom wants all of them. */
export interface PdfText {
  readonly pages: number;
  /** From 1; trimmed. */
  textOf(page: number): Promise<string>;
  close(): Promise<void>;
}

/** Rejects with the library's own words where the bytes are no PDF, or one that is locked. */
export async function openPdf(bytes: Uint8Array): Promise<PdfText> {
  const { getDocumentProxy } = await import("unpdf");
  // It takes the memory of what it is given.
  const document = await getDocumentProxy(new Uint8Array(bytes), QUIET);
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
