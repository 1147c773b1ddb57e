/** The one router: every endpoint of the contracts over HTTP. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Contract, Endpoint } from "../contracts/contract.ts";
import { ApiError } from "../contracts/errors.ts";
import { ANONYMOUS, type Identity } from "../contracts/identity.ts";
import type { Contracts } from "../contracts/index.ts";
import { attempt, issuesOf, ToolError } from "../core/error.ts";
import { parseJson } from "../core/parse-json.ts";
import type { MaybePromise } from "../core/stage.ts";
import { byRoute, checkInput, checkScope, selectVariant, type Variants } from "./check-request.ts";
import { HttpResponse, type ResponseOptions } from "./http-response.ts";
import { readParameter, readQuery } from "./query.ts";

export interface RouterOptions extends ResponseOptions {
  /** Undefined if the server does not have the resource. */
  handlersOf(resource: Resource): Promise<object | undefined>;
  /** Throws `unauthorized`. */
  authenticate(incoming: IncomingMessage): Promise<Identity>;
  /** Waits if the server is busy. Throws if it is too busy. */
  admit(identity: Identity, incoming: IncomingMessage): MaybePromise<void>;
  /** Whether a browser says that the request comes from the console itself. */
  isFromConsole(incoming: IncomingMessage): boolean;
  maxBodyBytes: number;
}

type Resource = keyof Contracts;
type AnyHandler = (request: object) => unknown;

/**
 * Matches a request to its endpoint, checks it, calls the handler and writes the response. Requests and responses of Node are
 * used as they are: a `Request` and a `Response` for each would cost more than the call of a tool.
 */
export class Router {
  readonly #options: RouterOptions;
  readonly #routes = new RouteTable<Variants>();
  readonly #names: Map<Endpoint, EndpointName>;

  constructor(contracts: Readonly<Partial<Record<Resource, Contract>>>, options: RouterOptions) {
    this.#options = options;
    this.#names = namesOf(contracts);
    for (const endpoints of byRoute(contracts).values()) {
      const [{ method, path }] = endpoints;
      this.#routes.add(method, path, endpoints);
    }
  }

  /** Answers the request. Never rejects. */
  async handle(incoming: IncomingMessage, outgoing: ServerResponse, path: string): Promise<void> {
    const response = new HttpResponse(incoming, outgoing, this.#options);
    try {
      const { value: endpoints, params } = this.#match(incoming, path);
      const { endpoint, request, handlers } = await this.#accept(incoming, params, endpoints);
      const handle = handlers[this.#nameOf(endpoint).name];
      if (!handle) throw new TypeError(`${endpoint.method} ${endpoint.path} has no handler.`);
      await response.send(endpoint, request.identity, () => handle(new RequestOfHandler(request, response, incoming)));
    } catch (thrown) {
      response.sendError(thrown);
    }
  }

  #match({ method = "" }: IncomingMessage, path: string) {
    const found = this.#routes.match(method === "HEAD" ? "GET" : method, path);
    if (found === undefined) {
      throw new ApiError("not_found", "No such endpoint", "GET /api/openapi.json lists the endpoints.");
    }
    if (!("allowed" in found)) return found;
    const { allowed } = found;
    const headers = { allow: allowed.join(", ") };
    const next = `Use ${allowed.join(" or ")}.`;
    throw new ApiError("method_not_allowed", "This method is not allowed here", next, { headers });
  }

  /** In this order: who, whether they may, when, what. A body is read only from a client with the right scope. */
  async #accept(incoming: IncomingMessage, params: Readonly<Record<string, string>>, endpoints: Variants) {
    const options = this.#options;
    const [first] = endpoints;
    const { resource } = this.#nameOf(first);
    // A handler gets the request that its own contract describes.
    const handlers = (await options.handlersOf(resource)) as Handlers | undefined;
    if (!handlers) {
      throw new ApiError("not_here", `This server has no ${resource}`, "GET /api/server lists the parts that it has.", {
        data: { list: "server" },
      });
    }
    const identity = first.scope === "public" ? ANONYMOUS : await options.authenticate(incoming);
    if (identity.kind === "session") checkChange(incoming, options.isFromConsole);
    checkScope(first, identity);
    const admitted = first.isUnlimited ? undefined : options.admit(identity, incoming);
    if (admitted) await admitted;
    const sent = first.body ? await readJson(incoming, options.maxBodyBytes) : undefined;
    const { endpoint, body } = selectVariant(endpoints, sent);
    const query = readRequestQuery(endpoint, incoming);
    const input = checkInput(endpoint, { params, query, body });
    return { endpoint, handlers, request: { input, identity } };
  }

