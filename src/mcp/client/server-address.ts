import { toolError } from "../../core/error.ts";

/** The address of a server, or of a page that a person is sent to: http(s) only, and nothing that a shell would read. */
export function readHttpUrl(address: string | URL, what: string): URL {
  const url = parse(address);
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw toolError("invalid_input", `${what} is no http(s) address: ${JSON.stringify(String(address).slice(0, 200))}`, {
    next: "Nothing was opened. Check the server and its configuration.",
  });
}

/** For pages that ask for a password or a consent: plain http is for this machine alone. */
export function readSecureUrl(address: string | URL, what: string): URL {
  const url = readHttpUrl(address, what);
  if (url.protocol === "https:" || isLoopback(url.hostname)) return url;
  throw toolError("denied", `${what} is not encrypted: ${JSON.stringify(url.href.slice(0, 200))}`, {
    next: "Nothing was opened. Use https.",
  });
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function parse(address: string | URL): URL | undefined {
  try {
    return new URL(address);
  } catch {
    return undefined;
  }
}
