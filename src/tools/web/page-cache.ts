import type { Clock } from "../../core/clock.ts";
import type { Page } from "./page.ts";

/** Pages for a while, so that reading on, or asking again, fetches nothing. The oldest go first. */
export interface PageCache {
  get(url: string): Page | undefined;
  set(url: string, page: Page): void;
}

export interface PageCacheOptions {
  clock: Clock;
  ttlMs: number;
  maxPages?: number;
  maxCharacters?: number;
}

export function createPageCache({
  clock,
  ttlMs,
  maxPages = 100,
  maxCharacters = 32 * 1024 * 1024,
}: PageCacheOptions): PageCache {
  const kept = new Map<string, { page: Page; until: number }>();
  let characters = 0;
  const drop = (url: string): void => {
    characters -= kept.get(url)?.page.content.length ?? 0;
    kept.delete(url);
  };
  return {
    get(url) {
      const found = kept.get(url);
      if (!found) return undefined;
      if (found.until > clock.monotonic()) return found.page;
      drop(url);
      return undefined;
    },
    set(url, page) {
      drop(url);
      kept.set(url, { page, until: clock.monotonic() + ttlMs });
      characters += page.content.length;
      for (const oldest of kept.keys()) {
        if (kept.size <= maxPages && characters <= maxCharacters) break;
        drop(oldest);
      }
    },
  };
}