  #nameOf(endpoint: Endpoint): EndpointName {
    const found = this.#names.get(endpoint);
    if (!found) throw new TypeError(`${endpoint.path} is in no contract.`);
    return found;
  }
}

type Handlers = Readonly<Record<string, AnyHandler>>;

/** What a handler gets. A class because of its getter: only handlers that use the signal pay for it. */
class RequestOfHandler {
  readonly params: Readonly<Record<string, string>>;
  readonly query: object;
  readonly body: unknown;
  readonly identity: Identity;
  readonly remoteAddress: string | undefined;
  readonly setHeader: HttpResponse["setHeader"];
  readonly onDisconnect: HttpResponse["onDisconnect"];
  readonly #response: HttpResponse;

  constructor(
    { input, identity }: { input: ReturnType<typeof checkInput>; identity: Identity },
    response: HttpResponse,
    incoming: IncomingMessage,
  ) {
    this.params = input.params;
    this.query = input.query;
    this.body = input.body;
    this.identity = identity;
    this.remoteAddress = incoming.socket.remoteAddress;
    this.setHeader = response.setHeader;
    this.onDisconnect = response.onDisconnect;
    this.#response = response;
  }

  get signal(): AbortSignal {
    return this.#response.signal;
  }
}

interface EndpointName {
  readonly resource: Resource;
  readonly name: string;
}

function namesOf(contracts: Readonly<Partial<Record<Resource, Contract>>>): Map<Endpoint, EndpointName> {
  const names = new Map<Endpoint, EndpointName>();
  for (const [resource, contract] of Object.entries(contracts)) {
    for (const [name, endpoint] of Object.entries(contract)) {
      names.set(endpoint, { resource: resource as Resource, name });
    }
  }
  return names;
}

/** A browser sends its cookie with the requests of any page, so a change must come from the console itself. */
function checkChange(incoming: IncomingMessage, isFromConsole: RouterOptions["isFromConsole"]): void {
  if (incoming.method === "GET" || incoming.method === "HEAD" || isFromConsole(incoming)) return;
  throw new ApiError("forbidden", "With a session, changes are accepted only from the console", "Use a bearer token.");
}

function readRequestQuery({ query, stream }: Endpoint, { url = "", headers }: IncomingMessage) {
  const start = url.indexOf("?");
  const values = start < 0 ? {} : readQuery(query, new URLSearchParams(url.slice(start)));
  const resume = stream?.resume;
  const lastId = headers["last-event-id"];
  if (resume === undefined || typeof lastId !== "string" || resume in values) return values;
  // A browser sends this header by itself, so one that is not valid is ignored.
  const value = readParameter(query, resume, lastId);
  return value === undefined ? values : { ...values, [resume]: value };
}

/** Limited before it is read, and parsed as strictly as the input of a call. */
async function readJson(incoming: IncomingMessage, maxBytes: number): Promise<unknown> {
  // A page of another site can send a form or plain text without a preflight, but not this type.
  if (!/^application\/json\s*(?:;|$)/i.test(incoming.headers["content-type"] ?? "")) {
    const next = "Send it with `content-type: application/json`.";
    throw new ApiError("unsupported_media_type", "The body must be JSON", next);
  }
  const text = await readText(incoming, maxBytes);
  if (text === "") return {};
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const code = error.code === "input_too_large" ? "too_large" : "bad_request";
    const [issue = error.summary] = issuesOf(error);
    throw new ApiError(code, `The body cannot be used: ${issue}`, error.next);
  }
}

