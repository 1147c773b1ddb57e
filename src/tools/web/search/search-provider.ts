import type { GuardedRequest } from "../../../net/guarded-net.ts";

export const FRESHNESS = ["day", "week", "month", "year"] as const;
/** How old a page may be. */
export type Freshness = (typeof FRESHNESS)[number];

export interface SearchQuery {
  query: string;
  limit: number;
  freshness: Freshness | undefined;
}

export interface SearchResult {
  title: string;
  url: string;
  snippet: string;
  /** When it was published, in the provider's own words. */
  published?: string;
}

/** What a provider is set up with, from the configuration or the environment. */
export interface ProviderKeys {
  apiKey: string;
  endpoint: string;
  engineId: string;
}

/** How one provider is asked and understood. No I/O: requests are sent, and failures told, in one place. */
export interface SearchProvider {
  name: string;
  /** Where it is asked unless told otherwise; none where everybody runs their own. */
  endpoint: string | undefined;
  /** What it cannot do without, and the names in the environment that may hold it. */
  needs: Partial<Record<keyof ProviderKeys, readonly string[]>>;
  /** More are not asked for at once. */
  maxResults: number;
  ask(query: SearchQuery, keys: ProviderKeys): Pick<GuardedRequest, "method" | "headers" | "body"> & { url: string };
  /** Of the answer's text; throws where it is not what was expected. */
  read(answer: string): SearchResult[];
}

/** A URL with its query; what is undefined is left out. */
export function withQuery(url: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const whole = new URL(url);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) whole.searchParams.set(name, String(value));
  return whole.href;
}

/** Results of a list somewhere in an answer, by the names that the provider gives their parts. */
export function readList(
  list: unknown,
  names: { title: string; url: string; snippet: readonly string[]; published?: readonly string[] },
): SearchResult[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw new Error("its list of results is no list");
  return list.flatMap((item: unknown): SearchResult[] => {
    const fields = (typeof item === "object" && item !== null ? item : {}) as Record<string, unknown>;
    const first = (keys: readonly string[] = []): string =>
      keys.map((key) => fields[key]).find((value): value is string => typeof value === "string" && value !== "") ?? "";
    const url = first([names.url]);
    const published = first(names.published);
    if (!/^https?:\/\//i.test(url)) return [];
    return [
      { title: first([names.title]) || url, url, snippet: first(names.snippet), ...(published ? { published } : {}) },
    ];
  });
}

/** The value at a path of names in JSON; undefined where there is none. */
export function readPath(answer: string, ...path: readonly string[]): unknown {
  let value: unknown = JSON.parse(answer);
  for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value;
}
