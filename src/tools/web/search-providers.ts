import { nearestNames } from "../../core/nearest-name.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { GuardedRequest } from "../../io/net/guarded-fetch.ts";
import { stripMarkup } from "./html-text.ts";

export const FRESHNESS = ["day", "week", "month", "year"] as const;
/** Max age of a page. */
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
  /** When it was published, as the provider writes it. */
  published?: string;
}

/** Settings of a provider, from the configuration or the environment. */
interface ProviderKeys {
  apiKey: string;
  endpoint: string;
  engineId: string;
}

/** Builds the requests and parses the responses of one provider. It does no I/O. */
interface SearchProvider {
  name: string;
  /** The default endpoint; undefined if it is self-hosted. */
  endpoint: string | undefined;
  /** Required settings and the environment variables that may provide them. */
  needs: Partial<Record<keyof ProviderKeys, readonly string[]>>;
  /** Max results per request. */
  maxResults: number;
  buildRequest(
    query: SearchQuery,
    keys: ProviderKeys,
  ): Pick<GuardedRequest, "method" | "headers" | "body"> & { url: string };
  /** Parses the response text. Throws if it is not as expected. */
  read(response: string): SearchResult[];
}

/** A URL with query parameters; undefined values are omitted. */
function withQuery(url: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const whole = new URL(url);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) whole.searchParams.set(name, String(value));
  return whole.href;
}

/** Converts a list of results; `names` are the provider's field names. */
function readList(
  list: unknown,
  names: { title: string; url: string; snippet: readonly string[]; published?: readonly string[] },
): SearchResult[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw new Error("its list of results is not a list");
  return list.flatMap((item: unknown): SearchResult[] => {
    const fields = isObject(item) ? item : {};
    const first = (keys: readonly string[] = []): string =>
      keys.map((key) => fields[key]).find((value): value is string => typeof value === "string" && value !== "") ?? "";
    const url = first([names.url]);
    const published = first(names.published);
    if (!/^https?:\/\//i.test(url)) return [];
    return [
      { title: first([names.title]) || url, url, snippet: first(names.snippet), published: published || undefined },
    ];
  });
}

/** The value at a path in JSON; undefined if there is none. */
function readPath(response: string, ...path: readonly string[]): unknown {
  let value: unknown = JSON.parse(response);
  for (const name of path) value = isObject(value) ? value[name] : undefined;
  return value;
}

/** https://docs.tavily.com/documentation/api-reference/endpoint/search */
const tavily: SearchProvider = {
  name: "tavily",
  endpoint: "https://api.tavily.com/search",
  needs: { apiKey: ["TAVILY_API_KEY"] },
  maxResults: 20,
  buildRequest: ({ query, limit, freshness }, { apiKey, endpoint }) => ({
    url: endpoint,
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ query, max_results: limit, time_range: freshness }),
  }),
  read: (response) =>
    readList(readPath(response, "results"), {
      title: "title",
      url: "url",
      snippet: ["content"],
      published: ["published_date"],
    }),
};

/** https://api-dashboard.search.brave.com/app/documentation/web-search/get-started */
const brave: SearchProvider = {
  name: "brave",
  endpoint: "https://api.search.brave.com/res/v1/web/search",
  needs: { apiKey: ["BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"] },
  maxResults: 20,
  buildRequest: ({ query, limit, freshness }, { apiKey, endpoint }) => ({
    url: withQuery(endpoint, { q: query, count: limit, freshness: freshness && `p${freshness[0]}` }),
    headers: { "x-subscription-token": apiKey, accept: "application/json" },
  }),
  read: (response) =>
    readList(readPath(response, "web", "results"), {
      title: "title",
      url: "url",
      snippet: ["description"],
      published: ["page_age", "age"],
    }),
};

