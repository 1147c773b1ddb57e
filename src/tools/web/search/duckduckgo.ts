import { stripMarkup } from "../strip-markup.ts";
import { type SearchProvider, type SearchResult, withQuery } from "./search-provider.ts";

// Each part is bounded, so that no page takes long to be looked through.
const LINK = /<a\b[^>]{0,500}class="result__a"[^>]{0,500}?href="([^"]{1,4000})"[^>]{0,500}>([^]{0,1000}?)<\/a>/g;
const SNIPPET = /class="result__snippet"[^>]{0,5000}>([^]{0,3000}?)<\/(?:a|div|td)>/;

/** Its page without scripts, since there is no key and no API for web results; it refuses when asked often. */
export const duckduckgo: SearchProvider = {
  name: "duckduckgo",
  endpoint: "https://html.duckduckgo.com/html/",
  needs: {},
  maxResults: 25,
  ask: ({ query, freshness }, { endpoint }) => ({
    url: withQuery(endpoint, { q: query, df: freshness?.[0] }),
    headers: { accept: "text/html" },
  }),
  read(answer) {
    const links = [...answer.matchAll(LINK)];
    if (links.length === 0 && !/no-results|No results/.test(answer))
      throw new Error("it answered with something else than results");
    return links.flatMap((link, index): SearchResult[] => {
      const end = links[index + 1]?.index ?? answer.length;
      const url = realUrl(stripMarkup(link[1] ?? ""));
      if (url === undefined) return [];
      const snippet = SNIPPET.exec(answer.slice(link.index, Math.min(end, link.index + 20_000)))?.[1] ?? "";
      return [{ title: stripMarkup(link[2] ?? ""), url, snippet: stripMarkup(snippet) }];
    });
  },
};

/** Its links lead through itself; those that stay with it are advertisements. */
function realUrl(href: string): string | undefined {
  try {
    const link = new URL(href, "https://duckduckgo.com");
    const target = link.hostname.endsWith("duckduckgo.com") ? link.searchParams.get("uddg") : link.href;
    return target && /^https?:/.test(target) && !new URL(target).hostname.endsWith("duckduckgo.com")
      ? target
      : undefined;
  } catch {
    return undefined;
  }
}
