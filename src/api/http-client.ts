import { pause } from "../core/clock.ts";
import { abortableBody } from "../io/net/post-json.ts";
import { checkKeys, keysOf } from "../core/options.ts";
import type { Contract } from "../contracts/contract.ts";
import { ApiError, type ErrorAnswer } from "../contracts/errors.ts";
import { type Clients, createClients, type TransportRequest } from "./client.ts";
import { readEvents, readFrame, readLines } from "./event-stream.ts";
import { writeQuery } from "./query.ts";

/** Which server, and with which token. */
export interface HttpClientOptions {
  /** Of the server: `http://127.0.0.1:4117`. In the console, its own origin. */
  url: string;
  /** Omitted in the console, which has a cookie. */
  token?: string;
  /** Default: the runtime's own. */
  fetch?: typeof globalThis.fetch;
}

const OPTION_KEYS = keysOf<HttpClientOptions>({ url: true, token: true, fetch: true });
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;

/** Runs in browsers and in Node. Everything that fails is an `ApiError`, except an abort by the caller's own signal. */
export function createHttpClient<const R extends Readonly<Record<string, Contract>>>(
  contracts: R,
  options: HttpClientOptions,
): Clients<R> {
  checkKeys("createClient", options, OPTION_KEYS);
  const connection = new Connection(options);
  return createClients(contracts, {
    output: (request) => connection.body(request, (response) => response.json()),
    text: (request) => connection.body(request, (response) => response.text()),
    frames: (request) => (request.endpoint.lines ? connection.lines(request) : connection.frames(request)),
  });
}

class Connection {
  readonly #base: URL;
  readonly #token: string | undefined;
  readonly #fetch: typeof globalThis.fetch;

  constructor({ url, token, fetch = globalThis.fetch.bind(globalThis) }: HttpClientOptions) {
    this.#base = new URL(url);
    this.#token = token;
    this.#fetch = fetch;
  }

  /** The response, once it is known to be no error. Redirects are not followed: the token is for this server only. */
  async open({ endpoint, params, query, body, options: { signal } }: TransportRequest): Promise<Response> {
    const { method, path, variant } = endpoint;
    const address = new URL(
      path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? "")),
      this.#base,
    );
    address.search = writeQuery(query).toString();
    const headers: Record<string, string> = {};
    if (this.#token !== undefined) headers["authorization"] = `Bearer ${this.#token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const sent = variant && !variant.isDefault ? { ...Object(body), [variant.field]: variant.value } : body;
    let response: Response;
    try {
      response = await this.#fetch(address, {
        method,
        redirect: "error",
        headers,
        body: sent === undefined ? undefined : JSON.stringify(sent),
        signal,
      });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw new ApiError(
        "unreachable",
        `No Haft server responds at ${this.#base.origin}`,
        "Start it with `haft serve`, or use another address.",
        { cause },
      );
    }
    if (!response.ok) throw await readError(response);
    return signal && response.body ? new Response(abortableBody(response.body, signal), response) : response;
  }

  async body<Body>(request: TransportRequest, read: (response: Response) => Promise<Body>): Promise<Body> {
    const response = await this.open(request);
    return read(response).catch((cause: unknown) => this.#throwLost(cause, request.options.signal));
  }

  async *lines(request: TransportRequest): AsyncGenerator<unknown, void, undefined> {
    const response = await this.open(request);
    yield* this.#read(readLines(bodyOf(response)), request.options.signal);
  }

  /** Over lost connections, if the stream can be resumed: each time from the last event that had an id. */
  async *frames(request: TransportRequest): AsyncGenerator<unknown, void, undefined> {
    const { endpoint, options } = request;
    const { signal, onReconnect } = options;
    const { stream } = endpoint;
    if (!stream) throw new TypeError(`${endpoint.path} is not a stream.`);
    let query = request.query;
    let waitMs = FIRST_WAIT_MS;
    for (;;) {
      let failure: unknown;
      try {
        const response = await this.open({ ...request, query });
        for await (const event of this.#read(readEvents(bodyOf(response)), signal)) {
          waitMs = FIRST_WAIT_MS;
          if (stream.resume !== undefined && event.id !== undefined) query = { ...query, [stream.resume]: event.id };
          yield readFrame(stream, event);
        }
        if (stream.resume === undefined) return;
      } catch (error) {
        if (stream.resume === undefined) throw error;
        if (signal?.aborted) return;
        if (!isTemporary(error)) throw error;
        failure = error;
      }
      if (signal?.aborted) return;
      onReconnect?.(failure);
      await pause(waitMs, signal);
      if (signal?.aborted) return;
      waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
    }
  }

  async *#read<Item>(items: AsyncIterable<Item>, signal: AbortSignal | undefined): AsyncGenerator<Item> {
    const iterator = items[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await iterator.next().catch((cause: unknown) => this.#throwLost(cause, signal));
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }

  #throwLost(cause: unknown, signal: AbortSignal | undefined): never {
    if (signal?.aborted || cause instanceof SyntaxError) throw cause;
    throw new ApiError("unreachable", `The connection to ${this.#base.origin} was lost`, "Try again.", { cause });
  }
}

/** What the server refuses, it will refuse again; except if it is busy. */
function isTemporary(error: unknown): boolean {
  return error instanceof ApiError && [0, 429, 503].includes(error.status);
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (!response.body)
    throw new ApiError("internal", "The response has no body", "Check that a Haft server listens there.");
  return response.body;
}

async function readError(response: Response): Promise<ApiError> {
  const { status } = response;
  try {
    const { error } = (await response.json()) as Partial<ErrorAnswer>;
    if (error && typeof error.message === "string") {
      return new ApiError(error.code, error.message, error.next, { data: error.data, status });
    }
  } catch {
    // Something else answered: a proxy, or another server on that port.
  }
  if (status === 400 || status === 414 || status === 431) {
    // The HTTP parser of a server or proxy refuses long addresses and headers before Haft sees them.
    const next = "It is probably too long: shorten the search or the input.";
    return new ApiError("too_large", `The server could not read the request (status ${status})`, next, { status });
  }
  return new ApiError("internal", `The server answered with ${status}`, "Check that a Haft server listens there.", {
    status,
  });
}
