import { toolError } from "../../core/error.ts";
import { canonicalHost, portOf, withoutFinalDot } from "./url-check.ts";

export interface ProxyTable {
  proxyFor(url: URL): URL | undefined;
  /** Whether the proxy resolves names and refuses private addresses itself. Else it gets the checked address. */
  readonly resolvesNames: boolean;
}

export interface ProxyOptions {
  resolvesNames?: boolean;
}

/** Reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY once; later changes of the environment have no effect. */
export function readProxyEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  { resolvesNames = false }: ProxyOptions = {},
): ProxyTable {
  const read = (name: string): string => (env[name.toLowerCase()] || env[name] || "").trim();
  const all = read("ALL_PROXY");
  // In a CGI program HTTP_PROXY comes from a request header ("httpoxy").
  const http = env["REQUEST_METHOD"] === undefined ? read("HTTP_PROXY") : (env["http_proxy"] ?? "");
  const httpProxy = parseProxy(http || all);
  const httpsProxy = parseProxy(read("HTTPS_PROXY") || all);
  const direct = read("NO_PROXY")
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(parseNoProxy);
  return {
    resolvesNames,
    proxyFor(url) {
      const hostname = withoutFinalDot(url.hostname);
      if (direct.some((matches) => matches(hostname, portOf(url)))) return undefined;
      return url.protocol === "https:" ? httpsProxy() : httpProxy();
    },
  };
}

/** An unusable proxy fails when it is needed: connecting directly instead would bypass it. */
function parseProxy(text: string): () => URL | undefined {
  const url = text && URL.canParse(withScheme(text)) ? new URL(withScheme(text)) : undefined;
  if (text === "" || url?.protocol === "http:" || url?.protocol === "https:") return () => url;
  return () => {
    // The message leaves out the value, which may contain a password.
    throw toolError("unavailable", "The proxy in this machine's environment is not an http or https proxy.", {
      next: "The user can correct HTTP_PROXY and HTTPS_PROXY, or list hosts in NO_PROXY.",
    });
  };
}

function withScheme(text: string): string {
  return text.includes("://") ? text : `http://${text}`;
}

/** `example.com` and `.example.com` match the host and its subdomains; `*` matches every host. */
function parseNoProxy(text: string): (hostname: string, port: number) => boolean {
  if (text === "*") return () => true;
  const [, name = "", port] = /^(?:\*?\.)?(.+?)(?::(\d+))?$/.exec(text) ?? [];
  const host = canonicalHost(name);
  return (hostname, requestedPort) =>
    host !== undefined &&
    (port === undefined || Number(port) === requestedPort) &&
    (hostname === host || hostname.endsWith(`.${host}`));
}
