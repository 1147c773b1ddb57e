import { toolError } from "../core/error.ts";
import { classifyAddress } from "./address.ts";
import { parseExceptions } from "./exceptions.ts";
import { parseHostPattern, withoutFinalDot } from "./host-pattern.ts";
import { type ProxyTable } from "./proxy-table.ts";
import { portOf, readUrl, refusedByName } from "./read-url.ts";
import { resolveHost, type Resolver, systemResolver } from "./resolve-host.ts";

export interface NetGuardOptions {
  /** Only these hosts, where given: `example.com` alone, `*.example.com` for all below it. */
  hosts?: readonly string[];
  /** Ranges and hosts that may be reached although they are not public. */
  exceptions?: readonly string[];
  resolver?: Resolver;
  proxies?: ProxyTable;
}

/** A URL that may be reached, and the very addresses that were checked for it. */
export interface Target {
  url: URL;
  /** Empty where a proxy that resolves names by itself is asked. */
  addresses: readonly string[];
  proxy?: URL;
}

/** Decides whether an address may be reached. Everything that connects asks here and connects to nothing else. */
export interface NetGuard {
  admit(url: string | URL, signal?: AbortSignal): Promise<Target>;
  /** For a connection that is there: whether the address at its other end is one that may be reached. */
  mayReach(address: string, url: URL): boolean;
}

export function createNetGuard(options: NetGuardOptions = {}): NetGuard {
  const { resolver = systemResolver, proxies } = options;
  const exceptions = parseExceptions(options.exceptions ?? []);
  const hosts = options.hosts?.map((text) => {
    const pattern = parseHostPattern(text.trim());
    if (!pattern) throw toolError("invalid_input", `${JSON.stringify(text)} names no host.`);
    return pattern;
  });

  return {
    async admit(given, signal) {
      const url = typeof given === "string" ? readUrl(given) : readUrl(given.href);
      const hostname = withoutFinalDot(url.hostname);
      const port = portOf(url);
      if (hosts && !hosts.some((matches) => matches(hostname))) {
        throw toolError("denied", `The host "${hostname}" is not one of those that may be reached.`, {
          next: "Only hosts that the configuration lists are reached; ask the user.",
        });
      }
      const named = exceptions.namesHost(hostname, port) ? undefined : refusedByName(hostname, port);
      if (named !== undefined) throw refused(url, named);
      const proxy = proxies?.proxyFor(url);
      const isLeftToProxy = proxy !== undefined && proxies?.resolvesNames === true && !isLiteral(hostname);
      const addresses = isLeftToProxy ? [] : await resolveHost(hostname, resolver, signal);
      for (const address of addresses) {
        const found = classifyAddress(address);
        if (found.kind === "public" || exceptions.admit(address, found, { hostname, port })) continue;
        // Which address a name of a private network has is nobody's business.
        throw refused(url, isLiteral(hostname) ? `it is ${found.name}` : `"${hostname}" leads to ${found.name}`);
      }
      return { url, addresses, ...(proxy ? { proxy } : {}) };
    },
    mayReach(address, url) {
      const found = classifyAddress(address);
      const target = { hostname: withoutFinalDot(url.hostname), port: portOf(url) };
      return found.kind === "public" || exceptions.admit(address, found, target);
    },
  };
}

function isLiteral(hostname: string): boolean {
  return hostname.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(hostname);
}

function refused(url: URL, why: string) {
  return toolError("denied", `${url.origin} is refused: ${why}.`, {
    next: "Only public addresses are reached. If the user wants this one, it can be named in network.exceptions of the configuration.",
    data: { url: url.href, blocked: "address" },
  });
}
