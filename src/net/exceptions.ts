import { toolError } from "../core/error.ts";
import { type AddressClass, type AddressRange, parseRange } from "./address.ts";
import { type HostPattern, parseHostPattern } from "./host-pattern.ts";

/**
 * What may be reached although it is not public. An address or a range (`198.18.0.0/15` for a fake-IP proxy) opens just
 * that; a host (`wiki.corp.example`, `localhost:3000`, `*.lan`) opens the private addresses it resolves to, never a
 * link-local or metadata one.
 */
export interface Exceptions {
  /** Whether the guard's own list of names and ports does not concern this host. */
  namesHost(hostname: string, port: number): boolean;
  admit(address: string, found: AddressClass, target: { hostname: string; port: number }): boolean;
}

interface HostException {
  matches: HostPattern;
  port: number | undefined;
}

export function parseExceptions(texts: readonly string[]): Exceptions {
  const ranges: AddressRange[] = [];
  const hosts: HostException[] = [];
  for (const text of texts) {
    const range = parseRange(text.trim());
    if (range) ranges.push(range);
    else hosts.push(parseHost(text));
  }
  const namesHost = (hostname: string, port: number): boolean =>
    hosts.some((host) => (host.port === undefined || host.port === port) && host.matches(hostname));
  return {
    namesHost,
    admit: (address, { kind }, { hostname, port }) =>
      ranges.some((range) => range.has(address)) || (kind === "private" && namesHost(hostname, port)),
  };
}

function parseHost(text: string): HostException {
  const [, host = "", port] = /^(?:https?:\/\/)?([^/]+?)(?::(\d{1,5}))?\/?$/i.exec(text.trim()) ?? [];
  const matches = host === "*" ? undefined : parseHostPattern(host);
  if (!matches) {
    throw toolError("invalid_input", `${JSON.stringify(text)} is no exception of the network guard.`, {
      next: "Give a range such as 198.18.0.0/15, or a host such as wiki.corp.example, *.lan or localhost:3000.",
    });
  }
  return { matches, port: port === undefined ? undefined : Number(port) };
}
