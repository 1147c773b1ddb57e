import { readList, readPath, type SearchProvider } from "./search-provider.ts";

/** https://docs.tavily.com/documentation/api-reference/endpoint/search */
export const tavily: SearchProvider = {
  name: "tavily",
  endpoint: "https://api.tavily.com/search",
  needs: { apiKey: ["TAVILY_API_KEY"] },
  maxResults: 20,
  ask: ({ query, limit, freshness }, { apiKey, endpoint }) => ({
    url: endpoint,
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ query, max_results: limit, ...(freshness ? { time_range: freshness } : {}) }),
  }),
  read: (answer) =>
    readList(readPath(answer, "results"), {
      title: "title",
      url: "url",
      snippet: ["content"],
      published: ["published_date"],
    }),
};
