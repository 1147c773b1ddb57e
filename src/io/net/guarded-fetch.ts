import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import type { Dispatcher, Pool } from "undici";
import { type Clock, systemClock } from "../../core/clock.ts";
import { errorCode, toolError } from "../../core/error.ts";
import { checkKeys, keysOf } from "../../core/options.ts";
import { createConnectionPools, type Dial, explainFailure } from "./connections.ts";
import { createNetGuard, type NetGuard, type NetGuardOptions, type Target } from "./net-guard.ts";
import { checkHeaders, type Follow, type Hop, nextHop, reasonToStop, type Redirect, redirectOf } from "./redirects.ts";

/** What a guarded network may reach, and how. */
export interface GuardedNetOptions extends NetGuardOptions {
  /** Default: the system's. */
  clock?: Clock;
  /** Default: `Haft`. A `user-agent` header of the request overrides it. */
  userAgent?: string;
  /** PEM certificates to trust instead of the system's. */
  ca?: string;
  /** Connects to a checked address; for tests without network. */
  dial?: Dial;
}

export interface GuardedRequest {
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
  /** For the whole exchange: resolving, connecting, redirects and reading the body. Default: 60 s. Infinity: only `signal` ends it. */
  timeoutMs?: number;
  /** Max size of the decoded body. Default: 10 MiB. */
  maxBytes?: number;
  maxRedirects?: number;
  follow?: Follow;
}

export interface GuardedResponse {
  /** URL of the last hop. */
  url: string;
  status: number;
  /** Names are in lower case; repeated headers are joined by a comma. */
  headers: Record<string, string>;
  body: Buffer;
  /** The redirects that were followed. */
  redirects: Redirect[];
  /** The redirect that was not followed, and why. */
  notFollowed?: Redirect & { why: string };
}

export type GuardedFetch = (url: string, request?: GuardedRequest) => Promise<GuardedResponse>;

/** HTTP requests to addresses that the guard allows. Bodies are read whole; for streams see `createStreamingNet`. */
export interface GuardedNet extends NetGuard {
  /** Sends a request, if its address and those of its redirects are allowed. */
  fetch: GuardedFetch;
  /** Ends its connections. */
  close(): Promise<void>;
}

const NET_LIMITS = { timeoutMs: 60_000, maxBytes: 10 * 1024 * 1024, maxRedirects: 5 } as const;
const NET_KEYS = keysOf<GuardedNetOptions>({
  hosts: true,
  exceptions: true,
  resolver: true,
  proxies: true,
  clock: true,
  userAgent: true,
  ca: true,
  dial: true,
});
const METHODS = new Set(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]);
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Makes HTTP requests to public addresses: private ones are refused, also after a redirect or by another answer of the resolver.
 *
 * @example
 * const net = createGuardedNet({ exceptions: ["wiki.corp.example"] });
 * const haft = createHaft({ tools: createHttpTools(net) });
 */
export function createGuardedNet(options: GuardedNetOptions = {}): GuardedNet {
  checkKeys("createGuardedNet", options, NET_KEYS);
  const { clock = systemClock, userAgent = "Haft", ca, dial, ...policy } = options;
  const guard = createNetGuard(policy);
  const pools = createConnectionPools({ guard, dial, ca });

  const fetch: GuardedFetch = async (url, request = {}) => {
    const { timeoutMs = NET_LIMITS.timeoutMs, signal } = request;
    const controller = new AbortController();
    const stop = (): void => controller.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    const stopLate = (): void => controller.abort(timedOut(url, timeoutMs));
    const timer = timeoutMs === Infinity ? undefined : clock.after(timeoutMs, stopLate);
    try {
      return await exchange(url, request, controller.signal);
    } finally {
      timer?.cancel();
      signal?.removeEventListener("abort", stop);
    }
  };

  async function exchange(url: string, request: GuardedRequest, signal: AbortSignal): Promise<GuardedResponse> {
    const { maxBytes = NET_LIMITS.maxBytes, maxRedirects = NET_LIMITS.maxRedirects, follow = "any" } = request;
    let target = await guard.admit(url, signal);
    let hop: Hop = firstHop(target.url, request);
    const redirects: Redirect[] = [];
    for (;;) {
      let redirect: Redirect | undefined;
      let why: string | undefined;
      const { status, headers, body } = await send(target, hop, {
        signal,
        maxBytes,
        wantsBody(response) {
          redirect = redirectOf(response.status, response.headers["location"], hop);
          why = redirect && reasonToStop(redirect, hop, follow);
          if (hop.method === "HEAD" || WITHOUT_BODY.has(response.status)) return false;
          // Throws if the body could not be decoded anyway.
          encodingsOf(response.headers["content-encoding"]);
          return redirect === undefined || why !== undefined;
        },
      });
      if (redirect === undefined || why !== undefined) {
        return {
          url: hop.url.href,
          status,
          headers,
          body: await decodeContent(body, headers["content-encoding"], maxBytes),
          redirects,
          notFollowed: redirect && why !== undefined ? { ...redirect, why } : undefined,
        };
      }
      redirects.push(redirect);
      if (redirects.length > maxRedirects) throw tooManyRedirects(redirects);
      hop = nextHop(redirect, hop);
      target = await guard.admit(hop.url, signal);
    }
  }

  async function send(target: Target, hop: Hop, options: Omit<SendOptions, "headers">): Promise<RawResponse> {
    const { signal } = options;
    signal.throwIfAborted();
    const pool = await pools.poolFor(target);
    const headers = { "user-agent": userAgent, accept: "*/*", ...hop.headers, "accept-encoding": ACCEPT_ENCODING };
    try {
      return await sendHop(pool, hop, { ...options, headers });
    } catch (cause) {
      // The reason for the abort says more than the connection error it caused.
      if (signal.aborted) throw signal.reason;
      throw explainFailure(cause, hop.url);
    }
  }

  return { fetch, admit: guard.admit, checkUrl: guard.checkUrl, mayReach: guard.mayReach, close: pools.close };
}

