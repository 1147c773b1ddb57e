import { z } from "zod";
import { attempt } from "../../core/error.ts";
import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import { checkKeys, keysOf } from "../../core/options.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { AnyTool, Preview, ToolContext } from "../../core/tool.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import { decodeDeclared, isBinary } from "../../io/files/text-encoding.ts";
import type { GuardedFetch, GuardedNet, GuardedResponse } from "../../io/net/guarded-fetch.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/**
 * The tools for plain HTTP requests: `http_get`, `http_post` and `http_request`.
 *
 * @example
 * const haft = createHaft({ tools: createHttpTools(createGuardedNet()) });
 */
export function createHttpTools(dependencies: HttpDependencies): AnyTool[] {
  checkKeys("createHttpTools", dependencies, HTTP_KEYS);
  return [createHttpGetTool(dependencies), createHttpPostTool(dependencies), createHttpRequestTool(dependencies)];
}

/** A guarded network is accepted as it is. */
const HTTP_KEYS = keysOf<HttpDependencies & GuardedNet>({
  fetch: true,
  checkUrl: true,
  openSpill: true,
  admit: true,
  mayReach: true,
  close: true,
});
const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

function createHttpRequestTool(dependencies: HttpDependencies) {
  return createTool({
    name: "http_request",
    title: "HTTP request",
    description: {
      short: "Sends a request of any method to a URL and returns status, headers and body of the response.",
      usageNotes: [
        "GET, HEAD and OPTIONS have no body. An error status is a normal result.",
        "Redirects to other hosts are reported, not followed.",
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
    permission: ({ method }) => (SAFE_METHODS.has(method) ? "auto" : "confirm"),
    builtIn: {
      zh: { title: "HTTP 请求", short: "以任意方法向网址发送请求，返回响应的状态、头和正文。" },
      sameAs: { opencode: ["webfetch"], gemini: ["web_fetch"] },
      partlyKnownAs: ["http_get", "http_post"],
    },
    output: HTTP_OUTPUT,
    signature: ({ method, url }) => ({ text: `${method} ${url}`, urls: [url] }),
    preview: async (input) => previewRequest(input, dependencies),
    run: (input, context) => sendRequest(dependencies, input, context),
  });
}

function createHttpGetTool(dependencies: HttpDependencies) {
  return createTool({
    name: "http_get",
    title: "HTTP GET",
    description: {
      short: "Sends a GET request to a URL and returns status, headers and body.",
      long: "For APIs and raw responses. To read a web page, use web_fetch, which returns its text as Markdown.",
      usageNotes: [
        "An error status is a normal result. Redirects to other hosts are reported, not followed.",
        "Binary bodies are returned as base64, large ones as a file.",
      ],
      examples: [{ input: { url: "https://api.example.com/items", headers: { Accept: "application/json" } } }],
    },
    parameters: z.object({ url: URL_PARAMETER, headers: HEADERS_PARAMETER }),
    parameterAliases: HTTP_PARAMETER_ALIASES,
    kind: "readonly",
    category: ToolCategory.NETWORK,
    tags: ["http", "api", "request", "download"],
    // A request can leak data in its path, query or headers.
    labels: ["untrusted_input", "outside_effect"],
    builtIn: {
      zh: { title: "HTTP GET", short: "向网址发送 GET 请求，返回状态、头和正文。" },
      sameAs: { opencode: ["webfetch"], gemini: ["web_fetch"] },
    },
    output: HTTP_OUTPUT,
    signature: ({ url }) => ({ text: `GET ${url}`, urls: [url] }),
    run: (input, context) => sendRequest(dependencies, { method: "GET", ...input }, context),
  });
}

function createHttpPostTool(dependencies: HttpDependencies) {
  return createTool({
    name: "http_post",
    title: "HTTP POST",
    description: {
      short: "Sends a POST request with a body to a URL and returns status, headers and body of the response.",
      usageNotes: ["An error status is a normal result. Redirects to other hosts are reported, not followed."],
      important: ["It changes something on another system and is never repeated automatically."],
      examples: [{ input: { url: "https://api.example.com/items", body: '{"name":"tea"}' } }],
    },
    parameters: z.object({ url: URL_PARAMETER, body: BODY_PARAMETER, headers: HEADERS_PARAMETER }),
    parameterAliases: HTTP_PARAMETER_ALIASES,
    kind: "execute",
    category: ToolCategory.NETWORK,
    tags: ["http", "api", "request", "send"],
    labels: ["untrusted_input", "outside_effect"],
    permission: "confirm",
    builtIn: {
      zh: { title: "HTTP POST", short: "向网址发送带正文的 POST 请求，返回响应的状态、头和正文。" },
      sameAs: { opencode: ["webfetch"], gemini: ["web_fetch"] },
    },
    output: HTTP_OUTPUT,
    signature: ({ url }) => ({ text: `POST ${url}`, urls: [url] }),
    preview: async (input) => previewRequest({ method: "POST", ...input }, dependencies),
    run: (input, context) => sendRequest(dependencies, { ...input, method: "POST", body: input.body ?? "" }, context),
  });
}

const URL_PARAMETER = z
  .string()
  .min(1)
  .max(8192)
  .describe("The full URL, with http:// or https://; private addresses are refused");

const HEADERS_PARAMETER = z
  .record(z.string(), z.string())
  .optional()
  .describe('Request headers, such as { "Accept": "application/json" }');

const BODY_PARAMETER = z
  .string()
  .max(8 * 1024 * 1024)
  .optional()
  .describe("The request body as text; JSON is sent as application/json unless a header overrides it");

/** Other parameter names that models use. */
const HTTP_PARAMETER_ALIASES = { uri: "url", data: "body", payload: "body" } as const;

/** Stores a body that is too large to show. */
export interface BodySink {
  /** May return how many bytes it took. */
  write(chunk: Buffer): Promise<number | void>;
  close(): Promise<{ ref: string }>;
}

interface HttpDependencies {
  fetch: GuardedFetch;
  /** Throws if a URL is refused, before a person is asked. */
  checkUrl?: (url: string) => void;
  /** Stores bodies that are too large for a result. Without it they are cut. */
  openSpill?: (call: { callId: string; caller: Caller }) => BodySink | Promise<BodySink>;
}

interface HttpInput {
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Sends one request. Only redirects to the same host are followed, because permission was given for that host. */
async function sendRequest(
  { fetch, openSpill }: HttpDependencies,
  { method, url, headers = {}, body }: HttpInput,
  context: ToolContext,
): Promise<ToolOutput<HttpDetails>> {
  const response = await fetch(url, {
    method,
    headers: body === undefined ? headers : withContentType(headers, body),
    body,
    // The gate ends the call: by the limit of the call, or of network tools.
    signal: context.signal,
    timeoutMs: Infinity,
    follow: "same-host",
  });
  const save = openSpill && (async (bytes: Buffer) => saveBody(await openSpill(context), bytes));
  return readResponse(response, { method, save });
}

/** Everything the approver decides about, with hidden characters escaped. */
function previewRequest({ method, url, headers = {}, body }: HttpInput, { checkUrl }: HttpDependencies): Preview {
  checkUrl?.(url);
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
  return attempt(() => typeof JSON.parse(body) === "object", false);
}

/** Undefined if there is no room for all of it. */
async function saveBody(sink: BodySink, bytes: Buffer): Promise<string | undefined> {
  const taken = await sink.write(bytes).catch(async (error: unknown) => {
    await sink.close();
    throw error;
  });
  const { ref } = await sink.close();
  return (taken ?? bytes.length) < bytes.length ? undefined : ref;
}

export interface HttpDetails {
  status: number;
  headers: Record<string, string>;
  /** Text or base64, see `bodyEncoding`; cut if `truncated` is set. */
  body: string;
  bodyEncoding: "text" | "base64";
  /** Size of the whole body. */
  bytes: number;
  truncated?: boolean;
  /** If the body was cut: the address of the whole body, for `read` and `grep`. */
  file?: string;
  /** The URL of the response after redirects. */
  url: string;
  redirects: { status: number; from: string; to: string }[];
}

const HTTP_OUTPUT = describeOutput<HttpDetails>({
  status: field.integer(),
  headers: { type: "object", additionalProperties: { type: "string" } },
  body: field.text("Untrusted; shortened if truncated"),
  bodyEncoding: field.text("text or base64"),
  bytes: field.integer("Size of the whole body"),
  "truncated?": field.flag(),
  "file?": field.text("The whole body, for read and grep"),
  url: field.text("After redirects"),
  redirects: field.list(field.object({ status: field.integer(), from: field.text(), to: field.text() })),
});

interface ReadResponseOptions {
  method: string;
  save?: (bytes: Buffer) => Promise<string | undefined>;
}

const MAX_TEXT_LENGTH = 256 * 1024;
const MAX_BINARY_BYTES = 64 * 1024;
const TEXT_TYPE =
  /^(?:text\/|application\/(?:.*\+)?(?:json|xml|javascript|x-www-form-urlencoded|yaml|x-ndjson|graphql))/i;

/** The response as data for programs and as text for a model. */
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
    // A part of a base64 text is useless.
    body: isCut ? (isText ? whole.slice(0, max).toWellFormed() : "") : whole,
    bodyEncoding: isText ? "text" : "base64",
    bytes: body.length,
    truncated: isCut || undefined,
    file,
    url,
    redirects,
  };
  const notes = [
    ...redirects.map((each) => `Redirected (${each.status}) to ${each.to}`),
    ...(notFollowed
      ? [`Not followed, because ${notFollowed.why}: ${notFollowed.to}. Request that address to continue.`]
      : []),
    ...(isCut ? [cutNote(details)] : []),
  ];
  const head = [`HTTP ${status}`, ...Object.entries(details.headers).map(([name, value]) => `${name}: ${value}`)];
  const shown = details.body === "" ? head : [...head, "", details.body];
  return {
    content: [wrapUntrusted(shown.join("\n"), url), ...notes].join("\n"),
    display: `${method.toUpperCase()} ${url}: ${status}, ${countOf(body.length, "byte")}`,
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
      : `It is stored as ${file}; read shows it if it is an image or a PDF.`;
  return `${what} (${countOf(bytes, "byte")}). ${file === undefined ? "Request a smaller part of it." : rest}`;
}
