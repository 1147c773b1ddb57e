import { countOf } from "../../core/results/count-of.ts";
import { errorMessage, toolError } from "../../core/error.ts";
import { disarmText } from "../../core/untrusted-text.ts";
import { decodeDeclared, isBinary } from "../../io/files/text-encoding.ts";
import { openPdf } from "../../io/files/media.ts";
import type { GuardedResponse } from "../../io/net/guarded-fetch.ts";
import { nestsDeeply, stripMarkup } from "./html-text.ts";
import type { Page } from "./web-fetch.ts";
import type { PageConverter } from "./page-converter.ts";

export interface PageReader {
  converter: PageConverter;
  /** Returns the markup of a page after its scripts have run, for pages that are empty without them. */
  render?: (url: string, signal: AbortSignal) => Promise<string>;
}

/** Longer markup is stripped instead of converted. */
const MAX_MARKUP_LENGTH = 4 * 1024 * 1024;
const MAX_PDF_PAGES = 100;
/** A page with less text and with scripts probably needs them. */
const MIN_TEXT_LENGTH = 200;

/** The response as text for a model: pages as Markdown, PDFs by page, everything else unchanged. */
export async function readPage(
  { url, status, headers, body }: GuardedResponse,
  requested: string,
  reader: PageReader,
  signal: AbortSignal,
): Promise<Page> {
  const type = (headers["content-type"] ?? "").toLowerCase();
  const base = { url: requested, finalUrl: url, status, notes: [] };
  if (type.includes("application/pdf") || body.subarray(0, 5).toString("latin1") === "%PDF-") {
    const pdf = await readPdf(body, url, signal);
    return { ...base, ...pdf };
  }
  if (isBinary(body)) {
    throw toolError(
      "failed",
      `${url} is ${type || "binary data"} of ${countOf(body.length, "byte")}, which is not text.`,
      {
        next: "http_get saves it as a file.",
      },
    );
  }
  if (isMarkup(type, body)) {
    const html = decodeDeclared(body, charsetOf(type) ?? metaCharset(body)).text;
    const page = await readMarkup(html, url, reader, signal);
    return { ...base, ...page };
  }
  const content = disarmText(decodeDeclared(body, charsetOf(type)).text);
  return { ...base, kind: /[/+]json\b/.test(type) ? "json" : "text", content };
}

async function readMarkup(
  html: string,
  url: string,
  { converter, render }: PageReader,
  signal: AbortSignal,
): Promise<Pick<Page, "kind" | "content" | "title" | "author" | "published" | "notes">> {
  const page = await convert(html, url, converter, signal);
  if (page.content.length >= MIN_TEXT_LENGTH || !/<script\b/i.test(html)) return page;
  const noted = (note: string) => ({ ...page, notes: [...page.notes, note] });
  if (!render) return noted("The page has hardly any text; it may need JavaScript. Try the browser tool.");
  let markup: string;
  try {
    markup = await render(url, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return noted(`The page has hardly any text, and rendering it in a browser failed: ${oneLine(String(error))}`);
  }
  const rendered = await convert(markup, url, converter, signal);
  return rendered.content.length > page.content.length
    ? { ...rendered, notes: [...rendered.notes, "Rendered in a browser, because the page needs JavaScript."] }
    : page;
}

async function convert(html: string, url: string, converter: PageConverter, signal: AbortSignal) {
  const stripped = (why: string) => ({
    kind: "html" as const,
    content: disarmText(stripMarkup(html)),
    notes: [`Shown as plain text, because ${why}.`],
  });
  if (html.length > MAX_MARKUP_LENGTH) return stripped("the page is too large to be converted");
  if (nestsDeeply(html)) return stripped("its markup is nested too deeply");
  try {
    const { content, title, author, published } = await converter.convert({ html, url }, signal);
    const words = content.trim() === "" ? stripMarkup(html) : "";
    if (words.length > MIN_TEXT_LENGTH) return stripped("no main content was found in it");
    return {
      kind: "html" as const,
      title: oneLine(title) || undefined,
      author: oneLine(author) || undefined,
      published: oneLine(published) || undefined,
      content: disarmText(content).trim(),
      notes: [],
    };
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    return stripped(`it could not be converted (${oneLine(errorMessage(cause))})`);
  }
}

async function readPdf(body: Buffer, url: string, signal: AbortSignal) {
  const unreadable = (cause: unknown): never => {
    throw toolError("bad_encoding", `${url} cannot be read as a PDF: ${oneLine(String(cause))}`, {
      next: "It may be damaged or locked. Use another source.",
      cause,
    });
  };
  const pdf = await openPdf(body).catch(unreadable);
  try {
    const parts: string[] = [];
    for (let page = 1; page <= Math.min(pdf.pages, MAX_PDF_PAGES); page++) {
      signal.throwIfAborted();
      const text = await pdf.textOf(page).catch(unreadable);
      parts.push(`--- page ${page} of ${pdf.pages} ---\n${disarmText(text) || "(no text on this page)"}`);
    }
    const notes = pdf.pages > MAX_PDF_PAGES ? [`Only the first ${MAX_PDF_PAGES} pages were read.`] : [];
    return { kind: "pdf" as const, content: parts.join("\n\n"), pages: pdf.pages, notes };
  } finally {
    await pdf.close();
  }
}

function isMarkup(type: string, body: Buffer): boolean {
  if (/^(?:text\/html|application\/xhtml\+xml)/.test(type)) return true;
  if (type !== "" && !type.startsWith("text/plain") && !type.includes("octet-stream")) return false;
  return /^\s*(?:<!doctype html|<html\b)/i.test(body.subarray(0, 512).toString("latin1"));
}

function charsetOf(type: string): string | undefined {
  return /;\s*charset\s*=\s*("[^"]*"|[^;\s]+)/.exec(type)?.[1];
}

/** `<meta charset=…>` or its older form, near the beginning. */
function metaCharset(body: Buffer): string | undefined {
  const head = body.subarray(0, 4096).toString("latin1");
  return /<meta\b[^>]{0,200}?\bcharset\s*=\s*["']?\s*([\w-]{1,40})/i.exec(head)?.[1];
}

function oneLine(text: string): string {
  return disarmText(text).replace(/\s+/g, " ").trim().slice(0, 300);
}
