import { readList, readPath, type SearchProvider, withQuery } from "./search-provider.ts";

const FRESHNESS = { day: "Day", week: "Week", month: "Month" } as const;

/** https://learn.microsoft.com/bing/search-apis/bing-web-search/reference/endpoints; Microsoft retired it for new users. */
export const bing: SearchProvider = {
  name: "bing",
  endpoint: "https://api.bing.microsoft.com/v7.0/search",
  needs: { apiKey: ["BING_SEARCH_API_KEY", "BING_API_KEY"] },
  maxResults: 50,
  ask: ({ query, limit, freshness }, { apiKey, endpoint }) => ({
    // It knows no year.
    url: withQuery(endpoint, {
      q: query,
      count: limit,
      freshness: freshness === "year" ? undefined : freshness && FRESHNESS[freshness],
    }),
    headers: { "ocp-apim-subscription-key": apiKey },
  }),
  read: (answer) =>
    readList(readPath(answer, "webPages", "value"), {
      title: "name",
      url: "url",
      snippet: ["snippet"],
      published: ["datePublished", "dateLastCrawled"],
    }),
};
