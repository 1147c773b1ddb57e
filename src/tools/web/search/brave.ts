import { readList, readPath, type SearchProvider, withQuery } from "./search-provider.ts";

/** https://api-dashboard.search.brave.com/app/documentation/web-search/get-started */
export const brave: SearchProvider = {
  name: "brave",
  endpoint: "https://api.search.brave.com/res/v1/web/search",
  needs: { apiKey: ["BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"] },
  maxResults: 20,
  ask: ({ query, limit, freshness }, { apiKey, endpoint }) => ({
    url: withQuery(endpoint, { q: query, count: limit, freshness: freshness && `p${freshness[0]}` }),
    headers: { "x-subscription-token": apiKey, accept: "application/json" },
  }),
  read: (answer) =>
    readList(readPath(answer, "web", "results"), {
      title: "title",
      url: "url",
      snippet: ["description"],
      published: ["page_age", "age"],
    }),
};
