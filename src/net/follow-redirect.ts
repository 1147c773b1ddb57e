import { toolError } from "../core/error.ts";
import { headersForOtherOrigin, hasCredentials, withoutBodyHeaders } from "./check-headers.ts";
import { readUrl } from "./read-url.ts";

/** `same-host`: only where the host stays the one that was permitted, since rules speak of hosts. */
export type Follow = "any" | "same-host" | "none";

export interface Hop {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
}

export interface Redirect {
  status: number;
  from: string;
  to: string;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export function redirectOf(status: number, location: string | undefined, { url }: Hop): Redirect | undefined {
  if (!REDIRECTS.has(status) || !location) return undefined;
  const to = readUrl(location, url);
  // A fragment outlives a redirect that has none.
  if (!to.hash) to.hash = url.hash;
  return { status, from: url.href, to: to.href };
}

/** Why a redirect is left to whoever asked; undefined when it is followed. */
export function reasonToStop({ status, to }: Redirect, hop: Hop, follow: Follow): string | undefined {
  const next = new URL(to);
  if (follow === "none") return "redirects are not followed";
  if (follow === "same-host" && next.hostname !== hop.url.hostname) return "it leads to another host";
  if (status >= 307 && hop.body !== undefined && next.origin !== hop.url.origin) {
    return "it would send the body to another origin";
  }
  return undefined;
}

export function nextHop({ status, to }: Redirect, hop: Hop): Hop {
  const url = new URL(to);
  const crosses = url.origin !== hop.url.origin;
  if (crosses && hop.url.protocol === "https:" && url.protocol === "http:" && hasCredentials(hop.headers)) {
    throw toolError("denied", `${hop.url.origin} redirects to plain http, and the request has credentials.`, {
      next: "Ask for the https address of what you need, or leave the credentials out.",
      data: { to },
    });
  }
  const becomesGet = (status === 303 && hop.method !== "HEAD") || (status < 303 && hop.method === "POST");
  const headers = crosses ? headersForOtherOrigin(hop.headers) : hop.headers;
  return becomesGet
    ? { url, method: "GET", headers: withoutBodyHeaders(headers), body: undefined }
    : { url, method: hop.method, headers, body: hop.body };
}
