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
