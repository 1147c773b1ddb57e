import { toolError } from "../../core/error.ts";
import { canonicalHost, portOf, withoutFinalDot } from "./url-check.ts";

export interface ProxyTable {
  proxyFor(url: URL): URL | undefined;
  /**
   * Whether the proxy is trusted to resolve names and to refuse private addresses itself. Otherwise it is asked for the
   * address that was resolved and checked here.
   */
  readonly resolvesNames: boolean;
}

export interface ProxyOptions {
  resolvesNames?: boolean;
}

/** What HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY of a host's environment say. Read once: nobody changes it later. */
export function readProxyEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  { resolvesNames = false }: ProxyOptions = {},
): ProxyTable {
  const read = (name: string): string => (env[name.toLowerCase()] || env[name] || "").trim();
  const all = read("ALL_PROXY");
  // In a CGI program HTTP_PROXY is a header that the caller sent.
  const http = env["REQUEST_METHOD"] === undefined ? read("HTTP_PROXY") : (env["http_proxy"] ?? "");
  const proxies = { "http:": toProxy(http || all), "https:": toProxy(read("HTTPS_PROXY") || all) };
  const direct = read("NO_PROXY")
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(toDirect);
  return {
    resolvesNames,
    proxyFor(url) {
      const hostname = withoutFinalDot(url.hostname);
      if (direct.some((matches) => matches(hostname, portOf(url)))) return undefined;
      return proxies[url.protocol as keyof typeof proxies]();
    },
  };
}

/** One that cannot be used is told when it would be: going around it is not the answer. */
function toProxy(text: string): () => URL | undefined {
  const url = text && URL.canParse(withScheme(text)) ? new URL(withScheme(text)) : undefined;
  if (text === "" || url?.protocol === "http:" || url?.protocol === "https:") return () => url;
  return () => {
    // Without its text, which may hold a password.
    throw toolError("unavailable", "The proxy that this machine's environment names is no http or https proxy.", {
      next: "The user can set HTTP_PROXY and HTTPS_PROXY to one, or name hosts in NO_PROXY.",
    });
  };
}

function withScheme(text: string): string {
  return text.includes("://") ? text : `http://${text}`;
}

/** `example.com` and `.example.com` are that host and all below it, as everywhere; `*` is every host. */
function toDirect(text: string): (hostname: string, port: number) => boolean {
  if (text === "*") return () => true;
  const [, name = "", port] = /^(?:\*?\.)?(.+?)(?::(\d+))?$/.exec(text) ?? [];
  const host = canonicalHost(name);
  return (hostname, requested) =>
    host !== undefined &&
    (port === undefined || Number(port) === requested) &&
    (hostname === host || hostname.endsWith(`.${host}`));
}
