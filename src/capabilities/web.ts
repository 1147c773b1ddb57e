import { CloseStack } from "../core/close-stack.ts";
import { createGuardedNet } from "../io/net/guarded-fetch.ts";
import { readProxyEnvironment } from "../io/net/proxy-environment.ts";
import { createHttpTools } from "../tools/web/http-tools.ts";
import { searchHosts } from "../tools/web/search-providers.ts";
import { createWebTools } from "../tools/web/web-tools.ts";
import { defineCapability } from "./capability.ts";

/** The tools that use the web, all through one guarded fetch. */
export const web = defineCapability({
  name: "web",
  config: ["network", "tools"],
  needs: ["workspace"],
  // Renders pages that are empty without their scripts.
  uses: ["browser"],
  open({ config, env, clock, workspace, browser }) {
    const { exceptions = [], hosts, proxyResolvesNames } = config.value.network;
    const search = config.value.tools.webSearch;
    const proxies = readProxyEnvironment(env, { resolvesNames: proxyResolvesNames });
    const net = createGuardedNet({ exceptions, proxies, clock, hosts: hosts || undefined });
    // The user chose the search service: it may have a private address.
    const searchNet = createGuardedNet({ exceptions: [...exceptions, ...searchHosts(search, env)], proxies, clock });
    const tools = createWebTools({
      fetch: net.fetch,
      searchFetch: searchNet.fetch,
      env,
      clock,
      search: search || undefined,
      render: browser?.render,
    });
    const closing = new CloseStack();
    closing.push("connections", () => net.close());
    closing.push("connections of web_search", () => searchNet.close());
    closing.push("web tools", () => tools.close());
    return {
      value: undefined,
      tools: [
        ...createHttpTools({ fetch: net.fetch, checkUrl: net.checkUrl, openSpill: workspace.spill.open }),
        ...tools.tools,
      ],
      close: () => closing.close(),
    };
  },
});
