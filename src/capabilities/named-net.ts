import type { LoadedConfig } from "../config/load-config.ts";
import { CloseStack } from "../core/close-stack.ts";
import { readProxyEnvironment } from "../io/net/proxy-environment.ts";
import { portOf } from "../io/net/url-check.ts";
import { createStreamingNet, type StreamingFetch } from "../io/net/streaming-fetch.ts";

/** Connects to MCP servers and models. The configuration names their addresses. */
export interface NamedNet {
  /**
   * A named address may be private: this host and port are allowed, for this fetch only. Addresses that it redirects to,
   * or signs in at, must be public or listed in `network.exceptions`.
   */
  fetchTo(addresses: readonly (string | undefined)[]): StreamingFetch;
  close(): Promise<void>;
}

export function openNamedNet(
  { value: { network } }: LoadedConfig,
  env: Readonly<Record<string, string | undefined>>,
): NamedNet {
  const { exceptions = [], proxyResolvesNames } = network;
  const proxies = readProxyEnvironment(env, { resolvesNames: proxyResolvesNames });
  const closing = new CloseStack();
  return {
    fetchTo(addresses) {
      const net = createStreamingNet({ exceptions: [...exceptions, ...addresses.flatMap(hostOf)], proxies });
      closing.push("connections", () => net.close());
      return net.fetch;
    },
    close: () => closing.close(),
  };
}

/** An invalid address is reported when it is used. */
function hostOf(address: string | undefined): string[] {
  if (address === undefined || !URL.canParse(address)) return [];
  const url = new URL(address);
  return url.hostname === "" ? [] : [`${url.hostname}:${portOf(url)}`];
}
