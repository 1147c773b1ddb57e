/** A host as lists name it: `example.com` is that host alone, `*.example.com` every host below it, `*` all. */
export type HostPattern = (hostname: string) => boolean;

/** Undefined where the text names no host. Labels are compared whole: no name is reached by its end or its beginning. */
export function parseHostPattern(text: string): HostPattern | undefined {
  if (text === "*") return () => true;
  const isBelow = text.startsWith("*.");
  const name = canonicalHost(isBelow ? text.slice(2) : text);
  if (name === undefined || name.includes("*")) return undefined;
  return isBelow ? (hostname) => hostname.endsWith(`.${name}`) : (hostname) => hostname === name;
}

/** As the URL parser spells it (lower case, punycode, numbers as addresses), without the final dot. */
export function canonicalHost(text: string): string | undefined {
  try {
    const { hostname, pathname, search, hash, username } = new URL(`http://${text}`);
    if (pathname !== "/" || search || hash || username) return undefined;
    return withoutFinalDot(hostname);
  } catch {
    return undefined;
  }
}

export function withoutFinalDot(hostname: string): string {
  return hostname.replace(/\.$/, "");
}
