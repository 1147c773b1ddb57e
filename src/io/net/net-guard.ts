import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { toolError } from "../../core/error.ts";
import { type AddressClass, type AddressRange, classifyAddress, parseRange } from "./ip-address.ts";
import type { ProxyTable } from "./proxy-environment.ts";
import { type HostPattern, parseHostPattern, portOf, readUrl, refusedByName, withoutFinalDot } from "./url-check.ts";

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
      return { url, addresses, proxy: proxy || undefined };
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

/**
 * What may be reached although it is not public. An address or a range (`198.18.0.0/15` for a fake-IP proxy) opens just
 * that; a host (`wiki.corp.example`, `localhost:3000`, `*.lan`) opens the private addresses it resolves to, never a
 * link-local or metadata one.
 */
export interface Exceptions {
  /** Whether the guard's own list of names and ports does not concern this host. */
  namesHost(hostname: string, port: number): boolean;
  admit(address: string, found: AddressClass, target: { hostname: string; port: number }): boolean;
}

interface HostException {
  matches: HostPattern;
  port: number | undefined;
}

function parseExceptions(texts: readonly string[]): Exceptions {
  const ranges: AddressRange[] = [];
  const hosts: HostException[] = [];
  for (const text of texts) {
    const range = parseRange(text.trim());
    if (range) ranges.push(range);
    else hosts.push(parseHost(text));
  }
  const namesHost = (hostname: string, port: number): boolean =>
    hosts.some((host) => (host.port === undefined || host.port === port) && host.matches(hostname));
  return {
    namesHost,
    admit: (address, { kind }, { hostname, port }) =>
      ranges.some((range) => range.has(address)) || (kind === "private" && namesHost(hostname, port)),
  };
}

function parseHost(text: string): HostException {
  const [, host = "", port] = /^(?:https?:\/\/)?([^/]+?)(?::(\d{1,5}))?\/?$/i.exec(text.trim()) ?? [];
  const matches = host === "*" ? undefined : parseHostPattern(host);
  if (!matches) {
    throw toolError("invalid_input", `${JSON.stringify(text)} is no exception of the network guard.`, {
      next: "Give a range such as 198.18.0.0/15, or a host such as wiki.corp.example, *.lan or localhost:3000.",
    });
  }
  return { matches, port: port === undefined ? undefined : Number(port) };
}

/** All addresses of a name. Rejects where there are none, or where it cannot be known. */
type Resolver = (hostname: string) => Promise<readonly string[]>;

/** As the system does it, so that its hosts file and search rules count. */
const systemResolver: Resolver = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
};

/** What a host stands for: itself, where it is an address. An empty answer or a failure is never taken for a yes. */
async function resolveHost(hostname: string, resolver: Resolver, signal?: AbortSignal): Promise<readonly string[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal)) return [literal];
  const answered = await abortable(resolver(hostname), signal).catch((cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    throw unresolved(hostname, cause);
  });
  if (answered.length === 0) throw unresolved(hostname);
  return answered;
}

function unresolved(hostname: string, cause?: unknown) {
  return toolError("unavailable", `The host "${hostname}" cannot be resolved.`, {
    next: "Check the spelling of the host, or try again later.",
    cause,
  });
}

/** The system's lookup cannot be called off: it is left alone. */
function abortable<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
