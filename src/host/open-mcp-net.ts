import type { LoadedConfig } from "../config/load-config.ts";
import type { McpServerConfig } from "../mcp/server-config.ts";
import { readProxyEnvironment } from "../net/proxy-table.ts";
import { portOf } from "../net/read-url.ts";
import { createStreamingNet, type StreamingFetch, type StreamingNet } from "../net/streaming-net.ts";

/**
 * How remote MCP servers are reached. The address that the configuration names is consent for that very host and port, and
 * for that server alone: where it redirects to, or says that one signs in, must be public or be named as an exception.
 */
export function openMcpNet(
  { value: { network } }: LoadedConfig,
  env: Readonly<Record<string, string | undefined>>,
): { fetchFor(config: McpServerConfig): StreamingFetch; close(): Promise<void> } {
  const { exceptions = [], proxyResolvesNames } = network;
  const proxies = readProxyEnvironment(
    env,
    proxyResolvesNames === undefined ? {} : { resolvesNames: proxyResolvesNames },
  );
  const nets: StreamingNet[] = [];
  return {
    fetchFor(config) {
      const net = createStreamingNet({ exceptions: [...exceptions, ...placeOf(config)], proxies });
      nets.push(net);
      return net.fetch;
    },
    async close() {
      await Promise.all(nets.map((net) => net.close()));
    },
  };
}

/** What is no address is told when the server is connected to. */
function placeOf(config: McpServerConfig): string[] {
  if (config.transport === "stdio" || !URL.canParse(config.url)) return [];
  const url = new URL(config.url);
  return url.hostname === "" ? [] : [`${url.hostname}:${portOf(url)}`];
}
