import { checkKeys, keysOf } from "../../core/options.ts";
import type { AnyTool } from "../../core/tool.ts";
import { createPageConverter, type PageConverter } from "./page-converter.ts";
import { createWebFetchTool, type WebFetchDependencies } from "./web-fetch.ts";
import { createWebSearchTool, type WebSearchDependencies } from "./web-search.ts";

export interface WebDependencies extends Omit<WebFetchDependencies, "converter">, Omit<WebSearchDependencies, "fetch"> {
  /** For the search only, whose provider may be in a private network. */
  searchFetch?: WebSearchDependencies["fetch"];
  converter?: PageConverter;
}

const WEB_KEYS = keysOf<WebDependencies>({
  fetch: true,
  searchFetch: true,
  search: true,
  env: true,
  converter: true,
  render: true,
  clock: true,
  cacheTtlMs: true,
});

/**
 * The tools that read and search the web: `web_fetch` and `web_search`. `close` ends the thread that converts pages.
 *
 * @example
 * const web = createWebTools({ fetch: createGuardedNet().fetch, search: { provider: "tavily", apiKey } });
 * const haft = createHaft({ tools: web.tools });
 */
export function createWebTools(dependencies: WebDependencies): { tools: AnyTool[]; close(): Promise<void> } {
  checkKeys("createWebTools", dependencies, WEB_KEYS);
  const { searchFetch, search, env, ...fetching } = dependencies;
  const converter = dependencies.converter ?? createPageConverter({ clock: fetching.clock });
  return {
    tools: [
      createWebFetchTool({ ...fetching, converter }),
      createWebSearchTool({ fetch: searchFetch ?? fetching.fetch, search, env }),
    ],
    close: converter.close,
  };
}
