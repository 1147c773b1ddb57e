import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import type { Dispatcher, Pool } from "undici";
import { type Clock, systemClock } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import { createConnectionPools, type Dial, explainFailure } from "./connections.ts";
import { createNetGuard, type NetGuard, type NetGuardOptions, type Target } from "./net-guard.ts";
import { checkHeaders, type Follow, type Hop, nextHop, reasonToStop, type Redirect, redirectOf } from "./redirects.ts";

export interface GuardedNetOptions extends NetGuardOptions {
  clock?: Clock;
  /** Sent where the request names none. */
  userAgent?: string;
  /** Certificates in PEM that are trusted instead of the system's. */
  ca?: string;
  /** How a checked address is connected to; for tests that have no network. */
  dial?: Dial;
}

export interface GuardedRequest {
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
  /** For everything together: resolving, connecting, redirects, and the body to its end. */
  timeoutMs?: number;
  /** Of the body, after its content encodings are undone. */
  maxBytes?: number;
  maxRedirects?: number;
  follow?: Follow;
}

export interface GuardedResponse {
  /** Of the last hop. */
  url: string;
  status: number;
  /** Names in lower case; several values of a name joined by a comma. */
  headers: Record<string, string>;
  body: Buffer;
  /** Those that were followed. */
  redirects: Redirect[];
  /** One that was not, and why. */
  notFollowed?: Redirect & { why: string };
}

export type GuardedFetch = (url: string, request?: GuardedRequest) => Promise<GuardedResponse>;

/** The one way out: everything that connects to the world does it through here. */
export interface GuardedNet extends NetGuard {
  fetch: GuardedFetch;
  close(): Promise<void>;
}

const NET_LIMITS = { timeoutMs: 30_000, maxBytes: 10 * 1024 * 1024, maxRedirects: 5 } as const;
const METHODS = new Set(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]);
const BODILESS = new Set([204, 205, 304]);

export function createGuardedNet(options: GuardedNetOptions = {}): GuardedNet {
  const { clock = systemClock, userAgent = "Haft", ca, dial, ...policy } = options;
  const guard = createNetGuard(policy);
  const pools = createConnectionPools({ guard, dial, ca });

  const fetch: GuardedFetch = async (url, request = {}) => {
    const { timeoutMs = NET_LIMITS.timeoutMs, signal } = request;
    const ending = new AbortController();
    const stop = (): void => ending.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    const timer = clock.after(timeoutMs, () => ending.abort(late(url, timeoutMs)));
    try {
      return await exchange(url, request, ending.signal);
    } finally {
      timer.cancel();
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
        wantsBody(answer) {
          redirect = redirectOf(answer.status, answer.headers["location"], hop);
          why = redirect && reasonToStop(redirect, hop, follow);
          if (hop.method === "HEAD" || BODILESS.has(answer.status)) return false;
          encodingsOf(answer.headers["content-encoding"]);
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
      if (redirects.length > maxRedirects) throw tooMany(redirects);
      hop = nextHop(redirect, hop);
      target = await guard.admit(hop.url, signal);
    }
  }

  async function send(target: Target, hop: Hop, options: Omit<SendOptions, "headers">): Promise<RawAnswer> {
    const { signal } = options;
    signal.throwIfAborted();
    const pool = await pools.poolFor(target);
    const headers = { "user-agent": userAgent, accept: "*/*", ...hop.headers, "accept-encoding": ACCEPT_ENCODING };
    try {
      return await sendHop(pool, hop, { ...options, headers });
    } catch (cause) {
      // What ended the whole exchange says more than what that did to a connection.
      if (signal.aborted) throw signal.reason;
      throw explainFailure(cause, hop.url);
    }
  }

  return { fetch, admit: guard.admit, mayReach: guard.mayReach, close: pools.close };
}

function firstHop(url: URL, { method = "GET", headers = {}, body }: GuardedRequest): Hop {
  const name = method.toUpperCase();
  if (!METHODS.has(name)) {
    throw toolError("invalid_input", `The method ${JSON.stringify(method.slice(0, 20))} is not one that is sent.`, {
      next: `Use ${[...METHODS].join(", ")}.`,
    });
  }
  if (body !== undefined && (name === "GET" || name === "HEAD")) {
    throw toolError("invalid_input", `A ${name} request has no body.`, { next: "Leave the body out, or use POST." });
  }
  return { url, method: name, headers: checkHeaders(headers), body };
}

/** Without the query, which may hold a key. */
function late(url: string, timeoutMs: number) {
  return toolError("timeout", `${url.replace(/[?#].*$/s, "").slice(0, 200)} did not answer within ${timeoutMs} ms.`, {
    next: "Try again later, or another address.",
  });
}

function tooMany(redirects: readonly Redirect[]) {
  return toolError("failed", `The address was redirected more than ${redirects.length - 1} times.`, {
    next: "It may lead in a circle; try another address.",
    data: { redirects: redirects.map(({ to }) => to).slice(0, 10) },
  });
}

interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  /** As it came over the wire. */
  body: Buffer;
}

