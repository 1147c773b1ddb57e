import ipaddr from "ipaddr.js";

/**
 * `public`: anybody may reach it. `private`: internal to a network (loopback, RFC 1918, shared and unique local
 * addresses); an exception for a host can allow it. `special`: everything else, including metadata services.
 */
export type AddressKind = "public" | "private" | "special";

export interface AddressClass {
  kind: AddressKind;
  /** For messages: "a loopback address". */
  name: string;
}

type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];
type Row = readonly [range: Range, kind: AddressKind, name: string];

const row = (cidr: string, kind: AddressKind, name: string): Row => [ipaddr.parseCIDR(cidr), kind, name];

/** IPv4 ranges that are not global unicast. */
const IPV4: readonly Row[] = [
  row("0.0.0.0/8", "special", "an address of this network"),
  row("10.0.0.0/8", "private", "a private address"),
  row("100.100.100.200/32", "special", "a metadata service"),
  row("100.64.0.0/10", "private", "a shared address of a provider's network"),
  row("127.0.0.0/8", "private", "a loopback address"),
  row("168.63.129.16/32", "special", "a metadata service"),
  row("169.254.0.0/16", "special", "a link-local address, where metadata services are"),
  row("172.16.0.0/12", "private", "a private address"),
  row("192.0.0.0/24", "special", "a protocol address, where metadata services are"),
  row("192.0.2.0/24", "special", "a documentation address"),
  row("192.88.99.0/24", "special", "a 6to4 relay address"),
  row("192.168.0.0/16", "private", "a private address"),
  row("198.18.0.0/15", "special", "a benchmarking address, which fake-IP proxies use"),
  row("198.51.100.0/24", "special", "a documentation address"),
  row("203.0.113.0/24", "special", "a documentation address"),
  row("224.0.0.0/4", "special", "a multicast address"),
  row("240.0.0.0/4", "special", "a reserved address"),
];

/** IPv6 ranges with a special meaning. Apart from them, 2000::/3 is global unicast and the rest is reserved. */
const IPV6: readonly Row[] = [
  row("::1/128", "private", "a loopback address"),
  row("::ffff:0:0/96", "special", "an IPv4 address in another form"),
  row("64:ff9b::/96", "special", "a NAT64 address"),
  row("64:ff9b:1::/48", "special", "a NAT64 address"),
  row("2001::/32", "special", "a Teredo address"),
  row("2001::/23", "special", "a protocol address"),
  row("2001:db8::/32", "special", "a documentation address"),
  row("2002::/16", "special", "a 6to4 address"),
  row("3fff::/20", "special", "a documentation address"),
  row("fd00:ec2::/32", "special", "a metadata service"),
  row("fd20:ce::/32", "special", "a metadata service"),
  row("fc00::/7", "private", "a unique local address"),
  row("fe80::/10", "special", "a link-local address"),
  row("ff00::/8", "special", "a multicast address"),
];

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
const PUBLIC: AddressClass = { kind: "public", name: "a public address" };
const RESERVED: AddressClass = { kind: "special", name: "a reserved address" };

/** Expects the canonical spelling that a resolver or a parsed URL gives. Anything unreadable is `special`. */
export function classifyAddress(text: string): AddressClass {
  const address = parse(text);
  if (!address) return { kind: "special", name: "no address" };
  const found = (address instanceof ipaddr.IPv4 ? IPV4 : IPV6).find(([range]) => isIn(address, range));
  if (found) return { kind: found[1], name: found[2] };
  if (address instanceof ipaddr.IPv4) return PUBLIC;
  if (!address.match(GLOBAL_UNICAST)) return RESERVED;
  return isIsatap(address) ? { kind: "special", name: "an ISATAP address" } : PUBLIC;
}

export interface AddressRange {
  has(address: string): boolean;
}

/** Reads `198.18.0.0/15`, `fd12::/16` or a single address. Undefined if the text is none of these. */
export function parseRange(text: string): AddressRange | undefined {
  const range = parseCidr(text);
  if (!range) return undefined;
  return {
    has(given) {
      const address = parse(given);
      if (!address || !isIn(address, range)) return false;
      // NAT64 reaches the embedded IPv4 address, so that one must be public.
      const translated = address instanceof ipaddr.IPv6 && address.match(NAT64);
      return !translated || classifyAddress(address.toByteArray().slice(12).join(".")).kind === "public";
    },
  };
}

function parseCidr(text: string): Range | undefined {
  try {
    if (text.includes("/")) return ipaddr.parseCIDR(text);
    const address = parse(text.replace(/^\[(.*)\]$/, "$1"));
    return address && [address, address instanceof ipaddr.IPv4 ? 32 : 128];
  } catch {
    return undefined;
  }
}

/** Only dotted quads and IPv6: the URL parser has already normalised octal and decimal spellings. */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined;
}

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6, [base, bits]: Range): boolean {
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, bits);
  return base instanceof ipaddr.IPv6 && address.match(base, bits);
}

/** ISATAP embeds an IPv4 address after `0000:5efe` or `0200:5efe`. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return (parts[4] === 0 || parts[4] === 0x200) && parts[5] === 0x5efe;
}
