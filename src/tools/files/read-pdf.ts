import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { type OpenFile, readAll } from "../../files/open-file.ts";
import type { ReadRange } from "./read.ts";

const MOST_BYTES = 50 * 1024 * 1024;
const MOST_PAGES = 20;
/** The library would tell its warnings to the console, which is not ours: errors only. */
const QUIET = { verbosity: 0 };

/** The text of some pages of a PDF. */
export async function readPdf(
  file: OpenFile,
  shown: string,
  { pages }: ReadRange,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const bytes = await readAll(file, { maxBytes: MOST_BYTES, signal });
  if (bytes === null) {
    throw toolError("too_large", `${shown} is a PDF of ${file.info.size} bytes; at most ${MOST_BYTES} are read`, {
      next: "Split it first, for instance through exec.",
    });
  }
  const { getDocumentProxy } = await import("unpdf");
  const document = await getDocumentProxy(new Uint8Array(bytes), QUIET).catch((cause: unknown) =>
    unreadable(shown, cause),
  );
  try {
    const { first, last } = parsePages(pages, document.numPages);
    const parts: string[] = [];
    for (let page = first; page <= last; page++) {
      signal.throwIfAborted();
      const text = await pageText(document, page).catch((cause: unknown) => unreadable(shown, cause));
      parts.push(`--- page ${page} of ${document.numPages} ---\n${text.trim() || "(no text on this page)"}`);
    }
    const content = parts.join("\n\n");
    const next = Math.min(document.numPages, last + MOST_PAGES);
    return {
      content: last < document.numPages ? `${content}\n\n[Use pages=${last + 1}-${next} to continue.]` : content,
      display: `Read ${shown}: pages ${first}-${last} of ${document.numPages}`,
      details: {
        content,
        size: bytes.length,
        path: shown,
        totalPages: document.numPages,
        firstPage: first,
        lastPage: last,
      },
    };
  } finally {
    await document.destroy();
  }
}

type PdfDocument = Awaited<ReturnType<typeof import("unpdf").getDocumentProxy>>;

/** A page at a time: the library's own function reads all of them, however few are wanted. */
async function pageText(document: PdfDocument, number: number): Promise<string> {
  const page = await document.getPage(number);
  const { items } = await page.getTextContent();
  return items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
}

function unreadable(shown: string, cause: unknown): never {
  const why = cause instanceof Error ? cause.message : String(cause);
  throw toolError("bad_encoding", `${shown} cannot be read as a PDF: ${why}`, {
    next: "It may be damaged or locked; ask for another copy.",
    cause,
  });
}

/** `3`, `3-`, `3-7`; from the first on where nothing is said. */
function parsePages(pages: string | undefined, total: number): { first: number; last: number } {
  const match = /^\s*(\d+)\s*(-)?\s*(\d+)?\s*$/.exec(pages ?? "1-");
  const first = Number(match?.[1]);
  const wanted = match?.[3] === undefined ? (match?.[2] ? first + MOST_PAGES - 1 : first) : Number(match[3]);
  const last = Math.min(wanted, total);
  if (!match || (match[3] !== undefined && !match[2]) || first < 1 || last < first || last - first >= MOST_PAGES) {
    const count = `${total} ${total === 1 ? "page" : "pages"}`;
    throw toolError("bad_range", `pages ${JSON.stringify(pages)} does not name pages of a PDF that has ${count}`, {
      next: `Give a range such as 1-5, at most ${MOST_PAGES} pages at once.`,
    });
  }
  return { first, last };
}