function firstHop(url: URL, { method = "GET", headers = {}, body }: GuardedRequest): Hop {
  const name = method.toUpperCase();
  if (!METHODS.has(name)) {
    throw toolError("invalid_input", `The method ${JSON.stringify(method.slice(0, 20))} is not supported.`, {
      next: `Use ${[...METHODS].join(", ")}.`,
    });
  }
  if (body !== undefined && (name === "GET" || name === "HEAD")) {
    throw toolError("invalid_input", `A ${name} request has no body.`, { next: "Leave the body out, or use POST." });
  }
  return { url, method: name, headers: checkHeaders(headers), body };
}

/** The message leaves out the query, which may contain a key. */
function timedOut(url: string, timeoutMs: number) {
  return toolError("timeout", `${url.replace(/[?#].*$/s, "").slice(0, 200)} did not respond within ${timeoutMs} ms.`, {
    next: "Try again later, or another address.",
  });
}

function tooManyRedirects(redirects: readonly Redirect[]) {
  return toolError("failed", `The address was redirected more than ${redirects.length - 1} times.`, {
    next: "It may be a redirect loop. Try another address.",
    data: { redirects: redirects.map(({ to }) => to).slice(0, 10) },
  });
}

interface RawResponse {
  status: number;
  headers: Record<string, string>;
  /** Not decoded yet. */
  body: Buffer;
}

type ResponseHead = Omit<RawResponse, "body">;

interface SendOptions {
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
  maxBytes: number;
  /** Called before the body arrives: whether to read it. May throw to end the exchange. */
  wantsBody(response: ResponseHead): boolean;
}

/** Sends one request on a pool. It uses undici's events, because its streams would double the cost of a request. */
function sendHop(pool: Pool, hop: Hop, { headers, signal, maxBytes, wantsBody }: SendOptions): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let head: ResponseHead | undefined;
    let request: Dispatcher.DispatchController | undefined;

    const onAbort = (): void => stop(signal.reason);
    const stop = (thrown: unknown): void => {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      signal.removeEventListener("abort", onAbort);
      reject(error);
      request?.abort(error);
    };
    const finish = (body: Buffer): void => {
      signal.removeEventListener("abort", onAbort);
      if (head) resolve({ ...head, body });
    };
    signal.addEventListener("abort", onAbort, { once: true });

    pool.dispatch(
      {
        path: `${hop.url.pathname}${hop.url.search}`,
        method: hop.method,
        headers: { ...headers },
        body: hop.body ?? null,
      },
      {
        onRequestStart(controller) {
          request = controller;
          // The caller may have given up while the request waited for a connection.
          if (signal.aborted) controller.abort(signal.reason);
        },
        onResponseStart(controller, status, received) {
          if (status < 200) return;
          head = { status, headers: flatten(received) };
          try {
            if (wantsBody(head)) return;
          } catch (error) {
            return stop(error);
          }
          finish(Buffer.alloc(0));
          // Draining a short body keeps the connection usable.
          if (!(Number(head.headers["content-length"]) <= 65_536)) controller.abort(new Error("body not wanted"));
        },
        onResponseData(_controller, chunk) {
          length += chunk.length;
          if (length > maxBytes) stop(tooLarge(maxBytes));
          else chunks.push(chunk);
        },
        onResponseEnd: () => finish(Buffer.concat(chunks, length)),
        onResponseError: (_controller, error) => stop(error),
      },
    );
  });
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name] = typeof value === "string" ? value : value.join(", ");
  }
  return flat;
}

type Decode = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  // Some servers send raw deflate data without the zlib header.
  ["deflate", (bytes, options) => (((bytes[0] ?? 0) & 0x0f) === 8 ? wrapped : bare)(bytes, options)],
  ["br", promisify(brotliDecompress)],
]);
const wrapped: Decode = promisify(inflate);
const bare: Decode = promisify(inflateRaw);

const MAX_ENCODINGS = 3;

const ACCEPT_ENCODING = "gzip, deflate, br";

/** Undoes `content-encoding`. The limit applies to every step: a small body must not expand into a huge one. */
async function decodeContent(body: Buffer, contentEncoding: string | undefined, maxBytes: number): Promise<Buffer> {
  if (body.length === 0) return body;
  const names = encodingsOf(contentEncoding);
  let bytes = body;
  for (const name of names.reverse()) {
    const decode = DECODERS.get(name);
    if (!decode) throw unusable(`is encoded as ${JSON.stringify(name.slice(0, 40))}, which is not supported`);
    try {
      bytes = await decode(bytes, { maxOutputLength: maxBytes });
    } catch (cause) {
      if (errorCode(cause) === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes);
      throw unusable(`claims to be encoded as ${name} but is not`, cause);
    }
  }
  return bytes;
}

function encodingsOf(contentEncoding: string | undefined): string[] {
  const names = (contentEncoding ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  if (names.length > MAX_ENCODINGS) throw unusable(`has ${names.length} content encodings`);
  return names;
}

function tooLarge(maxBytes: number) {
  return toolError("too_large", `The response is longer than ${maxBytes} bytes. It was not read to the end.`, {
    next: "Request a smaller part of it, or download it with exec if the user agrees.",
    data: { maxBytes },
  });
}

function unusable(what: string, cause?: unknown) {
  return toolError("failed", `The response ${what}.`, { next: "Try another address.", cause });
}
