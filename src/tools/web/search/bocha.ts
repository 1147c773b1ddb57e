import { readList, readPath, type SearchProvider } from "./search-provider.ts";

const FRESHNESS = { day: "oneDay", week: "oneWeek", month: "oneMonth", year: "oneYear" } as const;

/** https://open.bochaai.com: the web search of 博查. */
export const bocha: SearchProvider = {
  name: "bocha",
  endpoint: "https://api.bochaai.com/v1/web-search",
  needs: { apiKey: ["BOCHA_API_KEY"] },
  maxResults: 50,
  ask: ({ query, limit, freshness }, { apiKey, endpoint }) => ({
    url: endpoint,
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      query,
      count: limit,
      freshness: freshness ? FRESHNESS[freshness] : "noLimit",
      summary: true,
    }),
  }),
  read: (answer) =>
    readList(readPath(answer, "data", "webPages", "value"), {
      title: "name",
      url: "url",
      snippet: ["summary", "snippet"],
      published: ["datePublished", "dateLastCrawled"],
    }),
};
