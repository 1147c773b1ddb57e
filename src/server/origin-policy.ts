import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { networkInterfaces } from "node:os";
import { ApiError } from "../contracts/errors.ts";

/** The host names that requests may use, and the pages that may send them. They are compared whole, never by a part. */
export interface OriginPolicy {
  /** Lower case, with the port: `127.0.0.1:4117`. */
  readonly hosts: ReadonlySet<string>;
  /** Of the console itself: `http://127.0.0.1:4117`. */
  readonly ownOrigins: ReadonlySet<string>;
  /** Other pages that are allowed, with their own token. */
  readonly otherOrigins: ReadonlySet<string>;
}

export interface OriginPolicyOptions {
  host: string;
  port: number;
  secure: boolean;
  allowedHosts?: readonly string[];
  allowedOrigins?: readonly string[];
}

export function createOriginPolicy({
  host,
  port,
  secure,
  allowedHosts = [],
  allowedOrigins = [],
}: OriginPolicyOptions): OriginPolicy {
  const isDefaultPort = port === (secure ? 443 : 80);
  const names = isLoopback(host) ? ["127.0.0.1", "localhost", "[::1]", bracketed(host)] : namesOf(host);
  const own = names.flatMap((name) => [`${name}:${port}`, ...(isDefaultPort ? [name] : [])]);
  const hosts = new Set([...own, ...allowedHosts].map((name) => name.toLowerCase()));
  const scheme = secure ? "https" : "http";
  return {
    hosts,
    ownOrigins: new Set(Array.from(hosts, (name) => `${scheme}://${name}`)),
    otherOrigins: new Set(allowedOrigins),
  };
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** If bound to everything: the addresses of the machine. A name must be allowed explicitly, because it can be rebound. */
function namesOf(host: string): string[] {
  if (host !== "0.0.0.0" && host !== "::") return [bracketed(host)];
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return ["localhost", ...addresses.map(({ address }) => bracketed(address))];
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/**
 * Refuses requests that a page of another site may have sent. A browser names the origin in `Origin`, or tells with
 * `Sec-Fetch-Site` whether it is the same. Another port of this machine is another origin.
 */
export function checkOrigin(
  { headers, headersDistinct }: Pick<IncomingMessage, "headers" | "headersDistinct">,
  originPolicy: OriginPolicy,
  { isPage }: { isPage: boolean },
): void {
  const { host, origin } = headers;
  // Node takes the first of several. A proxy before it may have checked another one.
  for (const name of ["host", "origin"])
    if ((headersDistinct[name]?.length ?? 0) > 1)
      throw new ApiError("bad_request", `The request has several headers "${name}"`, "Send one of them.");
  if (host === undefined || !originPolicy.hosts.has(host.toLowerCase())) {
    throw new ApiError("forbidden", "This server does not serve that host name", HOST_NEXT);
  }
  if (origin !== undefined) {
    if (originPolicy.ownOrigins.has(origin) || originPolicy.otherOrigins.has(origin)) return;
    throw new ApiError("forbidden", "Requests from that origin are not accepted", ORIGIN_NEXT);
  }
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return;
  // A link on another page may open the console; that page can read nothing of it.
  if (isPage && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document") return;
  throw new ApiError("forbidden", "Requests from other pages are not accepted", ORIGIN_NEXT);
}

/** Whether a browser says that a page of the console sent the request. */
export function isFromConsole(
  { origin, "sec-fetch-site": site }: IncomingHttpHeaders,
  { ownOrigins }: OriginPolicy,
): boolean {
  return origin === undefined ? site === "same-origin" : ownOrigins.has(origin);
}

const HOST_NEXT = "Use the address that the server printed, or add the name to allowedHosts.";
const ORIGIN_NEXT = "Open the console at the address that the server printed, or add the origin to allowedOrigins.";