/** https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list */
const google: SearchProvider = {
  name: "google",
  endpoint: "https://www.googleapis.com/customsearch/v1",
  needs: {
    apiKey: ["GOOGLE_SEARCH_API_KEY", "GOOGLE_API_KEY"],
    engineId: ["GOOGLE_SEARCH_ENGINE_ID", "GOOGLE_CSE_ID"],
  },
  maxResults: 10,
  buildRequest: ({ query, limit, freshness }, { apiKey, engineId, endpoint }) => ({
    url: withQuery(endpoint, { q: query, cx: engineId, num: limit, dateRestrict: freshness && `${freshness[0]}1` }),
    // Not in the query, which may be logged.
    headers: { "x-goog-api-key": apiKey },
  }),
  read: (response) => readList(readPath(response, "items"), { title: "title", url: "link", snippet: ["snippet"] }),
};

const BING_FRESHNESS = { day: "Day", week: "Week", month: "Month" } as const;

/** https://learn.microsoft.com/bing/search-apis/bing-web-search/reference/endpoints; Microsoft retired it for new users. */
const bing: SearchProvider = {
  name: "bing",
  endpoint: "https://api.bing.microsoft.com/v7.0/search",
  needs: { apiKey: ["BING_SEARCH_API_KEY", "BING_API_KEY"] },
  maxResults: 50,
  buildRequest: ({ query, limit, freshness }, { apiKey, endpoint }) => ({
    // It does not support a year.
    url: withQuery(endpoint, {
      q: query,
      count: limit,
      freshness: freshness === "year" ? undefined : freshness && BING_FRESHNESS[freshness],
    }),
    headers: { "ocp-apim-subscription-key": apiKey },
  }),
  read: (response) =>
    readList(readPath(response, "webPages", "value"), {
      title: "name",
      url: "url",
      snippet: ["snippet"],
      published: ["datePublished", "dateLastCrawled"],
    }),
};

const BOCHA_FRESHNESS = { day: "oneDay", week: "oneWeek", month: "oneMonth", year: "oneYear" } as const;

/** https://open.bochaai.com: the web search of Bocha (博查). */
const bocha: SearchProvider = {
  name: "bocha",
  endpoint: "https://api.bochaai.com/v1/web-search",
  needs: { apiKey: ["BOCHA_API_KEY"] },
  maxResults: 50,
  buildRequest: ({ query, limit, freshness }, { apiKey, endpoint }) => ({
    url: endpoint,
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      query,
      count: limit,
      freshness: freshness ? BOCHA_FRESHNESS[freshness] : "noLimit",
      summary: true,
    }),
  }),
  read: (response) =>
    readList(readPath(response, "data", "webPages", "value"), {
      title: "name",
      url: "url",
      snippet: ["summary", "snippet"],
      published: ["datePublished", "dateLastCrawled"],
    }),
};

/** https://docs.searxng.org/dev/search_api.html; the instance must support the json format. */
const searxng: SearchProvider = {
  name: "searxng",
  endpoint: undefined,
  needs: { endpoint: ["SEARXNG_URL"] },
  maxResults: 50,
  buildRequest: ({ query, freshness }, { endpoint }) => ({
    url: withQuery(endpoint.replace(/\/(?:search)?\/?$/, "") + "/search", {
      q: query,
      format: "json",
      time_range: freshness,
    }),
  }),
  read: (response) =>
    readList(readPath(response, "results"), {
      title: "title",
      url: "url",
      snippet: ["content"],
      published: ["publishedDate"],
    }),
};

// Each part is bounded, so matching is fast on any page.
const LINK = /<a\b[^>]{0,500}class="result__a"[^>]{0,500}?href="([^"]{1,4000})"[^>]{0,500}>([^]{0,1000}?)<\/a>/g;
const SNIPPET = /class="result__snippet"[^>]{0,5000}>([^]{0,3000}?)<\/(?:a|div|td)>/;

