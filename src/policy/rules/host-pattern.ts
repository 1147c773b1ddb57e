import { compileWildcard, hasWildcard, type TextMatcher } from "./wildcard.ts";

/**
 * `domain:example.com` is that host alone, `domain:*.example.com` every host below it, `domain:*` all. To allow, a `*` may
 * stand nowhere else: whoever owns the end of a name owns the name.
 */
export function compileHostPattern(spec: string, list: "forbid" | "allow"): TextMatcher | undefined {
  const pattern = /^domain:(.+)$/i.exec(spec.trim())?.[1]?.toLowerCase().replace(/\.$/, "");
  if (pattern === undefined) return undefined;
  if (list === "allow" && hasWildcard(pattern.replace(/^\*(?:\.|$)/, ""))) return () => false;
  const matches = compileWildcard(pattern);
  return (url) => {
    const host = hostOf(url);
    return host !== undefined && matches(host);
  };
}

export function hostOf(url: string): string | undefined {
  try {
    const { protocol, hostname } = new URL(url);
    return /^(?:https?|wss?):$/.test(protocol) ? hostname.toLowerCase().replace(/\.$/, "") : undefined;
  } catch {
    return undefined;
  }
}
