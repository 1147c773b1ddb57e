import { toolError } from "../core/error.ts";

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible characters, blanks and tabs; what goes over the wire as one byte. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const MAX_HEADERS = 64;
const MAX_BYTES = 16 * 1024;

/** What frames a message, speaks for this client or its proxies, or turns a method into another. */
const REFUSED =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|via|accept-encoding|content-encoding|date|origin|dnt|proxy-.*|sec-.*|http2-settings)$/;
const SPOOFING =
  /^(?:forwarded|x-forwarded.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip|x-original-(?:url|host)|x-rewrite-url|x-host)$/;
const OVERRIDING = /^(?:x-http-method|x-http-method-override|x-method-override)$/;
/** What metadata services ask for, to be sure that a request is meant for them. */
const METADATA =
  /^(?:metadata|metadata-flavor|x-metadata-token|x-google-metadata-request|x-aws-ec2-metadata-token.*|x-ibm-.*metadata.*)$/;

/** Headers that somebody gives, with names in lower case; refused where they could say more than a header may. */
export function checkHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  const checked: Record<string, string> = {};
  const entries = Object.entries(given);
  let bytes = 0;
  for (const [name, value] of entries) {
    const key = name.toLowerCase();
    if (!TOKEN.test(name)) throw refused(name, "its name has characters that no header name has");
    if (!VALUE.test(value)) throw refused(name, "its value has control characters, or characters beyond Latin-1");
    if (REFUSED.test(key)) throw refused(name, "it is set by the client itself");
    if (SPOOFING.test(key))
      throw refused(name, "it pretends that the request comes from, or is meant for, another host");
    if (OVERRIDING.test(key)) throw refused(name, "it turns the method into another; ask for that method instead");
    if (METADATA.test(key)) throw refused(name, "it speaks to metadata services");
    if (Object.hasOwn(checked, key)) throw refused(name, "it is given twice");
    checked[key] = value.trim();
    bytes += name.length + value.length;
  }
  if (entries.length > MAX_HEADERS || bytes > MAX_BYTES) {
    throw toolError(
      "denied",
      `There are more headers than ${MAX_HEADERS}, or they are longer than ${MAX_BYTES} bytes.`,
    );
  }
  return checked;
}

/** Everything that may tell who asks: across origins only what describes the wished answer goes along. */
const HARMLESS = new Set(["accept", "accept-language", "user-agent", "range", "if-modified-since", "if-none-match"]);
const DESCRIBES_BODY = new Set(["content-type", "content-language"]);

export function headersForOtherOrigin(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.has(name)));
}

export function withoutBodyHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !DESCRIBES_BODY.has(name)));
}

/** Whether headers hold something that only the origin they were given for may see. */
export function hasCredentials(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => !HARMLESS.has(name) && !DESCRIBES_BODY.has(name));
}

function refused(name: string, why: string) {
  const shown = JSON.stringify(name.slice(0, 60));
  return toolError("denied", `The header ${shown} is refused: ${why}.`, {
    next: "Leave it out.",
    data: { header: name },
  });
}
