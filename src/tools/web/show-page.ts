import { wrapUntrusted } from "../../core/untrusted-text.ts";
import type { Page } from "./page.ts";

/** A part of a page, and where the next one begins. */
export interface ShownPage extends Omit<Page, "notes"> {
  offset: number;
  totalCharacters: number;
  nextOffset?: number;
  notes?: readonly string[];
  fromCache?: true;
}

export interface Window {
  offset: number;
  limit: number;
}

export function cutPage({ notes, ...page }: Page, { offset, limit }: Window): ShownPage {
  const { content } = page;
  const end = wholeCharacter(content, Math.min(content.length, offset + limit));
  return {
    ...page,
    content: content.slice(wholeCharacter(content, offset), end),
    offset,
    totalCharacters: content.length,
    ...(end < content.length ? { nextOffset: end } : {}),
    ...(notes.length > 0 ? { notes } : {}),
  };
}

/** For the model: what it is, its text between marks, and how to go on. */
export function showPage(page: ShownPage): string {
  if (page.redirect !== undefined) {
    return `${page.url} leads to another host: ${page.redirect}\nNothing was fetched from there. Call web_fetch with that URL if you want it.`;
  }
  const facts = [page.title && `# ${page.title}`, page.author && `by ${page.author}`, page.published].filter(Boolean);
  const body = [...(page.offset === 0 ? facts : []), page.content].join("\n");
  const lines = [wrapUntrusted(body, page.finalUrl), ...(page.notes ?? [])];
  if (page.nextOffset !== undefined) {
    lines.push(
      `[Characters ${page.offset} to ${page.nextOffset} of ${page.totalCharacters}. Use offset=${page.nextOffset} to continue.]`,
    );
  } else if (page.content === "" && page.offset > 0) {
    lines.push(`[The page has ${page.totalCharacters} characters; there is nothing at offset ${page.offset}.]`);
  }
  return lines.join("\n");
}

function wholeCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