/** Uses its page without scripts, because there is no API for web results. It refuses frequent requests. */
const duckduckgo: SearchProvider = {
  name: "duckduckgo",
  endpoint: "https://html.duckduckgo.com/html/",
  needs: {},
  maxResults: 25,
  buildRequest: ({ query, freshness }, { endpoint }) => ({
    url: withQuery(endpoint, { q: query, df: freshness?.[0] }),
    headers: { accept: "text/html" },
  }),
  read(response) {
    const links = [...response.matchAll(LINK)];
    if (links.length === 0 && !/no-results|No results/.test(response))
      throw new Error("the response has no results page");
    return links.flatMap((link, index): SearchResult[] => {
      const end = links[index + 1]?.index ?? response.length;
      const url = realUrl(stripMarkup(link[1] ?? ""));
      if (url === undefined) return [];
      const snippet = SNIPPET.exec(response.slice(link.index, Math.min(end, link.index + 20_000)))?.[1] ?? "";
      return [{ title: stripMarkup(link[2] ?? ""), url, snippet: stripMarkup(snippet) }];
    });
  },
};

/** Its links are redirects through itself; links that stay on its site are advertisements. */
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

export const SEARCH_PROVIDERS: readonly SearchProvider[] = [tavily, brave, google, bing, bocha, searxng, duckduckgo];

export interface ProviderSettings {
  provider: string;
  apiKey?: string;
  /** Overrides the provider's endpoint; required for searxng. */
  endpoint?: string;
  /** Google only: the id of the search engine. */
  engineId?: string;
}

export interface WebSearchSettings extends Partial<ProviderSettings> {
  maxResults?: number;
  /** Tried in order if the previous provider fails. */
  fallbacks?: readonly ProviderSettings[];
}

/** A provider in the order of use; `missing` says why it cannot be used. */
export interface ChainLink {
  provider: SearchProvider;
  keys: ProviderKeys;
  missing?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The configured providers. Default: those with a key in the environment, and DuckDuckGo, which needs none. */
export function searchChain(settings: WebSearchSettings = {}, env: Environment = {}): ChainLink[] {
  const { provider, apiKey, endpoint, engineId, fallbacks = [] } = settings;
  const named = [...(provider === undefined ? [] : [{ provider, apiKey, endpoint, engineId }]), ...fallbacks];
  if (named.length > 0) return named.map((each) => toLink(each, env));
  const found = SEARCH_PROVIDERS.map(({ name }) => toLink({ provider: name }, env));
  return found.filter(({ missing }) => missing === undefined);
}

/** Endpoint hosts from the configuration. They may be in a private network. */
export function searchHosts(settings: WebSearchSettings = {}, env: Environment = {}): string[] {
  return searchChain(settings, env).flatMap(({ provider, keys }) => {
    if (keys.endpoint === provider.endpoint || !URL.canParse(keys.endpoint)) return [];
    const { hostname, port, protocol } = new URL(keys.endpoint);
    return [`${hostname}:${port || (protocol === "https:" ? 443 : 80)}`];
  });
}

function toLink(given: ProviderSettings, env: Environment): ChainLink {
  const provider = SEARCH_PROVIDERS.find(({ name }) => name === given.provider.trim().toLowerCase());
  const keys: ProviderKeys = { apiKey: "", endpoint: provider?.endpoint ?? "", engineId: "" };
  if (!provider) return { provider: { ...duckduckgo, name: given.provider }, keys, missing: unknown(given.provider) };
  const missing: string[] = [];
  for (const key of ["apiKey", "endpoint", "engineId"] as const) {
    const variables = provider.needs[key] ?? [];
    const value = given[key] || variables.map((name) => env[name]).find(Boolean);
    if (value) keys[key] = value;
    else if (provider.needs[key]) {
      missing.push(`set ${variables.join(" or ")} in the environment, or tools.webSearch.${key} in the configuration`);
    }
  }
  if (!URL.canParse(keys.endpoint) && missing.length === 0) missing.push("tools.webSearch.endpoint must be a full URL");
  if (missing.length === 0) return { provider, keys };
  return { provider, keys, missing: `${provider.name} is not set up: ${missing.join("; ")}` };
}

function unknown(name: string): string {
  const names = SEARCH_PROVIDERS.map((each) => each.name);
  const [near] = nearestNames(name, names);
  return `There is no search provider ${JSON.stringify(name)}${near ? ` (did you mean ${near}?)` : ""}; tools.webSearch.provider can be ${names.join(", ")}`;
}
