import { z } from "zod";
import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { AnyTool, Preview, ToolContext } from "../../core/tool.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import { decodeDeclared, isBinary } from "../../io/files/text-encoding.ts";
import type { GuardedFetch, GuardedResponse } from "../../io/net/guarded-fetch.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";

/** The tools that speak plain HTTP, through the guarded fetch that they are given. */
export function createHttpTools(dependencies: HttpDependencies): AnyTool[] {
  return [createHttpGetTool(dependencies), createHttpPostTool(dependencies), createHttpRequestTool(dependencies)];
}

const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;
const READING: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

function createHttpRequestTool(dependencies: HttpDependencies) {
  return createTool({
    name: "http_request",
    title: "HTTP request",
    description: {
      short: "Sends a request of any method to a URL and gives status, headers and body of the answer.",
      usageNotes: [
        "GET, HEAD and OPTIONS have no body. An error status is an answer like others.",
        "Redirects to other hosts are told, not followed.",
      ],
      examples: [{ input: { method: "DELETE", url: "https://api.example.com/items/7" } }],
    },
    parameters: z.object({
      method: z
        .string()
        .transform((method) => method.trim().toUpperCase())
        .pipe(z.enum(METHODS))
        .describe(METHODS.join(", ")),
      url: URL_PARAMETER,
      body: BODY_PARAMETER,
      headers: HEADERS_PARAMETER,
    }),
    parameterAliases: HTTP_PARAMETER_ALIASES,
    kind: "execute",
    category: ToolCategory.NETWORK,
    tags: ["http", "api", "request", "rest"],
    labels: ["untrusted_input", "outside_effect"],
    permission: ({ method }) => (READING.has(method) ? "auto" : "confirm"),
    origin: { type: "builtin" },
    signature: ({ method, url }) => ({ text: `${method} ${url}`, urls: [url] }),
    preview: async (input) => previewRequest(input),
    run: (input, context) => sendRequest(dependencies, input, context),
  });
}

function createHttpGetTool(dependencies: HttpDependencies) {
  return createTool({
    name: "http_get",
    title: "HTTP GET",
    description: {
      short: "Asks a URL with GET and gives status, headers and body.",
      long: "For APIs and raw answers. To read a web page, use web_fetch, which gives its text as Markdown.",
      usageNotes: [
        "An error status is an answer like others. Redirects to other hosts are told, not followed.",
        "Binary bodies come as base64, large ones as a file.",
      ],
      examples: [{ input: { url: "https://api.example.com/items", headers: { Accept: "application/json" } } }],
    },
    parameters: z.object({ url: URL_PARAMETER, headers: HEADERS_PARAMETER }),
    parameterAliases: HTTP_PARAMETER_ALIASES,
    kind: "readonly",
    category: ToolCategory.NETWORK,
    tags: ["http", "api", "request", "download"],
    // What is asked for can carry something out as well: in the path, the query, a header.
    labels: ["untrusted_input", "outside_effect"],
    origin: { type: "builtin" },
    signature: ({ url }) => ({ text: `GET ${url}`, urls: [url] }),
    run: (input, context) => sendRequest(dependencies, { method: "GET", ...input }, context),
  });
}

function createHttpPostTool(dependencies: HttpDependencies) {
  return createTool({
    name: "http_post",
    title: "HTTP POST",
    description: {
      short: "Sends a body to a URL with POST and gives status, headers and body of the answer.",
      usageNotes: ["An error status is an answer like others. Redirects to other hosts are told, not followed."],
      important: ["It changes something outside; it is not repeated by itself."],
      examples: [{ input: { url: "https://api.example.com/items", body: '{"name":"tea"}' } }],
    },
    parameters: z.object({ url: URL_PARAMETER, body: BODY_PARAMETER, headers: HEADERS_PARAMETER }),
    parameterAliases: HTTP_PARAMETER_ALIASES,
    kind: "execute",
    category: ToolCategory.NETWORK,
    tags: ["http", "api", "request", "send"],
    labels: ["untrusted_input", "outside_effect"],
    permission: "confirm",
    origin: { type: "builtin" },
    signature: ({ url }) => ({ text: `POST ${url}`, urls: [url] }),
    preview: async (input) => previewRequest({ method: "POST", ...input }),
    run: (input, context) => sendRequest(dependencies, { ...input, method: "POST", body: input.body ?? "" }, context),
  });
}