function readText(incoming: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = (): ApiError =>
    new ApiError("too_large", `The body has more than ${maxBytes} bytes`, "Send less at once.", {
      headers: { connection: "close" },
    });
  if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let isWhole = false;
    incoming.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else {
        incoming.pause();
        reject(tooLarge());
      }
    });
    incoming.on("end", () => {
      isWhole = true;
      const [first] = chunks;
      resolve((first && chunks.length === 1 ? first : Buffer.concat(chunks)).toString("utf8"));
    });
    // Every request is closed in the end; an error object for each would cost a stack trace.
    const onGone = (): void => {
      if (!isWhole) reject(new ApiError("bad_request", "The request ended before its body did"));
    };
    incoming.on("error", onGone);
    incoming.on("close", onGone);
  });
}

interface Found<Value> {
  readonly value: Value;
  readonly params: Readonly<Record<string, string>>;
}

interface Pattern<Value> {
  readonly path: string;
  /** Undefined for a parameter, which is in `names`. */
  readonly segments: readonly (string | undefined)[];
  readonly names: readonly string[];
  readonly methods: Map<string, Value>;
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** Paths such as `/api/jobs/{id}/cancel`, each with a value per method. A literal path is matched before one with parameters. */
class RouteTable<Value> {
  readonly #literal = new Map<string, Map<string, Value>>();
  /** By the number of their segments. */
  readonly #patterns = new Map<number, Pattern<Value>[]>();

  add(method: string, path: string, value: Value): void {
    this.#methodsOf(path).set(method, value);
  }

  /** `allowed`: the path exists, but not with this method. */
  match(method: string, path: string): Found<Value> | { readonly allowed: readonly string[] } | undefined {
    const literal = this.#literal.get(path);
    const value = literal?.get(method);
    if (value !== undefined) return { value, params: NO_PARAMS };
    const allowed = new Set(literal?.keys());
    const segments = path.split("/");
    for (const pattern of this.#patterns.get(segments.length) ?? []) {
      const params = paramsOf(pattern, segments);
      if (!params) continue;
      const found = pattern.methods.get(method);
      if (found !== undefined) return { value: found, params };
      for (const other of pattern.methods.keys()) allowed.add(other);
    }
    return allowed.size > 0 ? { allowed: [...allowed] } : undefined;
  }

  #methodsOf(path: string): Map<string, Value> {
    if (!path.includes("{")) {
      const known = this.#literal.get(path) ?? new Map<string, Value>();
      this.#literal.set(path, known);
      return known;
    }
    const parts = path.split("/");
    const segments = parts.map((part) => (part.startsWith("{") ? undefined : part));
    const names = parts.filter((part) => part.startsWith("{")).map((part) => part.slice(1, -1));
    const patterns = this.#patterns.get(parts.length) ?? [];
    const same = patterns.find((pattern) => pattern.path === path);
    if (same) return same.methods;
    const methods = new Map<string, Value>();
    patterns.push({ path, segments, names, methods });
    // Those with fewer parameters first.
    this.#patterns.set(
      parts.length,
      patterns.sort((a, b) => a.names.length - b.names.length),
    );
    return methods;
  }
}

function paramsOf({ segments, names }: Pattern<unknown>, path: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  let parameter = 0;
  for (const [at, segment] of segments.entries()) {
    const given = path[at] ?? "";
    if (segment === undefined) {
      if (given === "") return undefined;
      params[names[parameter++] ?? ""] = decode(given);
    } else if (segment !== given) return undefined;
  }
  return params;
}

/** Text that is not valid percent-encoding stays as it is: nothing has such a name. */
function decode(text: string): string {
  if (!text.includes("%")) return text;
  return attempt(() => decodeURIComponent(text), text);
}
