import { readList, readPath, type SearchProvider, withQuery } from "./search-provider.ts";

/** https://docs.searxng.org/dev/search_api.html; the instance must offer the format json. */
export const searxng: SearchProvider = {
  name: "searxng",
  endpoint: undefined,
  needs: { endpoint: ["SEARXNG_URL"] },
  maxResults: 50,
  ask: ({ query, freshness }, { endpoint }) => ({
    url: withQuery(endpoint.replace(/\/(?:search)?\/?$/, "") + "/search", {
      q: query,
      format: "json",
      time_range: freshness,
    }),
  }),
  read: (answer) =>
    readList(readPath(answer, "results"), {
      title: "title",
      url: "url",
      snippet: ["content"],
      published: ["publishedDate"],
    }),
};
