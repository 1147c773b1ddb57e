import { readList, readPath, type SearchProvider, withQuery } from "./search-provider.ts";

/** https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list */
export const google: SearchProvider = {
  name: "google",
  endpoint: "https://www.googleapis.com/customsearch/v1",
  needs: {
    apiKey: ["GOOGLE_SEARCH_API_KEY", "GOOGLE_API_KEY"],
    engineId: ["GOOGLE_SEARCH_ENGINE_ID", "GOOGLE_CSE_ID"],
  },
  maxResults: 10,
  ask: ({ query, limit, freshness }, { apiKey, engineId, endpoint }) => ({
    url: withQuery(endpoint, { q: query, cx: engineId, num: limit, dateRestrict: freshness && `${freshness[0]}1` }),
    // Not in the query, where it would end up in logs.
    headers: { "x-goog-api-key": apiKey },
  }),
  read: (answer) => readList(readPath(answer, "items"), { title: "title", url: "link", snippet: ["snippet"] }),
};
