import { toolError } from "../../core/error.ts";
import { readUrl } from "./url-check.ts";

/** `same-host`: follow only to the host that was permitted, because permission rules name hosts. */
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
  // A redirect without a fragment keeps the old one.
  if (!to.hash) to.hash = url.hash;
  return { status, from: url.href, to: to.href };
}

/** Why a redirect is returned to the caller instead of followed; undefined if it is followed. */
export function reasonToStop({ status, to }: Redirect, hop: Hop, follow: Follow): string | undefined {
  const next = new URL(to);
  if (follow === "none") return "redirects are not followed";
  if (follow === "same-host" && next.hostname !== hop.url.hostname) return "it points to another host";
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
      next: "Request the https address of the target, or leave out the credentials.",
      data: { to },
    });
  }
  const becomesGet = (status === 303 && hop.method !== "HEAD") || (status < 303 && hop.method === "POST");
  const headers = crosses ? headersForOtherOrigin(hop.headers) : hop.headers;
  return becomesGet
    ? { url, method: "GET", headers: withoutBodyHeaders(headers), body: undefined }
    : { url, method: hop.method, headers, body: hop.body };
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible characters, spaces and tabs that are sent as one byte each. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const MAX_HEADERS = 64;
const MAX_HEADER_BYTES = 16 * 1024;

/** Headers that only the HTTP client may set: message framing, connection and proxy headers. */
const REFUSED =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|via|accept-encoding|content-encoding|date|origin|dnt|proxy-.*|sec-.*|http2-settings)$/;
const SPOOFING =
  /^(?:forwarded|x-forwarded.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip|x-original-(?:url|host)|x-rewrite-url|x-host)$/;
const OVERRIDING = /^(?:x-http-method|x-http-method-override|x-method-override)$/;
/** Headers that metadata services require. */
const METADATA =
  /^(?:metadata|metadata-flavor|x-metadata-token|x-google-metadata-request|x-aws-ec2-metadata-token.*|x-ibm-.*metadata.*)$/;

/** Returns the headers with names in lower case. Throws if one is malformed or not allowed. */
export function checkHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  const checked: Record<string, string> = {};
  const entries = Object.entries(given);
  let bytes = 0;
  for (const [name, value] of entries) {
    const key = name.toLowerCase();
    if (!TOKEN.test(name)) throw refused(name, "its name has characters that are not allowed in a header name");
    if (!VALUE.test(value)) throw refused(name, "its value has control characters, or characters beyond Latin-1");
    if (REFUSED.test(key)) throw refused(name, "it is set by the client itself");
    if (SPOOFING.test(key)) throw refused(name, "it claims that the request comes from, or is meant for, another host");
    if (OVERRIDING.test(key)) throw refused(name, "it overrides the method; use that method instead");
    if (METADATA.test(key)) throw refused(name, "it is meant for metadata services");
    if (Object.hasOwn(checked, key)) throw refused(name, "it is given twice");
    checked[key] = value.trim();
    bytes += name.length + value.length;
  }
  if (entries.length > MAX_HEADERS || bytes > MAX_HEADER_BYTES) {
    throw toolError(
      "denied",
      `There are more than ${MAX_HEADERS} headers, or more than ${MAX_HEADER_BYTES} bytes of headers.`,
    );
  }
  return checked;
}

/** The only headers sent to another origin. All others might identify the caller or carry credentials. */
const CROSS_ORIGIN_HEADERS = new Set(
  "accept accept-language user-agent range if-modified-since if-none-match".split(" "),
);
const BODY_HEADERS = new Set(["content-type", "content-language"]);

function headersForOtherOrigin(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => CROSS_ORIGIN_HEADERS.has(name)));
}

function withoutBodyHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !BODY_HEADERS.has(name)));
}

/** Whether any header must not be sent to another origin. */
function hasCredentials(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => !CROSS_ORIGIN_HEADERS.has(name) && !BODY_HEADERS.has(name));
}

function refused(name: string, why: string) {
  const shown = JSON.stringify(name.slice(0, 60));
  return toolError("denied", `The header ${shown} is refused: ${why}.`, {
    next: "Leave it out.",
    data: { header: name },
  });
}
