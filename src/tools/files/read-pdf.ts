import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { type OpenFile, readAll } from "../../files/open-file.ts";
import { openPdf } from "../../files/pdf-text.ts";
import type { ReadRange } from "./read.ts";

const MAX_BYTES = 50 * 1024 * 1024;
const MAX_PAGES = 20;

/** The text of some pages of a PDF. */
export async function readPdf(
  file: OpenFile,
  shown: string,
  { pages }: ReadRange,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const bytes = await readAll(file, { maxBytes: MAX_BYTES, signal });
  if (bytes === null) {
    throw toolError("too_large", `${shown} is a PDF of ${file.info.size} bytes; at most ${MAX_BYTES} are read`, {
      next: "Split it first, for instance through exec.",
    });
  }
  const document = await openPdf(bytes).catch((cause: unknown) => unreadable(shown, cause));
  try {
    const { first, last } = parsePages(pages, document.pages);
    const parts: string[] = [];
    for (let page = first; page <= last; page++) {
      signal.throwIfAborted();
      const text = await document.textOf(page).catch((cause: unknown) => unreadable(shown, cause));
      parts.push(`--- page ${page} of ${document.pages} ---\n${text || "(no text on this page)"}`);
    }
    const content = parts.join("\n\n");
    const next = Math.min(document.pages, last + MAX_PAGES);
    return {
      content: last < document.pages ? `${content}\n\n[Use pages=${last + 1}-${next} to continue.]` : content,
      display: `Read ${shown}: pages ${first}-${last} of ${document.pages}`,
      details: {
        content,
        size: bytes.length,
        path: shown,
        totalPages: document.pages,
        firstPage: first,
        lastPage: last,
      },
    };
  } finally {
    await document.close();
  }
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
  const wanted = match?.[3] === undefined ? (match?.[2] ? first + MAX_PAGES - 1 : first) : Number(match[3]);
  const last = Math.min(wanted, total);
  if (!match || (match[3] !== undefined && !match[2]) || first < 1 || last < first || last - first >= MAX_PAGES) {
    const count = `${total} ${total === 1 ? "page" : "pages"}`;
    throw toolError("bad_range", `pages ${JSON.stringify(pages)} does not name pages of a PDF that has ${count}`, {
      next: `Give a range such as 1-5, at most ${MAX_PAGES} pages at once.`,
    });
  }
  return { first, last };
}