const URL_PARAMETER = z
  .string()
  .min(1)
  .max(8192)
  .describe("The whole address, with http:// or https://; private addresses are refused");

const HEADERS_PARAMETER = z
  .record(z.string(), z.string())
  .optional()
  .describe('Request headers, such as { "Accept": "application/json" }');

const BODY_PARAMETER = z
  .string()
  .max(8 * 1024 * 1024)
  .optional()
  .describe("The request's body as text; JSON is sent as application/json unless a header says otherwise");

/** Other names that models give these. */
const HTTP_PARAMETER_ALIASES = { uri: "url", data: "body", payload: "body" } as const;

/** Keeps a body that is too large to be shown. */
export interface BodySink {
  write(chunk: Buffer): Promise<void>;
  close(): Promise<{ ref: string }>;
}

interface HttpDependencies {
  fetch: GuardedFetch;
  /** Where bodies are kept that a result cannot hold; without it they are cut. */
  openSpill?: (call: { callId: string; caller: Caller }) => BodySink | Promise<BodySink>;
}

export interface HttpInput {
  method: string;
  url: string;
  headers?: Record<string, string> | undefined;
  body?: string | undefined;
}

/** One request. Only redirects to the same host are followed: permission was given for that host. */
async function sendRequest(
  { fetch, openSpill }: HttpDependencies,
  { method, url, headers = {}, body }: HttpInput,
  context: ToolContext,
): Promise<ToolOutput<HttpDetails>> {
  const response = await fetch(url, {
    method,
    headers: body === undefined ? headers : withContentType(headers, body),
    body,
    signal: context.signal,
    follow: "same-host",
  });
  const save = openSpill && (async (bytes: Buffer) => saveBody(await openSpill(context), bytes));
  return readResponse(response, { method, save });
}

/** Everything that the answer decides about, with nothing hidden in it. */
function previewRequest({ method, url, headers = {}, body }: HttpInput): Preview {
  const lines = [
    `${method.toUpperCase()} ${showHiddenCharacters(url)}`,
    ...Object.entries(headers).map(([name, value]) => `${showHiddenCharacters(name)}: ${showHiddenCharacters(value)}`),
    ...(body === undefined ? [] : ["", showHiddenCharacters(body)]),
  ];
  return { title: "Send a request", content: [text(lines.join("\n"))] };
}

function withContentType(headers: Record<string, string>, body: string): Record<string, string> {
  if (Object.keys(headers).some((name) => name.toLowerCase() === "content-type")) return headers;
  return { ...headers, "content-type": isJson(body) ? "application/json" : "text/plain; charset=utf-8" };
}

function isJson(body: string): boolean {
  try {
    return typeof JSON.parse(body) === "object";
  } catch {
    return false;
  }
}

async function saveBody(sink: BodySink, bytes: Buffer): Promise<string> {
  await sink.write(bytes).catch(async (error: unknown) => {
    await sink.close();
    throw error;
  });
  return (await sink.close()).ref;
}

export interface HttpDetails {
  status: number;
  headers: Record<string, string>;
  /** Text, or base64 where `bodyEncoding` says so; cut where `truncated` is set. */
  body: string;
  bodyEncoding: "text" | "base64";
  /** Of the whole body. */
  bytes: number;
  truncated?: true;
  /** If the body was cut: the address of the whole body, for `read` and `grep`. */
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
async function readResponse(
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
    truncated: isCut ? (true as const) : undefined,
    file,
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
  const rest =
    bodyEncoding === "text"
      ? `All of it is in ${file}: read that path, or grep in it.`
      : `It is kept as ${file}, which read shows if it is an image or a PDF.`;
  return `${what} (${bytes} bytes). ${file === undefined ? "Ask for a smaller part of it." : rest}`;
}
