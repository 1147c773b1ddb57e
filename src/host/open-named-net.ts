import type { LoadedConfig } from "../config/load-config.ts";
import { readProxyEnvironment } from "../io/net/proxy-environment.ts";
import { portOf } from "../io/net/url-check.ts";
import { createStreamingNet, type StreamingFetch, type StreamingNet } from "../io/net/streaming-fetch.ts";

/** How MCP servers and models are reached, whose addresses the configuration names. */
export interface NamedNet {
  /**
   * A named address is consent for that very host and port, and for this fetch alone: where it redirects to, or says that
   * one signs in, must be public or be named as an exception.
   */
  fetchTo(addresses: readonly (string | undefined)[]): StreamingFetch;
  close(): Promise<void>;
}

export function openNamedNet(
  { value: { network } }: LoadedConfig,
  env: Readonly<Record<string, string | undefined>>,
): NamedNet {
  const { exceptions = [], proxyResolvesNames } = network;
  const proxies = readProxyEnvironment(
    env,
    proxyResolvesNames === undefined ? {} : { resolvesNames: proxyResolvesNames },
  );
  const nets: StreamingNet[] = [];
  return {
    fetchTo(addresses) {
      const net = createStreamingNet({ exceptions: [...exceptions, ...addresses.flatMap(hostOf)], proxies });
      nets.push(net);
      return net.fetch;
    },
    async close() {
      await Promise.all(nets.map((net) => net.close()));
    },
  };
}

/** What is no address is told when it is connected to. */
function hostOf(address: string | undefined): string[] {
  if (address === undefined || !URL.canParse(address)) return [];
  const url = new URL(address);
  return url.hostname === "" ? [] : [`${url.hostname}:${portOf(url)}`];
}
