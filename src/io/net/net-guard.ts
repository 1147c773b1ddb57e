import { untilAborted } from "../../core/clock.ts";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { toolError } from "../../core/error.ts";
import { type AddressClass, type AddressRange, classifyAddress, parseRange } from "./ip-address.ts";
import type { ProxyTable } from "./proxy-environment.ts";
import { type HostPattern, parseHostPattern, portOf, readUrl, refusedByName, withoutFinalDot } from "./url-check.ts";

/** Which addresses may be reached. */
export interface NetGuardOptions {
  /** If given, only these hosts are allowed: `example.com` itself, `*.example.com` for its subdomains. */
  hosts?: readonly string[];
  /** Ranges and hosts that are allowed although they are not public. */
  exceptions?: readonly string[];
  /** Looks up host names. Default: the system's. */
  resolver?: Resolver;
  /** The proxies that requests go through. */
  proxies?: ProxyTable;
}

/** An allowed URL and the addresses that were checked for it. */
export interface Target {
  url: URL;
  /** Empty if the proxy resolves the name. */
  addresses: readonly string[];
  proxy?: URL;
}

/** Decides which addresses may be reached. Every connection goes to an address that `admit` returned. */
export interface NetGuard {
  /** Resolves the name and checks every address. Throws if one is not allowed. */
  admit(url: string | URL, signal?: AbortSignal): Promise<Target>;
  /** Throws if the text of the URL alone rules it out. Asks no resolver, because a query could carry data out. */
  checkUrl(url: string | URL): void;
  /** Whether the remote address of an open connection is allowed. */
  mayReach(address: string, url: URL): boolean;
}

export function createNetGuard(options: NetGuardOptions = {}): NetGuard {
  const { resolver = systemResolver, proxies } = options;
  const exceptions = parseExceptions(options.exceptions ?? []);
  const hosts = options.hosts?.map((text) => {
    const pattern = parseHostPattern(text.trim());
    if (!pattern) throw toolError("invalid_input", `${JSON.stringify(text)} is not a host name or host pattern.`);
    return pattern;
  });

  const readAllowed = (given: string | URL): Omit<Target, "addresses"> & { hostname: string; port: number } => {
    const url = typeof given === "string" ? readUrl(given) : readUrl(given.href);
    const hostname = withoutFinalDot(url.hostname);
    const port = portOf(url);
    if (hosts && !hosts.some((matches) => matches(hostname))) {
      throw toolError("denied", `The host "${hostname}" is not in the list of allowed hosts.`, {
        next: "The configuration allows only the hosts it lists; the user can add this one.",
      });
    }
    const why = exceptions.namesHost(hostname, port) ? undefined : refusedByName(hostname, port);
    if (why !== undefined) throw refused(url, why);
    return { url, hostname, port };
  };
  const requireAllowed = (
    addresses: readonly string[],
    { url, hostname, port }: ReturnType<typeof readAllowed>,
  ): void => {
    for (const address of addresses) {
      const found = classifyAddress(address);
      if (found.kind === "public" || exceptions.admit(address, found, { hostname, port })) continue;
      // Do not reveal the private address behind a name.
      throw refused(url, isLiteral(hostname) ? `it is ${found.name}` : `"${hostname}" resolves to ${found.name}`);
    }
  };

  return {
    checkUrl(given) {
      const target = readAllowed(given);
      if (isLiteral(target.hostname)) requireAllowed([target.hostname.replace(/^\[(.*)\]$/, "$1")], target);
    },
    async admit(given, signal) {
      const target = readAllowed(given);
      const { url, hostname } = target;
      const proxy = proxies?.proxyFor(url);
      const proxyResolves = proxy !== undefined && proxies?.resolvesNames === true && !isLiteral(hostname);
      const addresses = proxyResolves ? [] : await resolveHost(hostname, resolver, signal);
      requireAllowed(addresses, target);
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
    next: "Only public addresses are allowed. To allow this one, the user can add it to network.exceptions in the configuration.",
    data: { url: url.href, blocked: "address" },
  });
}

/**
 * What is allowed although it is not public. An address or a range (`198.18.0.0/15` for a fake-IP proxy) allows exactly
 * that. A host (`wiki.corp.example`, `localhost:3000`, `*.lan`) allows the private addresses it resolves to, but never
 * a link-local or metadata address.
 */
interface Exceptions {
  /** Whether an exception names this host; the checks by name and port then do not apply. */
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
    throw toolError("invalid_input", `${JSON.stringify(text)} is not a valid network exception.`, {
      next: "Give a range such as 198.18.0.0/15, or a host such as wiki.corp.example, *.lan or localhost:3000.",
    });
  }
  return { matches, port: port === undefined ? undefined : Number(port) };
}

/** Resolves a name to all its addresses. Rejects if there are none. */
type Resolver = (hostname: string) => Promise<readonly string[]>;

/** Uses the system's resolver, including its hosts file and search domains. */
const systemResolver: Resolver = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
};

/** An empty answer or a failure throws: it never means that the host is allowed. */
async function resolveHost(hostname: string, resolver: Resolver, signal?: AbortSignal): Promise<readonly string[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal)) return [literal];
  // The system's lookup cannot be cancelled: on abort it keeps running and its result is ignored.
  const addresses = await untilAborted(resolver(hostname), signal).catch((cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    throw unresolved(hostname, cause);
  });
  if (addresses.length === 0) throw unresolved(hostname);
  return addresses;
}

/** In the data of the error: no address was found, so nothing was sent. */
export const UNRESOLVED = "unresolved";

function unresolved(hostname: string, cause?: unknown) {
  return toolError("unavailable", `The host "${hostname}" cannot be resolved.`, {
    next: "Check the spelling of the host, or try again later.",
    data: { reason: UNRESOLVED },
    cause,
  });
}
