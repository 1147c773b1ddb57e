import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../core/clock.ts";
import type { AnyTool } from "../core/tool.ts";
import { createSpillFolder } from "../io/files/spill-folder.ts";
import { createGuardedNet } from "../io/net/guarded-fetch.ts";
import { readProxyEnvironment } from "../io/net/proxy-environment.ts";
import { createHttpTools } from "../tools/web/http-tools.ts";
import { searchHosts } from "../tools/web/search-providers.ts";
import type { PageReader } from "../tools/web/read-page.ts";
import { createWebTools } from "../tools/web/web-tools.ts";
import type { Workspace } from "../workspace.ts";

export interface WebHost {
  env: Readonly<Record<string, string | undefined>>;
  workspace: Workspace;
  clock: Clock;
  /** Shows pages that are empty without their scripts. */
  render?: PageReader["render"];
}

/** The tools that reach the web, all through one guarded fetch. */
export function openWeb(
  { value: { network, tools } }: LoadedConfig,
  { env, workspace, clock, render }: WebHost,
): { tools: readonly AnyTool[]; close(): Promise<void> } {
  const { exceptions = [], hosts, proxyResolvesNames } = network;
  const proxies = readProxyEnvironment(
    env,
    proxyResolvesNames === undefined ? {} : { resolvesNames: proxyResolvesNames },
  );
  const search = tools.webSearch;
  const net = createGuardedNet({ exceptions, proxies, clock, hosts: hosts || undefined });
  // Where searches go is the user's own choice, and may be a machine of theirs.
  const searchNet = createGuardedNet({ exceptions: [...exceptions, ...searchHosts(search, env)], proxies, clock });
  const spill = createSpillFolder(workspace.folder, () => clock.now());
  const web = createWebTools({
    fetch: net.fetch,
    searchFetch: searchNet.fetch,
    env,
    clock,
    search: search || undefined,
    render,
  });
  return {
    tools: [...createHttpTools({ fetch: net.fetch, openSpill: ({ callId }) => spill.open(callId) }), ...web.tools],
    async close() {
      await Promise.all([web.close(), net.close(), searchNet.close()]);
    },
  };
}
