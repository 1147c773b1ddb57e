import type { IncomingMessage, ServerResponse } from "node:http";
import type { OriginPolicy } from "./origin-policy.ts";

/** Of every response of the API: no page may frame, sniff, cache or read it. */
export const API_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "cache-control": "no-store",
};

/** Of scripts and styles of the console: the others are rules for documents, and would come before the first row. */
export const ASSET_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/** Of the console: only its own scripts, styles and server. No inline script or style. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...ASSET_HEADERS,
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    // The canvas: sandboxed and without an origin.
    "frame-src 'self'",
    "manifest-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
};

const API_HEADER_LIST = Object.entries(API_HEADERS).flat();

/** Of a response of the API: names and values in turn. */
export function apiHeaders(incoming: IncomingMessage, policy: OriginPolicy): readonly string[] {
  const more = incoming.headers.origin === undefined ? undefined : crossOriginHeaders(incoming, policy);
  return more ? Object.entries({ ...API_HEADERS, ...more }).flat() : API_HEADER_LIST;
}

/** For pages of allowed origins: they may read responses, with their own token and never with the cookie. */
function crossOriginHeaders(
  { headers: { origin } }: IncomingMessage,
  { otherOrigins }: OriginPolicy,
): Readonly<Record<string, string>> | undefined {
  if (origin === undefined || !otherOrigins.has(origin)) return undefined;
  return { "access-control-allow-origin": origin, vary: "origin", "cross-origin-resource-policy": "cross-origin" };
}

/** Answers the preflight of an allowed page. Returns whether the origin is allowed. */
export function answerPreflight(incoming: IncomingMessage, outgoing: ServerResponse, policy: OriginPolicy): boolean {
  const headers = crossOriginHeaders(incoming, policy);
  if (!headers) return false;
  outgoing.writeHead(204, {
    ...API_HEADERS,
    ...headers,
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "authorization, content-type, last-event-id",
    "access-control-max-age": "600",
  });
  outgoing.end();
  return true;
}