interface SendOptions {
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
  maxBytes: number;
  /** Looked at before the body comes: whether it is worth reading. Throws where the answer is of no use. */
  wantsBody(answer: Omit<RawAnswer, "body">): boolean;
}

/** Sends one request on a pool. The client's own streams cost as much again as all of this, so its events are used. */
function sendHop(pool: Pool, hop: Hop, { headers, signal, maxBytes, wantsBody }: SendOptions): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let answer: Omit<RawAnswer, "body"> | undefined;
    let request: Dispatcher.DispatchController | undefined;

    const onAbort = (): void => stop(signal.reason as Error);
    const stop = (error: Error): void => {
      signal.removeEventListener("abort", onAbort);
      reject(error);
      request?.abort(error);
    };
    const finish = (body: Buffer): void => {
      signal.removeEventListener("abort", onAbort);
      if (answer) resolve({ ...answer, body });
    };
    signal.addEventListener("abort", onAbort, { once: true });

    pool.dispatch(
      {
        path: `${hop.url.pathname}${hop.url.search}`,
        method: hop.method as Dispatcher.HttpMethod,
        headers: { ...headers },
        body: hop.body ?? null,
      },
      {
        onRequestStart(controller) {
          request = controller;
          // It may have waited for a connection longer than anybody waits for it.
          if (signal.aborted) controller.abort(signal.reason as Error);
        },
        onResponseStart(controller, status, received) {
          if (status < 200) return;
          answer = { status, headers: flatten(received) };
          try {
            if (wantsBody(answer)) return;
          } catch (error) {
            return stop(error as Error);
          }
          finish(Buffer.alloc(0));
          // A short one is read away, so that the connection can be used again.
          if (!(Number(answer.headers["content-length"]) <= 65_536)) controller.abort(new Error("not wanted"));
        },
        onResponseData(_controller, chunk) {
          length += chunk.length;
          if (length > maxBytes) stop(tooLarge(maxBytes));
          else chunks.push(chunk);
        },
        onResponseEnd: () => finish(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)),
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
  // Some servers send it without the header that the name promises.
  ["deflate", (bytes, options) => (((bytes[0] ?? 0) & 0x0f) === 8 ? wrapped : bare)(bytes, options)],
  ["br", promisify(brotliDecompress)],
]);
const wrapped: Decode = promisify(inflate);
const bare: Decode = promisify(inflateRaw);

const MAX_ENCODINGS = 3;

/** What is asked for: no more than can be read here. */
const ACCEPT_ENCODING = "gzip, deflate, br";

/** Undoes `content-encoding`. The limit holds for every step, so that a small body cannot become a large one. */
async function decodeContent(body: Buffer, contentEncoding: string | undefined, maxBytes: number): Promise<Buffer> {
  if (body.length === 0) return body;
  const names = encodingsOf(contentEncoding);
  let bytes = body;
  for (const name of names.reverse()) {
    const decode = DECODERS.get(name);
    if (!decode) throw unusable(`is encoded as ${JSON.stringify(name.slice(0, 40))}, which is not known here`);
    try {
      bytes = await decode(bytes, { maxOutputLength: maxBytes });
    } catch (cause) {
      if ((cause as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes);
      throw unusable(`says that it is encoded as ${name}, and is not`, cause);
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
  if (names.length > MAX_ENCODINGS) throw unusable(`is encoded ${names.length} times over`);
  return names;
}

function tooLarge(maxBytes: number) {
  return toolError("too_large", `The answer is longer than ${maxBytes} bytes, so it was not read to its end.`, {
    next: "Ask for a smaller part of it, or download it with exec if the user agrees.",
    data: { maxBytes },
  });
}

function unusable(what: string, cause?: unknown) {
  return toolError("failed", `The answer ${what}.`, { next: "Try another address.", cause });
}
