import { toolError, type ToolError } from "../../core/error.ts";

/** Ports of other protocols: those that the Fetch standard blocks, then databases, message brokers and remote desktops. */
const BAD_PORTS = new Set(
  `1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137
   139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720
   1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
   873 1080 1433 1434 1521 1883 2181 2483 2484 3306 3389 5432 5671 5672 5900 5901 6379 6380 6432 7687 8883 9042 9092 9160
   9300 11211 26257 27017 27018 27019 28015 33060 50000 61613 61616`
    .split(/\s+/)
    .map(Number),
);

/** Names of this machine or of private networks. They are refused without asking a resolver. */
const LOCAL_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/;

/** Parses a URL and refuses those whose text alone rules them out. */
export function readUrl(text: string, base?: URL): URL {
  const url = parse(text, base);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw toolError("denied", `The scheme "${url.protocol}" is refused: only http and https are fetched.`, {
      next: "Read files with the file tools.",
    });
  }
  if (url.username || url.password) {
    throw toolError("denied", "A URL with a user name or password is refused: it can disguise the real host.", {
      next: "Leave them out of the URL; credentials belong in a header.",
    });
  }
  if (!url.hostname || (!url.hostname.startsWith("[") && /(?:^|\.)\./.test(url.hostname))) throw unreadable(text);
  return url;
}

export function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** Why a host is refused by its name or port alone; undefined if it is not. */
export function refusedByName(hostname: string, port: number): string | undefined {
  if (LOCAL_NAME.test(hostname)) return `"${hostname}" is a name inside a private network`;
  return BAD_PORTS.has(port) || port === 0 ? `port ${port} belongs to another protocol` : undefined;
}

function parse(text: string, base?: URL): URL {
  // The parser would silently drop control characters, and the fetched address would differ from the visible one.
  if (/[\u0000-\u001f\u007f]/.test(text.trim())) throw unreadable(text);
  try {
    return new URL(text.trim(), base);
  } catch {
    throw unreadable(text);
  }
}

function unreadable(text: string): ToolError {
  return toolError("invalid_input", `${JSON.stringify(text.slice(0, 200))} is not a URL that can be fetched.`, {
    next: "Give a complete URL, such as https://example.com/page.",
  });
}

/** Matches a host name. `example.com` matches that host, `*.example.com` its subdomains, `*` everything. */
export type HostPattern = (hostname: string) => boolean;

/**
 * Undefined if the text is not a host name or pattern. Whole labels are compared: no match by prefix or suffix. People agree to
 * the text, so it must be the name that is compared: no port, and no letters that only look like others.
 */
export function parseHostPattern(text: string): HostPattern | undefined {
  if (text === "*") return () => true;
  const isBelow = text.startsWith("*.");
  const given = isBelow ? text.slice(2) : text;
  const name = canonicalHost(given);
  if (name === undefined || name.includes("*") || name !== withoutFinalDot(given.toLowerCase())) return undefined;
  return isBelow ? (hostname) => hostname.endsWith(`.${name}`) : (hostname) => hostname === name;
}

/** The URL parser's spelling (lower case, punycode, numbers as addresses) without the final dot. */
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
