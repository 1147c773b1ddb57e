import type { ToolOutput } from "../../core/result.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import { decodeDeclared } from "../../files/decode-declared.ts";
import { isBinary } from "../../files/is-binary.ts";
import type { GuardedResponse } from "../../net/guarded-net.ts";

export interface HttpDetails {
  status: number;
  headers: Record<string, string>;
  /** Text, or base64 where `bodyEncoding` says so; cut where `truncated` is set. */
  body: string;
  bodyEncoding: "text" | "base64";
  /** Of the whole body. */
  bytes: number;
  truncated?: true;
  /** The whole body, where it was cut: for the file tools. */
  file?: string;
  /** The last address that answered, and how it was come to. */
  url: string;
  redirects: { status: number; from: string; to: string }[];
}

export interface ReadResponseOptions {
  method: string;
  save?: (bytes: Buffer) => Promise<string>;
}

const MAX_TEXT_LENGTH = 256 * 1024;
const MAX_BINARY_BYTES = 64 * 1024;
const TEXT_TYPE =
  /^(?:text\/|application\/(?:.*\+)?(?:json|xml|javascript|x-www-form-urlencoded|yaml|x-ndjson|graphql))/i;

/** An answer as data for programs, and as text that a model may read. */
export async function readResponse(
  { status, headers, body, url, redirects, notFollowed }: GuardedResponse,
  { method, save }: ReadResponseOptions,
): Promise<ToolOutput<HttpDetails>> {
  const type = headers["content-type"] ?? "";
  const isText = TEXT_TYPE.test(type) || !isBinary(body);
  const whole = isText ? disarmed(body, type) : body.toString("base64");
  const max = isText ? MAX_TEXT_LENGTH : MAX_BINARY_BYTES;
  const isCut = whole.length > max;
  const file = isCut && save ? await save(isText ? Buffer.from(whole) : body) : undefined;
  const details: HttpDetails = {
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, disarmText(value)])),
    // Half of a base64 text is of no use to anybody.
    body: isCut ? (isText ? whole.slice(0, max).toWellFormed() : "") : whole,
    bodyEncoding: isText ? "text" : "base64",
    bytes: body.length,
    ...(isCut ? { truncated: true as const } : {}),
    ...(file === undefined ? {} : { file }),
    url,
    redirects,
  };
  const notes = [
    ...redirects.map((each) => `Redirected (${each.status}) to ${each.to}`),
    ...(notFollowed
      ? [`Not followed, because ${notFollowed.why}: ${notFollowed.to}. Ask for that address to go on.`]
      : []),
    ...(isCut ? [cutNote(details)] : []),
  ];
  const head = [`HTTP ${status}`, ...Object.entries(details.headers).map(([name, value]) => `${name}: ${value}`)];
  const shown = details.body === "" ? head : [...head, "", details.body];
  return {
    content: [wrapUntrusted(shown.join("\n"), url), ...notes].join("\n"),
    display: `${method.toUpperCase()} ${url}: ${status}, ${body.length} bytes`,
    details,
  };
}

function disarmed(body: Buffer, contentType: string): string {
  const charset = /;\s*charset\s*=\s*("[^"]*"|[^;\s]+)/i.exec(contentType)?.[1];
  return disarmText(decodeDeclared(body, charset).text);
}

function cutNote({ file, bodyEncoding, bytes }: HttpDetails): string {
  const what = bodyEncoding === "text" ? "Only the beginning of the body is shown" : "The body is binary and not shown";
  return `${what} (${bytes} bytes). ${file === undefined ? "Ask for a smaller part of it." : `All of it is in ${file}.`}`;
}
